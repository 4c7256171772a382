"""Engines that return other integers than the specification, or show what records hold."""

from __future__ import annotations

from .mutant import Mutant

KERNEL = "tests/engines/test_kernel.py"
BORDERS = f"{KERNEL}::test_equals_the_reference_at_every_border"
SAMPLING = "tests/engines/test_sampling.py"
FILES = "tests/engines/test_files.py"
SPARK = "tests/engines/test_spark.py"
ROWS = "tests/engines/test_vector_kernel.py"
COLUMNS = "tests/vectors/test_kernel.py"

ENGINES: tuple[Mutant, ...] = (
    Mutant(
        name="nan-counted-as-a-record",
        why="A missing record contributes nothing: the count and the sum must agree on that.",
        file="engines/kernel.py",
        old="ticks = ticks[~np.isnan(ticks)]",
        new="ticks = np.nan_to_num(ticks)",
        tests=(BORDERS,),
    ),
    Mutant(
        name="nan-kept-in-the-profile",
        why="A NaN would count as a record that lies far out.",
        file="engines/kernel.py",
        old="counts[:, -1, 1:] = 0  # NaN: missing records",
        new="",
        tests=(BORDERS,),
    ),
    Mutant(
        name="memory-rounds-half-even",
        why="A tick at a clip point may be rounded beyond it, and engines would disagree.",
        file="engines/kernel.py",
        old="np.floor(ticks, out=ticks)",
        new="np.rint(ticks, out=ticks)",
        tests=(BORDERS,),
    ),
    Mutant(
        name="no-clamp-below",
        why="A record beyond a clip point must count as if it were there.",
        file="engines/kernel.py",
        old="np.clip(ticks, low, high, out=ticks)",
        new="np.minimum(ticks, high, out=ticks)",
        tests=(BORDERS,),
    ),
    Mutant(
        name="infinities-dropped",
        why="An infinity is a record: it is clipped, not left out.",
        file="engines/kernel.py",
        old="total, present = self._sum_and_count(chunk)",
        new="total, present = self._sum_and_count(chunk[~np.isinf(chunk)])",
        tests=(BORDERS,),
    ),
    Mutant(
        name="compiled-loop-rounds-half-even",
        why="The compiled loop and NumPy would answer two different queries.",
        file="engines/_native.c",
        old="(floor(ticks) - centre)",
        new="(rint(ticks) - centre)",
        tests=(BORDERS,),
    ),
    Mutant(
        name="compiled-loop-clips-nan",
        why="With the comparison the other way round a NaN becomes the lower clip point.",
        file="engines/_native.c",
        old="ticks < low ? low : ticks;",
        new="ticks >= low ? ticks : low;",
        tests=(BORDERS,),
    ),
    Mutant(
        name="compiled-profile-one-bit-short",
        why="Records would count at nodes where the proof does not have them.",
        file="engines/_native.c",
        old="counts[(bits >> 48) +",
        new="counts[(bits >> 49) +",
        tests=(BORDERS,),
    ),
    Mutant(
        name="soft-counts-weigh-too-much",
        why="A record between two nodes would weigh up to 63 in place of 32.",
        file="engines/kernel.py",
        old="- first] += SOFT_ONE * records - weight",
        new="- first] += SOFT_ONE * records",
        tests=("tests/test_queries.py::test_no_neighbour_moves_a_query_further",),
    ),
    Mutant(
        name="squares-without-a-cap",
        why="One far record would add any number.",
        file="engines/kernel.py",
        old="total += records * min(size, query.largest)",
        new="total += records * size",
        tests=("tests/test_queries.py::test_no_neighbour_moves_a_query_further",),
    ),
    Mutant(
        name="sorted-parts",
        why="Parts by rank: one changed record shifts the ranks of others, so many parts change.",
        file="engines/arrays.py",
        old="return MemoryEngine(self._column[start:stop])",
        new="return MemoryEngine(np.sort(self._column)[start:stop])",
        tests=("tests/paper/test_mean_1d.py::test_one_changed_record_moves_at_most_one_statistic",),
    ),
    Mutant(
        name="rows-of-a-file-from-its-beginning",
        why="Every part of a file would read the same first rows, and each at the full budget.",
        file="engines/files.py",
        old="yield chunk[max(first - position, 0) : stop]",
        new="yield chunk[:stop]",
        tests=(f"{FILES}::test_floats",),
    ),
    Mutant(
        name="quoted-line-ends-cut-rows",
        why="A cell with a line end would become several records, each protected on its own.",
        file="engines/sources.py",
        old="odd = block.count(b'\"', 0, end) % 2",
        new="odd = 0",
        tests=(f"{FILES}::test_a_quoted_cell_across_a_block_border_stays_one_record",),
    ),
    Mutant(
        name="huge-integers-raise",
        why="Whether a record is huge would show in an exception.",
        file="engines/cells.py",
        old="except OverflowError:\n            return math.inf if cell > 0 else -math.inf",
        new="except ZeroDivisionError:\n            return math.inf if cell > 0 else -math.inf",
        tests=("tests/engines/test_cells.py::test_numbers",),
    ),
    Mutant(
        name="coins-forget-the-chunk",
        why="Records of later chunks would be sampled at another rate.",
        file="engines/sampling.py",
        old="self._ends = self._ends[used:] - size",
        new="self._ends = self._ends[used:]",
        tests=(f"{SAMPLING}::test_positions_do_not_depend_on_the_chunks",),
    ),
    Mutant(
        name="undecided-coins-fall-one-way",
        why="The coins would have another probability than the proof's.",
        file="engines/sampling.py",
        old="true[index] = _decide(bounds, int(words[index]), 16, secrets.randbits)",
        new="true[index] = True",
        tests=(f"{SAMPLING}::test_a_word_between_the_bounds_is_decided_by_more_bits",),
    ),
    Mutant(
        name="every-record-sampled-twice-as-often",
        why="The sample is paid for at the rate of 2^-halvings.",
        file="engines/kernel.py",
        old="self.sampler = Sampler(query.halvings)",
        new="self.sampler = Sampler(max(query.halvings - 1, 0))",
        tests=(f"{SAMPLING}::test_a_sample_is_a_part_of_the_records",),
    ),
    Mutant(
        name="columns-share-their-coins",
        why=(
            "With one coin per row the choices of all columns look at one sample, and that has to "
            "be paid for with the sum of their costs: a seed reused between coordinates."
        ),
        file="engines/column_kernel.py",
        old="places = sampler.pick(chunk.size)",
        new=(
            "rows = sampler.pick(len(chunk))\n"
            "        places = (rows[:, np.newaxis] * dim + np.arange(dim)).ravel()"
        ),
        tests=(f"{COLUMNS}::test_every_cell_of_a_row_has_a_coin_of_its_own",),
    ),
    Mutant(
        name="rows-stay-outside-of-the-ball",
        why="A row that is not pulled into the ball moves the sum by more than two radii.",
        file="engines/column_kernel.py",
        old="rows[far] = shrunk",
        new="pass",
        tests=(f"{COLUMNS}::test_sums_squares_and_levels_are_those_of_the_definition",),
    ),
    Mutant(
        name="euclidean-norm-for-an-l1-ball",
        why="Laplace noise for the radius of an L1 ball needs rows in that ball.",
        file="engines/column_kernel.py",
        old="np.abs(rows).sum(axis=1) if order == 1 else",
        new="np.abs(rows).max(axis=1) if order == 1 else",
        tests=(f"{COLUMNS}::test_sums_squares_and_levels_are_those_of_the_definition",),
    ),
    Mutant(
        name="ball-mean-over-the-kept-rows-alone",
        why="With few rows in the ball the mean of these few moves without bound (P9).",
        file="engines/vector_kernel.py",
        old="divisor = max(4 * kept, 3 * query.size, 1)",
        new="divisor = max(4 * kept, 1)",
        tests=(f"{ROWS}::test_one_row_moves_the_ball_mean_by_at_most_its_sensitivity",),
    ),
    Mutant(
        name="tournament-counts-a-minority",
        why="The median of the blocks moves when a majority of them does.",
        file="engines/vector_kernel.py",
        old="few[: self.query.blocks // 2 + 1].sum(axis=0)",
        new="few[: max(self.query.blocks // 2, 1)].sum(axis=0)",
        tests=(f"{ROWS}::test_a_score_is_the_distance_to_the_nearest_data_set_that_loses",),
    ),
    Mutant(
        name="tournament-default-from-the-data",
        why="A score that jumps to the default when the data show no loss moves by more than 1.",
        file="engines/vector_kernel.py",
        old="return np.where(found == _UNBEATEN, query.default, found)",
        new="return np.where(found > 2, query.default, found)",
        tests=(f"{ROWS}::test_one_row_moves_no_score_by_more_than_one",),
    ),
    Mutant(
        name="spark-rounds-half-even",
        why="One engine with another rounding answers another query than the one that was proved.",
        file="engines/spark.py",
        old="fn.floor(clipped)",
        new='fn.rint(clipped).cast("bigint")',
        tests=(f"{SPARK}::test_equals_the_reference_at_every_border",),
    ),
    Mutant(
        name="spark-keeps-nan",
        why="In Spark NaN is larger than every number: it would count as the upper clip point.",
        file="engines/spark_rows.py",
        old='return fn.col("x").isNotNull() & ~fn.isnan("x")',
        new='return fn.col("x").isNotNull()',
        tests=(f"{SPARK}::test_equals_the_reference_at_every_border",),
    ),
    Mutant(
        name="spark-sums-in-64-bits",
        why="A sum that wraps, or raises, depends on records in a way that no proof covers.",
        file="engines/spark.py",
        old="_WORD_BITS = 20",
        new="_WORD_BITS = 0",
        tests=(f"{SPARK}::test_sums_beyond_64_bits",),
    ),
    Mutant(
        name="spark-profile-one-sixteenth-off",
        why="A record would count at a node where the proof does not have it.",
        file="engines/spark.py",
        old="_SPLIT = 2.0**48 + 1",
        new="_SPLIT = 2.0**49 + 1",
        tests=(f"{SPARK}::test_equals_the_reference_at_every_border",),
    ),
    Mutant(
        name="spark-slots-of-one-partition",
        why="Rows of all partitions would share the coins of the first.",
        file="engines/spark_rows.py",
        old="return (partition << _ROW_BITS) + picked",
        new="return picked",
        tests=(f"{SPARK}::TestSample::test_every_slot_has_a_coin_of_its_own",),
    ),
)
