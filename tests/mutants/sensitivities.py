"""Queries that claim to move by less than they do: every sensitivity, lowered."""

from __future__ import annotations

from .mutant import Mutant

CROWDS = "tests/mechanisms/test_crowds.py"
QUERIES = "tests/test_queries.py"
COLUMNS = "tests/vectors/test_kernel.py"
CHOICES = "tests/vectors/test_mechanisms.py"
ROWS = "tests/data/test_vector_kernel.py"

SENSITIVITIES: tuple[Mutant, ...] = (
    Mutant(
        name="count-one-cell-for-two",
        why="A record that becomes missing leaves one cell and enters another.",
        file="queries/column.py",
        old='"""A record is in one cell: a replacement empties one and fills another."""\n'
        "        return Sensitivity(unit.changes, unit.changes)",
        new="return Sensitivity(1, 1)",
        tests=(f"{QUERIES}::test_the_sensitivity_is_attained",),
    ),
    Mutant(
        name="left-out-counted-twice",
        why="A record that a condition leaves out would be in two cells, with noise for one.",
        file="data/kernels/counts.py",
        old="return self.count, self.size - self.count - self.left_out, self.left_out",
        new="return self.count, self.size - self.count, self.left_out",
        tests=("tests/test_cells_used.py::test_no_neighbour_moves_the_counts_further",),
    ),
    Mutant(
        name="clipped-sum-lowered-by-one",
        why="Noise for one tick less than a record can move the sum costs more than it says.",
        file="queries/column.py",
        old="return Sensitivity(l1, l2_squared)",
        new="return Sensitivity(l1 - 1, l2_squared)",
        tests=(f"{QUERIES}::test_the_sensitivity_is_attained",),
    ),
    Mutant(
        name="clipped-sum-without-the-count",
        why="The weighted count is released beside the sum, and noise must cover its share.",
        file="queries/column.py",
        old="l1, l2_squared = side + weight, side**2 + weight**2",
        new="l1, l2_squared = side, side**2",
        tests=(f"{QUERIES}::test_the_sensitivity_is_attained",),
    ),
    Mutant(
        name="clipped-sum-one-side-for-a-replacement",
        why="A replacement moves the sum from one clip point to the other, not from the centre.",
        file="queries/column.py",
        old="l1, l2_squared = max(l1, width), max(l2_squared, width**2)",
        new="pass",
        tests=(f"{QUERIES}::test_the_sensitivity_is_attained",),
    ),
    Mutant(
        name="distance-sum-without-the-count",
        why="The weighted count is released beside the sum, and noise must cover its share.",
        file="queries/column.py",
        old="return ClippedSum(self.lattice, self.count_weight).sensitivity(unit)",
        new="return ClippedSum(self.lattice).sensitivity(unit)",
        tests=(f"{QUERIES}::test_the_sensitivity_is_attained",),
    ),
    Mutant(
        name="buckets-lowered-by-one",
        why="A replacement empties one bucket and fills another: 2, not 1.",
        file="queries/column.py",
        old='"""One record is in one bucket: a replacement empties one and fills another."""\n'
        "        return Sensitivity(unit.changes, unit.changes)",
        new="return Sensitivity(unit.changes - unit.size_is_public, unit.changes)",
        tests=(f"{QUERIES}::test_the_sensitivity_is_attained",),
    ),
    Mutant(
        name="tail-nodes-lowered-by-one",
        why="A record weighs 32 in the soft counts, on one node if it lies beyond the last.",
        file="queries/column.py",
        old="Sensitivity(records * SOFT_ONE, records * SOFT_ONE**2)",
        new="Sensitivity(records * SOFT_ONE - 1, records * SOFT_ONE**2)",
        tests=(f"{QUERIES}::test_the_sensitivity_is_attained",),
    ),
    Mutant(
        name="tail-nodes-count-for-free-under-add-remove",
        why="The count beside the nodes is free for a replacement only.",
        file="queries/column.py",
        old="records = 2 if self.counted else unit.changes",
        new="records = unit.changes",
        tests=(f"{QUERIES}::test_the_sensitivity_is_attained",),
    ),
    Mutant(
        name="squares-lowered-by-one",
        why="A record at the cap adds all of the largest contribution.",
        file="queries/column.py",
        old="return Sensitivity(self.largest, self.largest**2)",
        new="return Sensitivity(self.largest - 1, self.largest**2)",
        tests=(f"{QUERIES}::test_the_sensitivity_is_attained",),
    ),
    Mutant(
        name="median-score-lowered-by-one",
        why="A record below a candidate moves its score by 1; a score that cannot move is free.",
        file="queries/column.py",
        old='docs/proofs/selection.md."""\n        return 1',
        new='docs/proofs/selection.md."""\n        return 0',
        tests=(f"{QUERIES}::test_no_neighbour_moves_a_score_of_the_median_further",),
    ),
    Mutant(
        name="crowd-score-halved",
        why="A record at a candidate adds all of the peak to its score.",
        file="queries/crowd.py",
        old='every score."""\n        return self.peak',
        new='every score."""\n        return self.peak // 2',
        tests=(f"{CROWDS}::test_no_record_moves_a_score_by_more_than_the_peak",),
    ),
    Mutant(
        name="ball-mean-lowered",
        why="Two rows at opposite ends of the ball are two radii apart (P9).",
        file="queries/paper.py",
        old="mean = -(-8 * self.radius",
        new="mean = -(-4 * self.radius",
        tests=(
            f"{ROWS}::test_the_sensitivity_of_the_ball_is_tight_and_holds_where_the_count_crosses",
        ),
    ),
    Mutant(
        name="ball-mean-without-rounding",
        why="Rounding each coordinate down may move each by one more.",
        file="queries/paper.py",
        old="l2_squared = (mean + math.isqrt(dim - 1) + 1) ** 2",
        new="l2_squared = mean**2",
        tests=(f"{ROWS}::test_rounding_down_moves_a_ball_mean_further_than_the_mean_moves",),
    ),
    Mutant(
        name="tournament-score-lowered-by-one",
        why="A score is a number of rows: one row moves it by 1.",
        file="queries/paper.py",
        old="_replace_one_only(unit)\n        return 1",
        new="_replace_one_only(unit)\n        return 0",
        tests=(f"{ROWS}::test_one_row_moves_no_score_by_more_than_one",),
    ),
    Mutant(
        name="ball-sum-radius-for-diameter",
        why="A replaced row may cross the whole ball.",
        file="queries/rows.py",
        old="l1, l2_squared = 2 * spread * radius, 4 * radius**2",
        new="l1, l2_squared = spread * radius, radius**2",
        tests=(f"{COLUMNS}::test_sensitivities_of_sums_are_reached",),
    ),
    Mutant(
        name="cells-clipped-alike-on-both-sides",
        why="Floors are ends of their own: what is clipped there must not reach a limit.",
        file="data/kernels/plain.py",
        old="np.clip(ticks[rows], self.lows[0], self.highs[0])",
        new="np.clip(ticks[rows], -self.highs[0], self.highs[0])",
        tests=(
            "tests/vectors/test_kernel.py"
            "::test_sums_squares_and_levels_are_those_of_the_definition",
        ),
    ),
    Mutant(
        name="ball-sum-lowered-by-one",
        why="Two opposite points of the ball are two radii apart, exactly.",
        file="queries/rows.py",
        old="l1, l2_squared = 2 * spread * radius, 4 * radius**2",
        new="l1, l2_squared = 2 * spread * radius - 1, 4 * radius**2 - 1",
        tests=(f"{COLUMNS}::test_sensitivities_of_sums_are_reached",),
    ),
    Mutant(
        name="ball-sum-without-the-count",
        why="Under add-remove the number of rows is released beside the sum.",
        file="queries/rows.py",
        old="spread * radius + self.count_weight, radius**2 + self.count_weight**2",
        new="spread * radius, radius**2",
        tests=(f"{COLUMNS}::test_sensitivities_of_sums_are_reached",),
    ),
    Mutant(
        name="ball-sum-l2-ball-with-l1-noise",
        why="A row in a Euclidean ball may move sqrt(d) radii in L1, where Laplace noise counts.",
        file="queries/rows.py",
        old="spread = 1 if self.ball.order == 1 else",
        new="spread = 1 if self.ball.order else",
        tests=(f"{COLUMNS}::test_sensitivities_of_sums_are_reached",),
    ),
    Mutant(
        name="ball-sum-without-missing-cells",
        why="The missing cells of every column are released beside the sums.",
        file="queries/rows.py",
        old="l1 + live * self.missing_weight, l2_squared + live * self.missing_weight**2",
        new="l1, l2_squared",
        tests=(f"{COLUMNS}::test_sensitivities_of_sums_cover_missing_cells",),
    ),
    Mutant(
        name="ball-squares-without-the-rows-cut",
        why="The number of rows outside the ball is released beside the squares.",
        file="queries/rows.py",
        old="return Sensitivity(l1 + dim + self.cut_weight,",
        new="return Sensitivity(l1 + dim,",
        tests=(f"{COLUMNS}::test_sensitivities_of_squares_cover_the_rows_cut",),
    ),
    Mutant(
        name="ball-squares-one-row-for-two",
        why="A replacement takes the squares of one row away and adds those of another.",
        file="queries/rows.py",
        old="l1, l2 = 2 * square, math.isqrt(2 * square**2) + 1",
        new="l1, l2 = square, square",
        tests=(f"{COLUMNS}::test_sensitivities_of_squares_cover_the_rows_cut",),
    ),
    Mutant(
        name="column-median-score-lowered-by-one",
        why="A cell below a candidate moves its score by 1.",
        file="queries/rows.py",
        old='queries.column.Median`."""\n        return 1',
        new='queries.column.Median`."""\n        return 0',
        tests=(f"{CHOICES}::test_scores_of_radii_and_of_columns_reach_their_sensitivity",),
    ),
    Mutant(
        name="distance-score-lowered-by-one",
        why="A cell that moves away is one more in the counts, and moves scores by 1.",
        file="queries/rows.py",
        old='and a row its largest cell."""\n        return 1',
        new='and a row its largest cell."""\n        return 0',
        tests=(f"{CHOICES}::test_scores_move_by_at_most_one",),
    ),
    Mutant(
        name="radius-score-lowered-by-one",
        why="A row that leaves a ball is one more outside, and moves scores by 1.",
        file="queries/rows.py",
        old='outside of each ball or it is not."""\n        return 1',
        new='outside of each ball or it is not."""\n        return 0',
        tests=(f"{CHOICES}::test_scores_of_radii_and_of_columns_reach_their_sensitivity",),
    ),
    Mutant(
        name="rows-lowered-by-one",
        why="Under add-remove the number of rows is private.",
        file="queries/rows.py",
        old='"""A row is in one cell: a replacement can take it from one to the other."""\n'
        "        return Sensitivity(unit.changes, unit.changes)",
        new="return Sensitivity(0, 0)",
        tests=(f"{COLUMNS}::test_no_row_moves_an_answer_by_more_than_its_sensitivity",),
    ),
)
