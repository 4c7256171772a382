"""No data can make a release fail, warn, or leave the finite numbers.

Warnings are errors in this test suite, so a passing test has not warned either.
"""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tametail as tt
from tametail.errors import TametailError

INF, NAN = math.inf, math.nan
LARGEST = np.finfo(float).max

HARD = {
    "empty": [],
    "one": [5.0],
    "one missing": [NAN],
    "missing": [NAN, None] * 50,
    "infinities": [INF] * 300 + [-INF] * 200,
    "one infinity": [INF] * 3000,
    "equal": [7.25] * 2000,
    "zeros": [0.0] * 1900 + [3.0, 5.0, 1e6, 80.0] * 25,
    "two values": [1.0, 9.0] * 1000,
    "1e308": [1e308] * 1000 + [-1e308] * 900,
    "largest": [LARGEST] * 2000,
    "both largest": [LARGEST, -LARGEST] * 1000,
    "minus zero": [-0.0] * 500,
    "subnormal": [5e-324] * 1000 + [1e-310] * 999,
    "words": ["a", "1", ""] * 20,
    "objects": [object(), {}, set, 1j] * 10,
    "nested": [3, [1, 2], [3], []],
    "rows": [[1, 2], [3], [], 7, None, "1", [[1], 2]] * 30,
    "huge integers": [10**400, -(10**400), 3] * 200,
    "decimals": [Decimal("1.5"), Decimal("NaN"), Decimal("sNaN"), Decimal("1e999999")] * 200,
    "fractions": [Fraction(1, 3)] * 300,
    "mixed": [1, 2.5, None, "x", NAN, INF, True, [2], 1e308, -0.0, 5e-324] * 50,
    "far": np.random.default_rng(1).normal(1e16, 1, 2000),
    "tiny": np.random.default_rng(1).normal(0, 1e-300, 2000),
    "wide": np.random.default_rng(1).lognormal(0, 50, 2000),
}
UNITS = ["add-remove", "replace-one"]
TAILS = [None, tt.Moment(2, 3), tt.Moment(1.01, 1e60), tt.Moment(100, 1e-60), tt.Bounded(0, 1)]
WITHIN = [None, 1e6, (0, INF), (-INF, 3), (0.5, 0.75), 5e-324, LARGEST]
BUDGETS = [{"epsilon": 1}, {"rho": 0.5}, {"epsilon": 1, "delta": 1e-6}]
EXTREME = [{"epsilon": e} for e in (1e-6, 1e-3, 1e3, 1e6)] + [{"rho": r} for r in (1e-12, 1e11)]


def check(release):
    for mean, (low, high) in zip(release, release.plan.answer_ranges, strict=True):
        assert math.isfinite(mean.value)
        assert low <= mean.value <= high
        if mean.low is not None:
            assert mean.low <= mean.value <= mean.high
            # What within= says cuts the interval, unless nothing would be left of it.
            assert low <= mean.low <= mean.high <= high or any(
                note.code in ("at-range-limit", "assumption-contradicted") for note in release.notes
            )
            assert mean.low < mean.high or release.plan.tails != (None,)
            assert not any(math.isnan(size or 0.0) for size in mean.error_components.values())
        assert not any(map(math.isnan, mean.clip or ()))
    assert tt.replay(release.plan, release.answers) == release


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("name", HARD)
def test_hard_data(name, budget, adjacency):
    check(tt.mean(HARD[name], neighbors=adjacency, **budget))


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("tail", TAILS[1:], ids=str)
def test_hard_data_with_knowledge(tail, adjacency):
    for position, data in enumerate(HARD.values()):
        missing = ("skip", "none")[position % 2]
        check(tt.mean(data, epsilon=1, tail=tail, missing=missing, neighbors=adjacency))


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("within", WITHIN, ids=str)
def test_hard_data_within(within, adjacency):
    for name in ("empty", "one", "infinities", "both largest", "mixed", "far", "wide"):
        check(tt.mean(HARD[name], epsilon=1, within=within, neighbors=adjacency, missing="none"))


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("budget", EXTREME, ids=str)
def test_tiny_and_huge_budgets(budget, adjacency):
    for name in ("empty", "equal", "zeros", "1e308", "mixed", "wide"):
        check(tt.mean(HARD[name], neighbors=adjacency, **budget))


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("n", [0, 1, 10**7, 10**15])
def test_any_guess_of_n(n, budget):
    for name in ("empty", "one", "two values", "wide"):
        check(tt.mean(HARD[name], n=n, **budget))


