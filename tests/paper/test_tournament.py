"""mean_tournament: accuracy, the exact budget, the grid in integers, no failure on any data."""

from __future__ import annotations

import math
import time

import numpy as np
import pandas as pd
import pytest

import tametail as tt
from tametail.ask import Ask, Data, Replay
from tametail.errors import ColumnError, ParameterError
from tametail.paper.tournament import grid_for, play
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Approx, Pure, Zcdp, fits
from tametail.theory.multivariate import Tournament, tournament, tournament_sample_size

from ..opened import open_table  # noqa: TID252

NUMBERS = {"alpha": 1.0, "beta": 0.1, "k": 2, "R": 50.0}


def student(seed, size, n_columns, mean=7.0):
    draws = np.random.default_rng(seed).standard_t(3, (size, n_columns))
    return mean + draws / math.sqrt(3)


def error(X, budget, mean=7.0, **numbers):
    estimate = tt.paper.mean_tournament(X, budget, **{**NUMBERS, **numbers})
    return float(np.linalg.norm(estimate - mean))


# --- accuracy


def test_the_theorem_holds_at_its_own_size():
    """alpha = 4 standard deviations, so that n stays small; at most one of ten may fail."""
    numbers = {**NUMBERS, "alpha": 4.0}
    size = tournament_sample_size(d=2, epsilon=2.0, **numbers)
    assert size < 50_000
    errors = [error(student(seed, size, 2), Pure(2.0), alpha=4.0) for seed in range(5)]
    assert max(errors) <= 4.0


@pytest.mark.parametrize(("n_columns", "size"), [(1, 4000), (2, 10_000), (3, 6000)])
def test_the_error_is_within_alpha_far_below_that_size(n_columns, size):
    assert error(student(n_columns, size, n_columns), Pure(2.0)) <= NUMBERS["alpha"]


def test_units_are_those_of_the_records():
    X = 1e6 + 1e3 * student(2, 10_000, 2, mean=0.0)
    assert error(X, Pure(2.0), mean=1e6, alpha=1e3, R=1e7, scale=1e3) <= 1e3


def test_outliers_in_a_twentieth_of_the_rows_change_little():
    X = student(3, 20_000, 2)
    X[::20] = [1e12, -math.inf]
    assert error(X, Pure(2.0)) <= 2.0


def test_printed_constants_make_all_points_tie():
    """The answer is then any point of the grid around the coarse center (A11)."""
    game = tournament(1.0, 0.1, 2, 2, constants="paper")
    grid = grid_for(game, n_columns=2, size=1000, scale=1.0, default=9)
    assert grid.opponents() == []
    assert set(open_table(student(0, 1000, 2)).answer(grid).tolist()) == {9}
    assert error(np.full((4, 2), 7.0), Pure(1e6), constants="paper") < 100


def test_a_second_in_two_dimensions():
    X = student(4, 20_000, 2)
    error(X[:100], Pure(1.0))  # imports
    start = time.process_time()
    error(X, Pure(1.0))
    assert time.process_time() - start < 3


# --- the grid in integers


@pytest.mark.parametrize("n_columns", [1, 2, 3])
@pytest.mark.parametrize("alpha", [1e-3, 0.5, 3.0])
def test_the_grid_is_that_of_the_theory(n_columns, alpha):
    game = tournament(alpha, 0.1, 2, n_columns)
    grid = grid_for(game, n_columns=n_columns, size=10**6, scale=1.0)
    assert grid.points == round(math.exp(game.log_points))
    assert grid.tie == 25 * n_columns  # five fine accuracies, in steps of one over sqrt(d)
    tick = 2.0**grid.exponent
    assert grid.step * tick == pytest.approx(game.step, rel=1e-3)
    assert grid.xi * tick == pytest.approx(game.xi, rel=1e-3)
    assert grid.blocks % 2 == 1
    assert grid.block_size >= min(10 / game.block_accuracy**2, 10**6)
    # Every point can lose: to a corner that is beyond the tie and within reach of xi.
    far = (grid.reach * grid.step) ** 2 * n_columns
    assert grid.tie * grid.step**2 < far
    assert 4 * far <= 4 * grid.xi**2


