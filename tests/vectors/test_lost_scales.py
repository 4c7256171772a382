"""The private scale of a column hardly ever lies beyond all of its cells.

Nothing is drawn: the chance follows from the counts and the law of the choice. Before the scores of
decision 0202 it was 3e-6 to 3e-5 for each of these tables, and 1e-3 to 4e-3 where numbers are tiny.
"""

import numpy as np
import pytest

from tametail.mechanisms.ranks import _scores
from tametail.methods.joint.budget_split import shares
from tametail.methods.joint.estimate import _common_query
from tametail.methods.joint.weigh import HALF_OCTAVES, UNLIKE, read_scales, scale_query
from tametail.privacy.budget import zcdp
from tametail.privacy.choices import choice_rate

from ..opened import open_table  # noqa: TID252

#: A scale so many times the farthest cell is lost; nearer ones cost accuracy and no more.
FAR = 32.0

SCALES = read_scales(tuple(range(len(HALF_OCTAVES) + 1)))


def sparse(draw, part):
    return lambda rng, shape: np.where(rng.random(shape) < part, draw(rng, shape), 0.0)


LAWS = {
    "normal": lambda rng, shape: rng.normal(37, 2, shape),
    "t(3), tiny": lambda rng, shape: 1e-6 * rng.standard_t(3, shape),
    "lognormal 2, large": lambda rng, shape: 1e6 * rng.lognormal(0, 2, shape),
    "Pareto 1": lambda rng, shape: rng.pareto(1, shape),
    "constant": lambda rng, shape: np.zeros(shape),
    "a tenth lognormal": sparse(lambda rng, shape: 300 * rng.lognormal(0, 1.5, shape), 0.1),
    "a tenth exponential": sparse(lambda rng, shape: rng.exponential(100, shape), 0.1),
    "Poisson 0.1": lambda rng, shape: rng.poisson(0.1, shape).astype(np.float64),
}


#: Base masses are largest around 1: far from there noise has more to choose from. A constant column
#: has a cell nowhere, so that every scale counts as lost.
MOST = dict.fromkeys(LAWS, 2e-8) | {"t(3), tiny": 5e-6, "constant": 5e-7}


def chances(query, cost, rows):
    """Return the chance of every candidate, a line for each list of counts."""
    scores = _scores(np.array(open_table(rows).answer(query)), query)
    weights = np.log(np.array(query.weights, dtype=np.float64))
    exponents = weights + float(choice_rate(cost, query.choices)) * scores
    parts = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    return parts / parts.sum(axis=1, keepdims=True)


def lost(query, cost, rows):
    """Return the chance that any scale is lost."""
    farthest = np.abs(rows - np.array(query.centers)).max(axis=0)
    farthest = np.array([farthest.max()]) if query.by_row else farthest
    too_large = FAR * np.maximum(farthest, HALF_OCTAVES[0])[:, None] < SCALES
    return float((chances(query, cost, rows) * too_large).sum())


@pytest.mark.parametrize("law", list(LAWS))
@pytest.mark.parametrize("n_columns", [3, 8])
@pytest.mark.parametrize("rho", [0.1, 0.5])
def test_scales_are_not_lost(law, n_columns, rho):
    rows = LAWS[law](np.random.default_rng(20), (10_000, n_columns))
    parts = shares(zcdp(rho), 10_000, n_columns, scale_known=False, ranges_known=False)
    cost = zcdp(rho * parts["scale"])
    assert lost(scale_query(cost, np.median(rows, axis=0), 10_000), cost, rows) < MOST[law]


def test_a_common_scale_is_not_lost():
    for law, draw in LAWS.items():
        rows = draw(np.random.default_rng(21), (1_000, 4))
        cost = zcdp(0.02)
        assert lost(_common_query(np.median(rows, axis=0), cost, 1_000), cost, rows) < MOST[law], (
            law
        )


@pytest.mark.parametrize(
    ("part", "most"),
    [(0.2, 2e-8), (0.5, 2e-8), (0.8, 1e-6), (1.0, 5e-6), (1.2, 5e-6), (1.5, 1e-7), (2.0, 1e-9)],
)
def test_even_next_to_where_columns_are_seen_scales_are_rarely_lost(part, most):
    """Columns with this part of the target away from 0, from a few to clearly seen."""
    cost, size = zcdp(0.02), 10_000
    query = scale_query(cost, np.zeros(8), size)
    rows = np.zeros((size, 8))
    rows[: round(part * query.target)] = 300 * np.random.default_rng(22).exponential(size=8)
    assert lost(query, cost, rows) < most


def test_columns_are_still_seen_where_they_were():
    """With as many cells as the target in most releases, with a fourth more in next to all."""
    cost, size = zcdp(0.02), 10_000
    query = scale_query(cost, np.zeros(1), size)
    rows = np.zeros((size, 1))
    for part, least, most in ((0.75, 0.0, 0.01), (1.0, 0.2, 0.8), (1.25, 0.99, 1.0)):
        rows[: round(part * query.target)] = 40.0
        assert least <= 1 - chances(query, cost, rows)[0, 0] <= most


@pytest.mark.parametrize("part", [0.2, 0.5, 0.8, 1.0, 1.2, 1.5, 2.0])
@pytest.mark.parametrize(("usual", "most"), [(40.0, 3e-6), (300.0, 3e-5), (1e6, 3e-4)])
def test_a_second_look_next_to_others_is_as_safe(part, usual, most):
    """Fewer records suffice, and scales far beyond those of others weigh less.

    Where others are ten thousand times as large that says little.
    """
    cost, size = zcdp(0.02), 10_000
    some = np.arange(3)
    first = scale_query(cost, np.zeros(3), size, some)
    query = scale_query(cost, np.zeros(3), size, some, usual)
    assert query.target < 0.75 * first.target
    rows = np.zeros((size, 3))
    rows[: round(part * query.target)] = 300 * np.random.default_rng(22).exponential(size=3)
    assert lost(query, cost, rows) < most


def test_a_second_look_weighs_likely_scales_as_before():
    cost = zcdp(0.02)
    first, again = (scale_query(cost, np.zeros(1), 10_000, np.arange(1), x) for x in (0.0, 1.0))
    same = [one == other for one, other in zip(first.weights, again.weights, strict=True)]
    assert same == [scale <= UNLIKE for scale in (0.0, *HALF_OCTAVES)]
    assert min(again.weights) > 0
