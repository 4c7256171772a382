"""Regressions whose rows depend on each other, cost too much, or are not refused."""

from __future__ import annotations

from .mutant import Mutant

TESTS = "tests/statistics/test_regression.py"

REGRESSIONS: tuple[Mutant, ...] = (
    Mutant(
        name="products-of-a-chunk",
        why="Centers that follow from other records would let one record move all rows.",
        file="data/computed.py",
        old="(rows - np.array(products.centers))",
        new="(rows - np.nanmean(rows, axis=0))",
        tests=(f"{TESTS}::test_a_row_is_made_of_its_own_cells_wherever_it_stands",),
    ),
    Mutant(
        name="scores-without-the-intercept",
        why="The scores would be those of another line.",
        file="data/computed.py",
        old="enumerate(products.coefficients)",
        new="enumerate((0.0, *products.coefficients[1:]))",
        tests=(f"{TESTS}::test_products_are_those_of_expressions_on_every_record",),
    ),
    Mutant(
        name="products-that-are-left-out-are-missing",
        why="A record that a condition leaves out would count as one with a missing cell.",
        file="data/computed.py",
        old="    found[are_left_out(rows[:, 0])] = LEFT_OUT\n",
        new="",
        tests=(f"{TESTS}::test_a_row_that_is_left_out_stays_so",),
    ),
    Mutant(
        name="regression-pays-for-each-step-with-everything",
        why="Each mean would cost the whole budget; the account of its step refuses that.",
        file="methods/regression.py",
        old="cost, size = plan.cost(step), max",
        new="cost, size = plan.left, max",
        tests=(f"{TESTS}::test_a_regression_replays_and_goes_to_json_and_back",),
    ),
    Mutant(
        name="collinear-columns-are-solved",
        why="Coefficients of columns that follow from each other are noise.",
        file="methods/regression.py",
        old="return least >= CLEAR *",
        new="return least >= -CLEAR *",
        tests=(f"{TESTS}::test_columns_that_follow_from_others_are_refused",),
    ),
)