@pytest.mark.parametrize("confidence", [1e-9, 0.5, 1 - 1e-12])
@pytest.mark.parametrize("target", ["population", "data"])
def test_any_confidence(confidence, target):
    for tail in TAILS:
        check(tt.mean(HARD["zeros"], epsilon=1, tail=tail, confidence=confidence, target=target))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": [1.0, None, "word", INF, 10**400] * 100}),
        pd.DataFrame({"x": pd.array([1, None, 3] * 100, dtype="Int64")}),
        pl.DataFrame({"x": [1.5, None, NAN, -INF] * 100}),
        pa.table({"x": pa.array([2**62, None, -5] * 100)}),
    ],
    ids=["pandas objects", "pandas nullable", "polars", "arrow"],
)
def test_frames(frame):
    check(tt.mean(frame, "x", epsilon=1))


def test_a_file_full_of_rubbish(tmp_path):
    file = tmp_path / "rubbish.csv"
    file.write_text('a,b\n1,2\nN/A,inf\n,,,\n1e999,x\n"unclosed,3\n', encoding="utf-8")
    check(tt.mean(file, "b", epsilon=1))


def test_no_exception_says_anything_of_the_data():
    """The same mistake on different data gives the same words."""
    said = set()
    for data in (HARD["one"], HARD["mixed"], HARD["words"]):
        with pytest.raises(TametailError) as caught:
            tt.mean(pd.DataFrame({"x": data}), "y", epsilon=1)
        said.add(str(caught.value))
    assert len(said) == 1


cells = st.one_of(
    st.floats(allow_subnormal=True),
    st.integers(),
    st.none(),
    st.booleans(),
    st.text(max_size=3),
    st.decimals(allow_nan=True),
    st.sampled_from([0.0, -0.0, 1.0, 5e-324, LARGEST, -LARGEST, INF, -INF, 10**400]),
)


@settings(max_examples=100)
@given(
    data=st.lists(cells, max_size=20),
    copies=st.sampled_from([1, 7, 300]),
    budget=st.sampled_from(BUDGETS) | st.floats(1e-6, 1e6).map(lambda e: {"epsilon": e}),
    tail=st.none()
    | st.builds(tt.Moment, st.floats(1.001, 100), st.floats(1e-60, 1e60))
    | st.tuples(st.floats(-1e9, 0), st.floats(1, 1e9)).map(lambda ends: tt.Bounded(*ends)),
    within=st.none()
    | st.floats(1, INF)
    | st.tuples(st.floats(-INF, 0), st.floats(0.5, INF)),
    neighbors=st.sampled_from(UNITS),
    missing=st.sampled_from(["skip", "none"]),
    n=st.none() | st.integers(0, 10**9),
    confidence=st.none() | st.floats(0.01, 0.999),
    target=st.sampled_from(["population", "data"]),
)  # fmt: skip
def test_anything(data, copies, budget, **request):
    check(tt.mean(data * copies, **budget, **request))


@pytest.mark.parametrize("scale", [1e17, 1e59])
def test_large_moments_and_centers_far_away_raise_nothing(scale):
    """Once a power overflowed, and a center beyond 1e60 was refused like a caller's bound."""
    tail = tt.Moment(18, scale)
    for data in ([], [1e62] * 60, [-1e300] * 60, [LARGEST] * 60):
        for request in ({"epsilon": 0.3}, {"epsilon": 339.0}, {"rho": 0.5, "within": LARGEST}):
            check(tt.mean(data, tail=tail, **request))
