"""PDPRE, CDPRE and ADPRE: buckets as the paper has them, public width, no data that fail."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tametail as tt
from tametail.ask import Ask, Replay
from tametail.errors import ColumnError, ParameterError
from tametail.paper import range_estimate
from tametail.paper.range import Range, range_estimator
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Approx, Pure, Zcdp
from tametail.queries.column import Buckets
from tametail.theory import bucket_count

BUDGETS = (Pure(1.0), Zcdp(0.5), Approx(1.0, 1e-6))
RADIUS = 4.0


class Recorder(Replay):
    """A transcript that also keeps the questions."""

    def __init__(self, *answers):
        super().__init__(answers)
        self.asked = []

    def prepare(self, query, cost, adjacency):
        self.asked.append((query, cost))
        return super().prepare(query, cost, adjacency)


def located(answer, R=1000.0, budget=BUDGETS[0], radius=RADIUS):
    """Run the estimator on one given answer; return the range and what was asked."""
    recorder = Recorder(answer)
    result = range_estimator(
        Ask(recorder, budget, Adjacency.REPLACE_ONE), budget, radius=radius, R=R
    )
    return result, recorder.asked


# --- the algorithm, on given answers


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_one_question_is_asked_at_the_full_budget(budget):
    _, asked = located(0, budget=budget)
    assert asked == [(Buckets(1 / 8, low=-126, high=125), budget)]


@pytest.mark.parametrize("R", [8.1, 16.0, 1000.0, 1e300])
def test_the_buckets_are_those_of_the_theory(R):
    _, [(buckets, _)] = located(0, R=R)
    assert buckets.high - buckets.low + 1 == bucket_count(R, RADIUS)
    # They cover [-R - r, R + r]: wherever the mean is, what lies within r of it is counted.
    width = Fraction(2 * RADIUS)
    assert buckets.low * width <= -Fraction(R) - 4
    assert (buckets.high + 1) * width >= Fraction(R) + 4


def test_with_nothing_to_locate_nothing_is_asked():
    assert located(None, R=8.0) == (Range(0.0, 3 * RADIUS), [])
    assert located(None, R=1.0) == (Range(0.0, 1.0 + RADIUS), [])


@pytest.mark.parametrize("key", [-3, 0, 7])
def test_the_interval_is_the_bucket_and_one_more_on_either_side(key):
    result, _ = located(key)
    assert result.ends == (8.0 * key - 8.0, 8.0 * key + 16.0)


def test_a_margin_of_its_own_takes_the_place_of_one_radius():
    recorder = Recorder(0)
    ask = Ask(recorder, Pure(1.0), Adjacency.REPLACE_ONE)
    found = range_estimator(ask, Pure(1.0), radius=RADIUS, R=1000.0, margin=10.0)
    assert found.ends == (-RADIUS - 10.0, 3 * RADIUS + 10.0)  # the bucket is [0, 8)


def test_no_bucket_above_the_threshold_gives_a_fixed_interval():
    assert located(None, budget=BUDGETS[2])[0] == Range(0.0, 3 * RADIUS)


@pytest.mark.parametrize("key", [125, -126])
def test_the_center_stays_where_the_mean_may_be(key):
    """The mean is in [-R, R], so moving the center there only brings it nearer."""
    assert abs(located(key)[0].center) == 1000.0


def test_without_a_bound_every_double_has_its_bucket():
    result, [(buckets, _)] = located(0, R=math.inf, budget=BUDGETS[2], radius=1e-250)
    assert buckets.low < -(10**560)
    assert buckets.high > 10**560
    assert result == Range(1e-250, pytest.approx(3e-250))


@given(st.integers(-(10**40), 10**40), st.floats(1e-3, 1e3))
def test_the_center_is_the_middle_of_the_bucket_to_a_rounding(key, radius):
    result, _ = located(key, R=1e300, radius=radius)
    middle = Fraction(2 * radius) * (2 * key + 1) / 2
    assert abs(Fraction(result.center) - middle) <= abs(middle) * Fraction(1, 2**53)


# --- the public function


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("R", [1e3, 1e6, 1e300])
@pytest.mark.parametrize("constants", ["tight", "paper"])
def test_a_cluster_is_found(budget, R, constants):
    x = np.full(20_000, 777.7)
    a, b = range_estimate(x, budget, alpha=0.1, k=2, R=R, constants=constants)
    assert a < 777.7 < b
    assert b - a == pytest.approx(600.0 if constants == "paper" else 31.0)


def test_approximate_privacy_needs_no_bound():
    a, b = range_estimate([1e200] * 1000, tt.approx(1.0, 1e-6), alpha=0.1, k=2, R=math.inf)
    assert a == b == pytest.approx(1e200)


def test_the_largest_doubles_are_found_without_a_bound():
    a, b = range_estimate([1.7e308] * 1000, tt.approx(1.0, 1e-6), alpha=0.1, k=2, R=math.inf)
    assert a == b == pytest.approx(1.7e308)


def test_a_scale_is_a_change_of_units():
    a, b = range_estimate([5e6] * 1000, tt.pure(1.0), alpha=1e5, k=2, R=1e9, scale=1e6)
    assert a < 5e6 < b
    assert b - a == pytest.approx(31e6)


BAD_DATA = {
    "empty": [],
    "one record": [3.0],
    "one NaN": [math.nan],
    "None only": [None] * 50,
    "NaN and infinities": [math.nan, math.inf, -math.inf] * 20,
    "all equal": [7.0] * 101,
    "mostly zeros": [0.0] * 95 + [1e6] * 5,
    "largest doubles": [1.7e308, -1.7e308] * 20,
    "near the largest": [1e308] * 51,
    "negative zeros": [-0.0] * 20,
    "subnormals": [5e-324, -5e-324] * 20,
    "cells that are no numbers": ["n/a", object(), [1], {}, b"x", 1 + 2j, 3.0] * 5,
    "huge integers": [10**400, -(10**400), 3] * 5,
    "integers": list(range(37)),
    "booleans": [True, False] * 20,
    "float32 array": np.array([1.0, np.nan, np.inf], dtype=np.float32),
    "object array": np.array([1.0, None, "x", math.inf], dtype=object),
    "masked array": np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0]),
}


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: type(budget).__name__)
@pytest.mark.parametrize("name", BAD_DATA)
def test_no_data_make_it_fail(name, budget):
    a, b = range_estimate(BAD_DATA[name], budget, alpha=0.1, k=2, R=1e6)
    assert math.isfinite(a)
    assert b - a == pytest.approx(31.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"alpha": 0}, r"Invalid alpha=0\. It must be positive\."),
        ({"alpha": -0.1}, "Invalid alpha=-0.1"),
        ({"alpha": math.nan}, "Invalid alpha=nan"),
        ({"alpha": math.inf}, "Invalid alpha=inf"),
        ({"alpha": "small"}, "Invalid alpha='small'"),
        ({"alpha": 1e-300}, "ask for an interval that doubles cannot hold"),
        ({"alpha": 1e300, "scale": 1e-300}, "ask for an interval that doubles cannot hold"),
        ({"k": 1}, "Expected k=1.0 to be finite and above 1"),
        ({"k": 0.5}, "Expected k=0.5"),
        ({"k": 1.5, "constants": "paper"}, "constants='paper' is for k >= 2, as the paper is"),
        ({"constants": "one-block"}, "Invalid constants='one-block'"),
        ({"k": math.inf}, "Expected k=inf"),
        ({"k": math.nan}, "Invalid k=nan"),
        ({"k": 1.0001}, "k=1.0001 and scale=1.0 ask for an interval that doubles cannot hold"),
        ({"R": 0}, r"R=0 is not positive: write R > 0 for a mean in \[-R, R\]\."),
        ({"R": -5.0}, "R=-5.0 is not positive"),
        ({"R": math.nan}, "Invalid R=nan"),
        ({"R": math.inf}, r"R=inf needs a budget with a delta: write approx\(epsilon, delta\)"),
        ({"scale": 0}, "Invalid scale=0"),
        ({"scale": -1}, "Invalid scale=-1"),
        ({"scale": math.inf}, "Invalid scale=inf"),
        ({"constants": "best"}, "Invalid constants='best'. Use constants='tight' or"),
        ({"budget": 1.0}, r"Invalid budget=1.0. Use"),
        ({"budget": None}, "Missing privacy budget"),
        ({"budget": Pure(1e-13)}, "epsilon = 1e-13 .* is too small"),
    ],
)
def test_a_mistake_is_named_before_the_data_are_looked_at(wrong, message):
    given = {"budget": Pure(1.0), "alpha": 0.1, "k": 2, "R": 10.0} | wrong
    with pytest.raises(ParameterError, match=message):
        range_estimate(object(), **given)


def test_concentrated_privacy_needs_a_bound():
    with pytest.raises(ParameterError, match="R=inf needs a budget with a delta"):
        range_estimate([1.0], tt.zcdp(0.5), alpha=0.1, k=2, R=math.inf)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tt.pure(-1), "Invalid epsilon=-1. It must be positive"),
        (lambda: tt.pure(0), "Invalid epsilon=0"),
        (lambda: tt.pure(math.nan), "Invalid epsilon=nan"),
        (lambda: tt.pure(math.inf), "Invalid epsilon=inf"),
        (lambda: tt.zcdp(-0.5), "Invalid rho=-0.5"),
        (lambda: tt.zcdp(0), "Invalid rho=0"),
        (lambda: tt.approx(1.0, 1.0), "Invalid delta=1.0"),
        (lambda: tt.approx(1.0, 2), "Invalid delta=2"),
        (lambda: tt.approx(1.0, 0), "delta=0 means pure differential privacy"),
        (lambda: tt.approx(1.0, math.nan), "Invalid delta=nan"),
    ],
)
def test_a_budget_that_is_none_is_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


@pytest.mark.parametrize("data", [3.0, None, {1.0, 2.0}, {"a": 1.0}, b"123"])
def test_what_is_no_sequence_is_refused(data):
    with pytest.raises(ParameterError, match=r"Pass a list or an array|arrays or lists"):
        range_estimate(data, tt.pure(1.0), alpha=0.1, k=2, R=10.0)


def test_a_matrix_or_a_text_column_is_refused():
    with pytest.raises(ColumnError, match=r"2 dimensions\. Pass one column"):
        range_estimate(np.zeros((3, 2)), tt.pure(1.0), alpha=0.1, k=2, R=10.0)
    with pytest.raises(ColumnError, match=r"is not numeric|data are text"):
        range_estimate(np.array(["a", "b"]), tt.pure(1.0), alpha=0.1, k=2, R=10.0)
