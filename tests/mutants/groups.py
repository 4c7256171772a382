"""Groups whose keys are confused, whose records pay in one group only, or whose keys leak."""

from __future__ import annotations

from .mutant import Mutant

KEYED = "tests/engines/test_keyed.py"
MECHANISM = "tests/mechanisms/test_groups.py"
GROUPS_TEST = "tests/test_groups.py"

GROUPS: tuple[Mutant, ...] = (
    Mutant(
        name="keys-without-their-type",
        why="True and 1 and '1' would be one key: a record of one group would move another.",
        file="engines/keys.py",
        old='return b"i" + int.__format__(cell, "x").encode()',
        new='return b"s" + int.__format__(cell, "x").encode()',
        tests=(
            f"{KEYED}::test_every_table_gives_the_exact_answers",
        ),
    ),
    Mutant(
        name="keys-joined",
        why="('a,b', 'c') and ('a', 'b,c') are two keys.",
        file="engines/keys.py",
        old="found[Key(key)] = count",
        new='found[Key(tuple(",".join(map(str, key)).split(",")))] = count',
        tests=(f"{KEYED}::test_columns_of_a_key_are_not_joined",),
    ),
    Mutant(
        name="keys-as-floats",
        why="2**53 and 2**53 + 1 are one double and two persons, or two groups.",
        file="engines/keys.py",
        old="return cells.cast(_ARROW[kind])",
        new=(
            "return cells.cast(_ARROW[kind]) if kind != WHOLE else "
            "pa.array(np.asarray(cells.to_numpy(zero_copy_only=False), float).astype(np.int64))"
        ),
        tests=(f"{KEYED}::test_numbers_beyond_doubles_are_different_keys",),
    ),
    Mutant(
        name="csv-keys-as-ascii",
        why="Bytes beyond ASCII replaced: two names that differ there would be one key.",
        file="engines/tables/csv.py",
        old="exact._kind = pa.binary()",
        new="exact._kind = pa.string()",
        tests=(f"{KEYED}::test_csv_keys_are_bytes",),
    ),
    Mutant(
        name="cells-of-the-other-unit",
        why="A replacement empties one cell and fills another.",
        file="queries/groups.py",
        old=(
            '"""A record is in one cell: a replacement empties one and fills another."""\n'
            "        return Sensitivity(unit.changes, unit.changes)"
        ),
        new=(
            '"""A record is in one cell: a replacement empties one and fills another."""\n'
            "        return Sensitivity(1, 1)"
        ),
        tests=(f"{MECHANISM}::test_sensitivities_are_those_of_one_key",),
    ),
    Mutant(
        name="key-counts-of-the-other-unit",
        why="A replacement takes a row from one key and gives it to another.",
        file="queries/groups.py",
        old=(
            '"""A row has one key: a replacement takes one from one key and gives it to another."""'
            "\n        return Sensitivity(unit.changes, unit.changes)"
        ),
        new=(
            '"""A row has one key: a replacement takes one from one key and gives it to another."""'
            "\n        return Sensitivity(1, 1)"
        ),
        tests=(f"{MECHANISM}::test_sensitivities_are_those_of_one_key",),
    ),
    Mutant(
        name="keyed-noise-of-the-smallest",
        why="Every key needs the noise of its own sensitivity.",
        file="mechanisms/groups.py",
        old="alike.setdefault(sensitivity, []).append(place)",
        new="alike.setdefault(min(query.sensitivities(unit), key=repr), []).append(place)",
        tests=(f"{MECHANISM}::test_every_key_gets_the_noise_of_its_own_sensitivity",),
    ),
    Mutant(
        name="replaced-records-in-parallel",
        why="A replaced record may move two keys: parallel parts would cost twice what is said.",
        file="queries/groups.py",
        old="if unit.size_is_public:",
        new="if unit is None:",
        tests=(f"{MECHANISM}::test_replacements_are_refused",),
    ),
    Mutant(
        name="sets-of-keys-may-overlap",
        why="A record in two sets pays in both.",
        file="ask.py",
        old="if len(set(places)) < len(places):",
        new="if len(set(places)) > len(places):",
        tests=(f"{GROUPS_TEST}::test_sets_of_keys_that_overlap_are_refused",),
    ),
    Mutant(
        name="threshold-rounded-down",
        why="A key that one record holds would be shown more often than delta says.",
        file="mechanisms/groups.py",
        old="return 1 + max(math.ceil(",
        new="return 1 + max(math.floor(",
        tests=(
            f"{MECHANISM}::test_a_key_of_one_record_is_shown_with_probability_delta_at_most",
        ),
    ),
    Mutant(
        name="threshold-of-the-scale-asked-for",
        why="Noise of a larger scale than 1/epsilon reaches a threshold more often.",
        file="mechanisms/groups.py",
        old="scale = laplace_scale(1, cost.epsilon)",
        new="scale = 1 / cost.epsilon",
        tests=(f"{MECHANISM}::test_the_threshold_uses_the_scale_that_is_drawn",),
    ),
    Mutant(
        name="keys-by-first-appearance",
        why="The order of the rows would tell whose record came first.",
        file="mechanisms/groups.py",
        old="keys = in_order([key for key, count in exact.items() if count > 0])",
        new="keys = [key for key, count in exact.items() if count > 0]",
        tests=(
            f"{MECHANISM}::test_keys_are_sorted_by_kind_and_value_whatever_came_first",
        ),
    ),
    Mutant(
        name="empty-groups-skipped",
        why="That a group was left out on its exact count tells that nobody is in it.",
        file="engines/keyed.py",
        old="for part, values in zip(query.parts, self._parts, strict=True)",
        new="for part, values in zip(query.parts, self._parts, strict=True) if len(values)",
        tests=(f"{GROUPS_TEST}::test_a_group_without_records_is_asked_like_any_other",),
    ),
)  # fmt: skip