def test_the_fine_step_chooses_among_the_points_around_the_center():
    game = Tournament(1.0, 0.5, 0.9, 4.0, 1, 1.0, 0.0, 0.0)
    grid = grid_for(game, n_columns=2, size=400, scale=1.0)
    ask = Ask(
        Data(open_table(np.full((400, 2), [3.4, -2.0])).backend), Pure(5.0), Adjacency.REPLACE_ONE
    )
    assert play(ask, Pure(5.0), [3.0, -2.0], grid) in ([3.5, -2.0], [3.0, -2.0])


# --- budget


def test_all_of_the_budget_is_spent_and_the_answers_replay(monkeypatch):
    asks = []

    class Watched(Ask):
        def __init__(self, *arguments, **named):
            super().__init__(*arguments, **named)
            asks.append(self)

    monkeypatch.setattr("tametail.paper._opened.Ask", Watched)
    X = student(3, 500, 2)
    estimate = tt.paper.mean_tournament(X, Pure(1.0), **NUMBERS)
    assert fits(asks[0].spent, Pure(1.0))
    assert asks[0].spent.epsilon == pytest.approx(1.0)
    monkeypatch.setattr(
        "tametail.paper._opened.Data", lambda data: Replay(asks[0].answers, data.relation)
    )
    assert np.array_equal(tt.paper.mean_tournament(X * 0, Pure(1.0), **NUMBERS), estimate)


# --- any data


AWKWARD = {
    "nothing": np.empty((0, 2)),
    "one row": np.ones((1, 2)),
    "three rows": np.ones((3, 2)),
    "all missing": np.full((40, 2), np.nan),
    "infinities": np.full((41, 2), np.inf),
    "largest doubles": np.full((40, 2), -1.7e308),
    "mixed": np.array([[math.nan, math.inf], [-math.inf, 1e308], [5e-324, -0.0]] * 9),
    "text": np.array([["x", None], [1, 2.5], [True, "y"]] * 9, dtype=object),
    "frame": pd.DataFrame({"a": [1.0, np.nan] * 9, "b": [2, 3] * 9}),
    "list": [[1, 2], [None, None], (2, 3), ["text", 3]],
}


@pytest.mark.parametrize("X", AWKWARD.values(), ids=AWKWARD)
def test_no_data_make_it_fail(X):
    estimate = tt.paper.mean_tournament(X, Pure(1.0), **NUMBERS)
    assert type(estimate) is np.ndarray
    assert estimate.shape == (2,)
    assert np.isfinite(estimate).all()


# --- mistakes


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"X": np.zeros((9, 4))},
            r"have 4 columns.*10\^5\.4 points and 10\^10\.9 pairs.*at most 3",
        ),
        ({"X": np.zeros((9, 500))}, "have 500 columns.*mean_ball"),
        ({"X": np.zeros(9)}, "Pass a matrix with one row per record"),
        ({"budget": Zcdp(0.5)}, r"write pure\(epsilon\), or mean_ball"),
        ({"budget": Approx(1.0, 1e-6)}, r"write pure\(epsilon\), or mean_ball"),
        ({"budget": Pure(1e-30)}, "too small for any noise that fits: write a larger one"),
        ({"alpha": -1}, "Invalid alpha=-1"),
        ({"alpha": 1e-300}, "doubles cannot hold: write an alpha closer to the scale"),
        ({"alpha": 1e-8}, "too wide for the step .* of the grid: write a larger alpha"),
        ({"beta": 1}, "Invalid beta=1"),
        ({"k": 1.9}, "k=1.9 is not known in many dimensions"),
        ({"R": -2}, "R=-2 is not positive"),
        ({"R": math.inf}, "R=inf needs a budget with a delta"),
        ({"scale": 0}, "Invalid scale=0"),
        ({"constants": "loose"}, "Invalid constants='loose'"),
    ],
)
def test_mistakes_are_named(changes, message):
    arguments = {"X": np.zeros((9, 2)), "budget": Pure(1.0), **NUMBERS, **changes}
    with pytest.raises((ParameterError, ColumnError), match=message):
        tt.paper.mean_tournament(**arguments)


@pytest.mark.parametrize("alpha", [1e-200, 1e-18])
def test_a_grid_too_fine_for_64_bits_is_refused(alpha):
    with pytest.raises(ParameterError, match="write a larger alpha"):
        error(np.zeros((30, 2)), Pure(1.0), alpha=alpha, k=300)


def test_an_alpha_far_beyond_the_scale_is_allowed():
    assert error(np.zeros((30, 2)), Pure(1.0), alpha=1e100) <= 1e101
