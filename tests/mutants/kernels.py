"""Kernels that return other integers than the specification."""

from __future__ import annotations

from .mutant import Mutant

KERNEL = "tests/data/test_kernel.py"
BORDERS = f"{KERNEL}::test_equals_the_reference_at_every_border"
NATIVE = "tests/data/test_native.py"
ROWS = "tests/data/test_vector_kernel.py"
COLUMNS = "tests/vectors/test_kernel.py"

KERNELS: tuple[Mutant, ...] = (
    Mutant(
        name="nan-counted-as-a-record",
        why="A missing record contributes nothing: the count and the sum must agree on that.",
        file="data/kernels/plain.py",
        old="ticks = ticks[~np.isnan(ticks)]",
        new="ticks = np.nan_to_num(ticks)",
        tests=(BORDERS,),
    ),
    Mutant(
        name="nan-kept-in-the-profile",
        why="A NaN would count as a record that lies far out.",
        file="data/kernels/profile.py",
        old="present = bins % _SIDE <= _INFINITE",
        new="present = bins >= 0",
        tests=(f"{KERNEL}::test_missing_records_are_in_no_bin",),
    ),
    Mutant(
        name="memory-rounds-half-even",
        why="A tick at a clip point may be rounded beyond it, and engines would disagree.",
        file="data/kernels/plain.py",
        old="np.floor(ticks, out=ticks)",
        new="np.rint(ticks, out=ticks)",
        tests=(BORDERS,),
    ),
    Mutant(
        name="no-clamp-below",
        why="A record beyond a clip point must count as if it were there.",
        file="data/kernels/plain.py",
        old="np.clip(ticks, low, high, out=ticks)",
        new="np.minimum(ticks, high, out=ticks)",
        tests=(BORDERS,),
    ),
    Mutant(
        name="infinities-dropped",
        why="An infinity is a record: it is clipped, not left out.",
        file="data/kernels/plain.py",
        old="ticks = chunk * inverse_tick",
        new="ticks = chunk[~np.isinf(chunk)] * inverse_tick",
        tests=(BORDERS,),
    ),
    Mutant(
        name="compiled-loop-rounds-half-even",
        why="The compiled loop and NumPy would answer two different queries.",
        file="data/kernels/_native.c",
        old="(floor(ticks) - centre)",
        new="(rint(ticks) - centre)",
        tests=(f"{NATIVE}::test_same_integers_for_any_values",),
    ),
    Mutant(
        name="compiled-loop-clips-nan",
        why="With the comparison the other way round a NaN becomes the lower clip point.",
        file="data/kernels/_native.c",
        old="ticks < low ? low : ticks;",
        new="ticks >= low ? ticks : low;",
        tests=(f"{NATIVE}::test_same_integers_for_any_values",),
    ),
    Mutant(
        name="compiled-profile-one-bit-short",
        why="Records would count at nodes where the proof does not have them.",
        file="data/kernels/_native.c",
        old="tables[APART + (words[i + 1] >> 48)]",
        new="tables[APART + (words[i + 1] >> 49)]",
        tests=(f"{NATIVE}::test_same_integers_for_any_values",),
    ),
    Mutant(
        name="compiled-profile-with-other-bits-of-distances",
        why="Bits that the profile does not use would be counted as records.",
        file="data/kernels/_native.c",
        old="words[k] = (bits & ~(uint64_t)0xfffff) | 1;",
        new="words[k] = (bits & ~(uint64_t)0xffff) | 1;",
        tests=(f"{NATIVE}::test_same_integers_for_any_values",),
    ),
    Mutant(
        name="compiled-profile-emptied-too-late",
        why="A sum of more than 2^16 rests would run into the bin that stands above it.",
        file="data/kernels/_native.c",
        old="FULL = 2 << 16",
        new="FULL = 2 << 18",
        tests=(f"{NATIVE}::test_all_records_in_one_bin_fill_the_tables_and_no_more",),
    ),
    Mutant(
        name="compiled-profile-forgets-unusual-bands",
        why="Records far from the usual octaves would show up in the profile of later ones.",
        file="data/kernels/_native.c",
        old="band < BANDS && words > 0; band++",
        new="band < 48 && words > 0; band++",
        tests=(f"{NATIVE}::test_every_band_of_bins_is_emptied",),
    ),
    Mutant(
        name="bands-of-those-who-waited-forgotten",
        why="Few records far away would not count, once their pass is joined with a long one.",
        file="data/kernels/profile.py",
        old="self.bands, self.few = self.binning.bands, []",
        new="self.few = []",
        tests=(
            "tests/data/test_kernel.py::test_records_that_waited_are_looked_at_wherever_they_lie",
        ),
    ),
    Mutant(
        name="compiled-pass-in-the-modes-of-others",
        why="Subnormal records would be other numbers in one engine than in another.",
        file="data/kernels/_native.c",
        old="    __builtin_ia32_ldmxcsr(0x1f80);",
        new="",
        tests=(f"{NATIVE}::test_a_pass_has_the_modes_of_ieee_754",),
    ),
    Mutant(
        name="compiled-ball-keeps-rows-outside",
        why="A row outside of the ball moves the sum by more than two radii.",
        file="data/kernels/_native.c",
        old="memset(ticks + k * n_columns, 0, sizeof *ticks * (size_t)n_columns);",
        new="",
        tests=(f"{NATIVE}::test_rows_are_mapped_alike",),
    ),
    Mutant(
        name="compiled-ball-counts-no-missing-cells",
        why="The number of missing cells is what a sum is divided by.",
        file="data/kernels/_native.c",
        old="missing[j]++;",
        new="missing[j] += 0;",
        tests=(f"{NATIVE}::test_rows_are_mapped_alike",),
    ),
    Mutant(
        name="compiled-distances-beyond-their-steps",
        why="A cell at a step would count there in one engine and not in another.",
        file="data/kernels/_native.c",
        old="(distance >= edges[bits >> 48])",
        new="(distance > edges[bits >> 48])",
        tests=(f"{NATIVE}::test_distances_reach_the_same_steps",),
    ),
    Mutant(
        name="compiled-loops-believed-by-name",
        why="A compiler that assumes that there is no NaN moves a sum without any bound.",
        file="data/kernels/native.py",
        old="if found and agrees(found)",
        new="if found",
        tests=(f"{NATIVE}::test_a_library_that_takes_liberties_is_refused",),
    ),
    Mutant(
        name="compiled-loops-of-any-version",
        why="A library with other arguments would write where it should not.",
        file="data/kernels/native.py",
        old="return found if found.version() == VERSION else None",
        new="return found",
        tests=(f"{NATIVE}::test_a_library_of_another_version_is_refused",),
    ),
    Mutant(
        name="distances-without-a-clip",
        why="One far record would move the sum by any number.",
        file="data/kernels/profile.py",
        old="if start << shift < end else end * count",
        new="",
        tests=("tests/test_queries.py::test_no_neighbor_moves_a_query_further",),
    ),
    Mutant(
        name="distances-clipped-one-bin-late",
        why="Records between a clip point and the next edge would move the sum too far.",
        file="data/kernels/profile.py",
        old="if start << shift < end else end * count",
        new="if start << shift <= end else end * count",
        tests=("tests/test_queries.py::test_the_sensitivity_is_attained",),
    ),
    Mutant(
        name="sums-of-distances-overflow",
        why="A sum that wraps depends on records in a way that no proof covers.",
        file="data/kernels/profile.py",
        old="if self.records > _CARRY:",
        new="if False:",
        tests=("tests/data/test_kernel.py::test_a_carried_sum_is_wider_than_64_bits",),
    ),
    Mutant(
        name="soft-counts-weigh-too-much",
        why="A record between two nodes would weigh up to 63 in place of 32.",
        file="data/kernels/profile.py",
        old="counts * (SOFT_ONE - weights)",
        new="counts * SOFT_ONE",
        tests=("tests/test_queries.py::test_no_neighbor_moves_a_query_further",),
    ),
    Mutant(
        name="squares-without-a-cap",
        why="One far record would add any number.",
        file="data/kernels/profile.py",
        old="sizes = np.minimum(sizes, query.largest)",
        new="",
        tests=("tests/test_queries.py::test_no_neighbor_moves_a_query_further",),
    ),
    Mutant(
        name="columns-share-their-coins",
        why=(
            "With one coin per row the choices of all columns look at one sample, and that has to "
            "be paid for with the sum of their costs: a seed reused between coordinates."
        ),
        file="data/kernels/rows.py",
        old="places = self.sampler.pick(chunk.size)",
        new=(
            "rows = self.sampler.pick(len(chunk))\n"
            "        own = np.arange(self.n_columns)\n"
            "        places = (rows[:, np.newaxis] * self.n_columns + own).ravel()"
        ),
        tests=(f"{COLUMNS}::test_every_cell_of_a_row_has_a_coin_of_its_own",),
    ),
    Mutant(
        name="rows-stay-outside-of-the-ball",
        why="A row that is not pulled into the ball moves the sum by more than two radii.",
        file="data/kernels/plain.py",
        old="rows[far] = shrunk",
        new="pass",
        tests=(f"{COLUMNS}::test_sums_squares_and_levels_are_those_of_the_definition",),
    ),
    Mutant(
        name="rows-between-two-balls-stay-as-they-are",
        why="The radius that was chosen is that of the noise: a larger ball moves the sum further.",
        file="data/kernels/ball.py",
        old="found = self.map.inside(chunk, float(self.radius) ** self.ball.order)",
        new="found = self.map.inside(chunk, float(self.ball.radii[-1]) ** self.ball.order)",
        tests=(f"{COLUMNS}::test_sums_squares_and_levels_are_those_of_the_definition",),
    ),
    Mutant(
        name="parts-merged-without-their-carried-squares",
        why="A part of the records would be missing from a sum that others are compared with.",
        file="data/kernels/ball.py",
        old="self.carried += other.carried + other.squares",
        new="self.carried += other.squares",
        tests=("tests/data/test_accumulators.py::test_squares_are_carried_beyond_64_bits",),
    ),
    Mutant(
        name="euclidean-norm-for-an-l1-ball",
        why="Laplace noise for the radius of an L1 ball needs rows in that ball.",
        file="data/kernels/plain.py",
        old="np.abs(rows).sum(axis=1) if order == 1 else",
        new="np.abs(rows).max(axis=1) if order == 1 else",
        tests=(f"{COLUMNS}::test_sums_squares_and_levels_are_those_of_the_definition",),
    ),
    Mutant(
        name="ball-mean-over-the-kept-rows-alone",
        why="With few rows in the ball the mean of these few moves without bound (P9).",
        file="data/kernels/tournament.py",
        old="divisor = max(4 * self.kept, 3 * query.size, 1)",
        new="divisor = max(4 * self.kept, 1)",
        tests=(
            f"{ROWS}::test_the_sensitivity_of_the_ball_is_tight_and_holds_where_the_count_crosses",
        ),
    ),
    Mutant(
        name="tournament-counts-a-minority",
        why="The median of the blocks moves when a majority of them does.",
        file="data/kernels/tournament.py",
        old="few[: self.query.blocks // 2 + 1].sum(axis=0)",
        new="few[: max(self.query.blocks // 2, 1)].sum(axis=0)",
        tests=(f"{ROWS}::test_a_score_is_the_distance_to_the_nearest_data_set_that_loses",),
    ),
    Mutant(
        name="tournament-default-from-the-data",
        why="A score that jumps to the default when the data show no loss moves by more than 1.",
        file="data/kernels/tournament.py",
        old="return np.where(found == _UNBEATEN, query.default, found)",
        new="return np.where(found > 2, query.default, found)",
        tests=(f"{ROWS}::test_one_row_moves_no_score_by_more_than_one",),
    ),
)
