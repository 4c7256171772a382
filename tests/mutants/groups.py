"""Groups whose keys are confused, whose records pay in one group only, or whose keys leak."""

from __future__ import annotations

from .mutant import Mutant

KEYED = "tests/data/test_keyed.py"
MECHANISM = "tests/mechanisms/test_groups.py"
GROUPS_TEST = "tests/test_groups.py"
PERSONS = "tests/persons/test_groups.py"
ONE_GROUP = "tests/persons/test_one_group.py"
ASK = "tests/test_ask.py"
NEIGHBORS = "tests/backends/test_neighbors.py"

GROUPS: tuple[Mutant, ...] = (
    Mutant(
        name='keys-without-their-type',
        why="True and 1 and '1' would be one key: a record of one group would move another.",
        file='data/keys.py',
        old='return b"i" + int.__format__(cell, "x").encode()',
        new='return b"s" + int.__format__(cell, "x").encode()',
        tests=(
            f"{KEYED}::test_every_table_gives_the_exact_answers",
        ),
    ),
    Mutant(
        name='durations-as-keys',
        why='A cell that is a duration of NumPy would raise: an error that depends on a record.',
        file='data/keys.py',
        old='issubclass(kind, np.integer) and not issubclass(kind, np.timedelta64)',
        new='issubclass(kind, np.integer)',
        tests=(f"{KEYED}::test_cells_that_arrow_would_refuse_are_keys_or_missing",),
    ),
    Mutant(
        name='keys-joined',
        why="('a,b', 'c') and ('a', 'b,c') are two keys.",
        file='data/keys.py',
        old='return [Key(cells) for cells in zip(*columns, strict=True)]',
        new=(
            'return [Key(tuple(",".join(cells).split(","))) for cells in zip(*columns)]'
        ),
        tests=(f"{KEYED}::test_columns_of_a_key_are_not_joined",),
    ),
    Mutant(
        name='keys-as-floats',
        why='2**53 and 2**53 + 1 are one double and two persons, or two groups.',
        file='data/keys.py',
        old='return decoded(cells).cast(_ARROW[kind])',
        new=(
            'return decoded(cells).cast(_ARROW[kind]) if kind != WHOLE else '
            'pa.array(np.asarray(cells.to_numpy(zero_copy_only=False), '
            'float).astype(np.int64))'
        ),
        tests=(f"{KEYED}::test_numbers_beyond_doubles_are_different_keys",),
    ),
    Mutant(
        name='csv-keys-as-ascii',
        why='Bytes beyond ASCII replaced: two names that differ there would be one key.',
        file='data/sources/csv.py',
        old='self._parsed(positions, pa.binary(), tell)',
        new='self._parsed(positions, pa.string(), tell)',
        tests=(f"{KEYED}::test_csv_keys_are_bytes",),
    ),
    Mutant(
        name="cells-of-the-other-unit",
        why="A replacement empties one cell and fills another.",
        file="queries/groups.py",
        old=(
            '"""A record is in one cell: a replacement empties one and fills another."""\n'
            "        return Sensitivity(adjacency.changes, adjacency.changes)"
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
        old="return Sensitivity(adjacency.changes * self.whole, adjacency.changes * self.whole**2)",
        new="return Sensitivity(self.whole, self.whole**2)",
        tests=(f"{MECHANISM}::test_sensitivities_are_those_of_one_key",),
    ),
    Mutant(
        name="keyed-noise-of-the-smallest",
        why="Every key needs the noise of its own sensitivity.",
        file="mechanisms/groups.py",
        old="alike.setdefault(sensitivity, []).append(place)",
        new="alike.setdefault(min(query.sensitivities(adjacency), key=repr), []).append(place)",
        tests=(f"{MECHANISM}::test_every_key_gets_the_noise_of_its_own_sensitivity",),
    ),
    Mutant(
        name="replaced-records-in-parallel",
        why="A replaced record may move two keys: parallel parts would cost twice what is said.",
        file="queries/groups.py",
        old="if adjacency.size_is_public or adjacency.person is not None:",
        new="if adjacency.person is not None:",
        tests=(f"{MECHANISM}::test_replacements_are_refused",),
    ),
    Mutant(
        name='sets-of-keys-may-overlap',
        why='A record in two sets pays in both.',
        file='data/relation.py',
        old='return in_one and not adjacency.size_is_public and len(set(codes)) == len(codes)',
        new='return in_one and not adjacency.size_is_public',
        tests=(f"{GROUPS_TEST}::test_sets_of_keys_that_overlap_are_refused",),
    ),
    Mutant(
        name="threshold-rounded-down",
        why="A key that one record holds would be shown more often than delta says.",
        file="mechanisms/groups.py",
        old="margin = math.ceil(",
        new="margin = math.floor(",
        tests=(
            f"{MECHANISM}::test_a_key_of_one_record_is_shown_with_probability_delta_at_most",
        ),
    ),
    Mutant(
        name="threshold-of-the-scale-asked-for",
        why="Noise of a larger scale than 1/epsilon reaches a threshold more often.",
        file="mechanisms/groups.py",
        old="scale = laplace_scale(query.whole, cost.epsilon)",
        new="scale = query.whole / cost.epsilon",
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
        file="data/kernels/together.py",
        old="    return found\n\n\ndef _blocks(",
        new="    return [one for one, part in zip(found, parts) if len(part)]\n\n\ndef _blocks(",
        tests=(f"{GROUPS_TEST}::test_a_group_without_records_is_asked_like_any_other",),
    ),
    Mutant(
        name="groups-together-share-a-record",
        why="A record that two groups count moves two answers, and only one of them is paid for.",
        file="data/kernels/together.py",
        old="sums[ends[1:]] - sums[ends[:-1]]",
        new="sums[ends[1:]] - sums[np.maximum(ends[:-1] - 1, 0)]",
        tests=(f"{KEYED}::TestTogether::test_groups_together_have_the_answers_of_each_alone",),
    ),
    Mutant(
        name='persons-in-parallel',
        why='A person may be in many groups: each would pay the whole budget.',
        file='data/relation.py',
        old='in_one = adjacency.person is None or is_kept',
        new='in_one = first.groups is not None',
        tests=(f"{PERSONS}::test_persons_in_groups_are_no_parallel_parts",),
    ),
    Mutant(
        name='records-left-out-in-parallel',
        why='What is left out of a person may be in many groups again.',
        file='data/relation.py',
        old='is_kept = first.groups_per_person == 1 and not first.is_dropped',
        new='is_kept = first.groups_per_person == 1',
        tests=(f"{ASK}::test_persons_are_disjoint_if_the_relation_keeps_each_to_one_group",),
    ),
    Mutant(
        name='rows-of-a-block-over-those-of-another',
        why='A group would have lost rows, and have others of it, or of nobody, twice.',
        file='data/coded.py',
        old='            free += size[1:]\n',
        new='',
        tests=(f"{KEYED}::test_no_border_of_a_block_shows",),
    ),
    Mutant(
        name='persons-kept-after-groups-are-chosen',
        why='The largest of some groups is not the largest of all: a person would be in many.',
        file='data/coded.py',
        old='own = np.where(self._is_kept[rows] != relation.is_dropped, own, -1)',
        new='own = np.where(largest_groups(self._persons[rows], own, 9), own, -1)',
        tests=(f"{NEIGHBORS}::test_a_person_is_in_one_group_wherever_the_data_are",),
    ),
    Mutant(
        name='pool-and-groups-both-in-full',
        why='What a pool has spent, the groups cannot spend again.',
        file='methods/groups/one_group.py',
        old='cost = part.cost("groups") if small else both.share(1 - ROUNDING)',
        new='cost = both.share(1 - ROUNDING)',
        tests=(f"{ONE_GROUP}::test_releases_spend_the_budget_and_replay",),
    ),
    Mutant(
        name="pool-and-groups-of-records-both-in-full",
        why="What a pool has spent, the groups cannot spend again.",
        file="methods/groups/estimate.py",
        old='cost = part.cost("groups") if small else cost_without_pool(part)',
        new="cost = cost_without_pool(part)",
        tests=(f"{GROUPS_TEST}::test_a_release_is_replayed_and_goes_through_json",),
    ),
    Mutant(
        name="large-groups-pay-for-a-pool",
        why="Large groups have no use for a pool: its budget is theirs.",
        file="methods/groups/estimate.py",
        old='cost = part.cost("groups") if small else cost_without_pool(part)',
        new='cost = part.cost("groups")',
        tests=(f"{GROUPS_TEST}::test_large_groups_are_as_narrow_as_without_pooling",),
    ),
    Mutant(
        name="longest-vector-forgotten",
        why="Where few persons have much, one of them moves the mean of their group by a whole.",
        file="methods/groups/lengths.py",
        old="return share * self.total + longest",
        new="return share * self.total",
        tests=(f"{PERSONS}::test_a_small_group_may_have_lost_a_whole_vector",),
    ),
    Mutant(
        name='persons-kept-to-all-of-their-groups',
        why='Who is in two groups that cost as if apart is protected by half.',
        file='data/persons/vectors.py',
        old='is_largest[order[firsts]] = True',
        new='is_largest[:] = True',
        tests=(f"{PERSONS}::test_each_person_is_kept_to_one_group_by_their_own_rows",),
    ),
    Mutant(
        name="keyed-for-persons",
        why="A question by key moves in all keys of a person.",
        file="queries/groups.py",
        old="if adjacency.size_is_public or adjacency.person is not None:",
        new="if adjacency.size_is_public:",
        tests=(f"{PERSONS}::test_persons_in_groups_are_no_parallel_parts",),
    ),
    Mutant(
        name="scaled-sums-of-the-other-unit",
        why="A replaced person takes one vector away and brings another: twice the limit.",
        file="queries/groups.py",
        old="most = adjacency.changes * self.limit",
        new="most = self.limit",
        tests=(f"{PERSONS}::test_a_replaced_person_may_move_twice_the_limit",),
    ),
    Mutant(
        name="scaled-squares-of-the-limit",
        why="Squares of a vector add up to the square of its length, not to its length.",
        file="queries/groups.py",
        old="most = adjacency.changes * (self.sums.limit**2 >> SQUARE_BITS)",
        new="most = adjacency.changes * (self.sums.limit >> SQUARE_BITS)",
        tests=(f"{PERSONS}::test_one_person_moves_all_groups_by_the_limit_at_most",),
    ),
    Mutant(
        name='root-rounded-down',
        why='A length that is too small leaves vectors longer than the limit.',
        file='data/persons/vectors.py',
        old='math.isqrt(square - 1) + 1 if square else 0',
        new='math.isqrt(square)',
        tests=(f"{PERSONS}::test_sums_are_those_of_the_slow_reference",),
    ),
    Mutant(
        name='scaled-towards-minus-infinity',
        why='Rounding down makes negative numbers larger in size: up to 6 limits in the L1 norm.',
        file='data/persons/vectors.py',
        old='ticks[beyond] = ticks[beyond] * query.limit // length[beyond]',
        new=(
            'ticks = np.where(vector < 0, -ticks, ticks)\n'
            '    ticks[beyond] = ticks[beyond] * query.limit // length[beyond]\n'
            '    ticks = np.where(vector < 0, -ticks, ticks)'
        ),
        tests=(f"{PERSONS}::test_one_person_moves_all_groups_by_the_limit_at_most",),
    ),
    Mutant(
        name='scaled-in-floats',
        why='Quotients in floats round up now and then.',
        file='data/persons/vectors.py',
        old='ticks[beyond] = ticks[beyond] * query.limit // length[beyond]',
        new='ticks[beyond] = np.rint(ticks[beyond] * (query.limit / length[beyond]))',
        tests=(f"{PERSONS}::test_one_person_moves_all_groups_by_the_limit_at_most",),
    ),
    Mutant(
        name='keys-of-a-person-each-in-full',
        why='A person with many keys would weigh as much as many persons.',
        file='data/persons/vectors.py',
        old='each = np.repeat(query.whole // np.minimum(numbers, query.most), numbers)',
        new='each = np.repeat(query.whole // np.minimum(numbers, 1), numbers)',
        tests=(f"{PERSONS}::test_a_person_weighs_a_whole_however_many_keys_they_hold",),
    ),
    Mutant(
        name="threshold-of-one-key",
        why="Of many new keys of a person one is shown more often than a single one.",
        file="mechanisms/groups.py",
        old="for m in range(1, query.most + 1))",
        new="for m in (1,))",
        tests=(f"{PERSONS}::test_no_key_of_one_person_is_shown_more_often_than_delta",),
    ),
    Mutant(
        name='groups-lengths-of-all',
        why='A length that looks at other persons moves with them.',
        file='data/persons/vectors.py',
        old='return np.where(counts > 0, lengths, np.nan)',
        new='return np.where(counts > 0, lengths - lengths.min(), np.nan)',
        tests=(f"{PERSONS}::test_lengths_follow_from_a_persons_own_records",),
    ),
)  # fmt: skip
