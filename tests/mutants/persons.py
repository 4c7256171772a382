"""Persons taken for one another, or totals that depend on the records of others."""

from __future__ import annotations

from .mutant import Mutant

AGGREGATION = "tests/persons/test_aggregation.py"
WITHOUT = "test_without_a_person_there_is_one_row_less_and_no_other_change"
RELEASES = "tests/persons/test_releases.py"

PERSONS: tuple[Mutant, ...] = (
    Mutant(
        name="weights-divided-by-the-largest",
        why="The number of each record would depend on the weights of others.",
        file="data/computed.py",
        old="    kept = (~are_left_out(",
        new=(
            "    pairs = pairs / max(1.0, *np.nan_to_num(pairs[:, 1], nan=0.0))\n"
            "    kept = (~are_left_out("
        ),
        tests=(
            "tests/statistics/test_weights.py::test_records_that_weigh_are_those_of_the_definition",
        ),
    ),
    Mutant(
        name="weights-below-zero",
        why="A sum of weights of both signs is no denominator.",
        file="data/columns.py",
        old="own = _at_least(weight.tree, _ZERO)",
        new="own = _at_least(weight.tree, Negate(_MOST))",
        tests=(
            "tests/statistics/test_weights.py::test_records_that_weigh_are_those_of_the_definition",
        ),
    ),
    Mutant(
        name="persons-float-sums",
        why="A float sum depends on the order of rows: without one person, others' rows change.",
        file="data/persons/totals.py",
        old="sums.add(codes, matrix[:, index], len(self._persons))",
        new=(
            "sums.add(np.arange(len(self._persons)), np.bincount(codes[codes >= 0], "
            "np.nan_to_num(matrix[codes >= 0, index]), len(self._persons)), "
            "len(self._persons))"
        ),
        tests=(f"{AGGREGATION}::TestTotals::test_shuffled_decimals_keep_their_sums",),
    ),
    Mutant(
        name="persons-missing-ids-are-somebody",
        why="Records without an id are of many persons: together they are nobody.",
        file="data/persons/ids.py",
        old="encoded.indices.fill_null(NOBODY)",
        new="encoded.indices.fill_null(0)",
        tests=(f"{AGGREGATION}::TestIds::test_ids_that_are_numbered_by_numpy_alone",),
    ),
    Mutant(
        name="persons-missing-whole-ids-are-somebody",
        why="The same for ids that are whole numbers, which have a loop of their own.",
        file="data/kernels/_native.c",
        old="if (codes[i] == NOBODY)\n            continue;",
        new="if (codes[i] == NOBODY)\n            codes[i] = 0;",
        tests=("tests/data/test_native.py::test_ids_get_codes_of_their_own",),
    ),
    Mutant(
        name="persons-whole-numbers-as-floats",
        why="Beyond 2^53 ids would fall together, and one person's removal change another's row.",
        file="data/persons/ids.py",
        old=("if pa.types.is_floating(kind):\n        doubles = column.cast(pa.float64())"),
        new=("if 1:\n        doubles = column.cast(pa.float64(), safe=False)"),
        tests=(f"{AGGREGATION}::TestIds::test_large_whole_numbers_are_no_floats",),
    ),
    Mutant(
        name="persons-two-zeros",
        why="Arrow tells -0.0 from 0.0: one person would be two, and a later one somebody else.",
        file="data/persons/ids.py",
        old="doubles + 0.0",
        new="doubles",
        tests=(f"{AGGREGATION}::TestIds::test_zero_has_one_sign",),
    ),
    Mutant(
        name="persons-by-class-of-number",
        why="Whoever is 7 in one row and 7.0 in another would be two persons, protected by half.",
        file="data/persons/ids.py",
        old="return None if value is None else (name, value)",
        new="return None if value is None else (base.__name__, value)",
        tests=(f"{AGGREGATION}::TestIds::test_one_id_is_one_person_however_it_is_written",),
    ),
    Mutant(
        name="persons-joined-columns",
        why="('x', 'yz') and ('xy', 'z') are two persons, and so are (1, 2) and (2, 1).",
        file="data/persons/ids.py",
        old="(codes << 32) + theirs",
        new="codes + theirs",
        tests=(f"{AGGREGATION}::TestIds::test_columns_are_a_tuple",),
    ),
    Mutant(
        name="persons-short-hash",
        why="Ids with the same hash would be one person.",
        file="data/persons/ids.py",
        old="encoded.dictionary.to_pylist()",
        new="[hash(key) % 3 for key in encoded.dictionary.to_pylist()]",
        tests=(f"{AGGREGATION}::TestIds::test_ids_that_are_numbered_by_numpy_alone",),
    ),
    Mutant(
        name="persons-by-their-hash",
        why="Texts whose hashes agree are compared, all of their bytes.",
        file="data/kernels/_native.c",
        old="!memcmp(kept + known[code], own, (size_t)length))",
        new="1)",
        tests=("tests/data/test_native.py::test_texts_get_codes_of_their_own",),
    ),
    Mutant(
        name="persons-missing-texts-are-somebody",
        why="A missing text has bytes, too, none, and is not somebody whose id is empty.",
        file="data/kernels/_native.c",
        old="if (codes[i] == NOBODY)\n                continue;",
        new="if (codes[i] == NOBODY)\n                codes[i] = 0;",
        tests=("tests/data/test_native.py::test_texts_get_codes_of_their_own",),
    ),
    Mutant(
        name="persons-by-their-slot",
        why="Whole numbers whose slots are one are compared, all of their bits.",
        file="data/kernels/_native.c",
        old="slots[2 * slot] != ids[i])",
        new="(int32_t)slots[2 * slot] != (int32_t)ids[i])",
        tests=("tests/data/test_native.py::test_ids_get_codes_of_their_own",),
    ),
    Mutant(
        name="persons-truncated-by-position",
        why="Which records are counted would follow from those of others that came before.",
        file="data/persons/totals.py",
        old="codes = self._persons.codes(ids, more=self._spilled is None)",
        new=(
            "codes = self._persons.codes(ids, more=self._spilled is None)\n"
            "        codes[1000 - sum(int(each.counts.sum()) for each in self._sums):] = -1"
        ),
        tests=(f"{AGGREGATION}::TestTotals::test_shuffled_decimals_keep_their_sums",),
    ),
    Mutant(
        name="persons-who-wait-are-forgotten",
        why="Whoever is beyond memory would be left out, and it is others who fill it.",
        file="data/persons/totals.py",
        old="self._spilled.add(ids, matrix, codes == UNKNOWN)",
        new="pass",
        tests=(f"{AGGREGATION}::TestLittleMemory::test_the_totals_are_those_of_one_pass",),
    ),
    Mutant(
        name="persons-wait-in-two-files",
        why="Records of one person in two files would be two persons.",
        file="data/persons/spill.py",
        old="mixed = (mixed ^ (self._hashes(column) * first)) * second",
        new=(
            "mixed = (mixed ^ (self._hashes(column) * first)"
            " ^ np.arange(len(mixed), dtype=np.uint64)) * second"
        ),
        tests=(f"{AGGREGATION}::TestLittleMemory::test_files_are_divided_again",),
    ),
    Mutant(
        name="persons-ascii-ids",
        why="A CSV file's Müller and Möller would be one person.",
        file="data/sources/csv.py",
        old="delimiter, exact = wanted.delimiter, wanted.kind != pa.string()",
        new="delimiter, exact = wanted.delimiter, False",
        tests=(
            f"{AGGREGATION}::TestSources::test_bytes_beyond_ascii_in_a_csv_file_keep_persons_apart",
        ),
    ),
    Mutant(
        name="persons-residual-of-all",
        why="A person's number must follow from own records alone.",
        file="data/persons/totals.py",
        old="np.clip(sums - view.ratio * rows, -LARGEST, LARGEST)",
        new="np.clip(sums - np.nansum(sums) / np.nansum(rows) * rows, -LARGEST, LARGEST)",
        tests=(f"{RELEASES}::test_one_person_moves_an_answer_by_its_sensitivity",),
    ),
    Mutant(
        name="persons-rows-for-free",
        why="Octave counts of the records and their sum share a cost.",
        file="methods/persons/estimate.py",
        old="tail, total = cost.split(ROWS_TAIL, 1 - ROWS_TAIL)",
        new="tail, total = cost, cost",
        tests=(f"{RELEASES}::test_every_budget_and_unit",),
    ),
)
