"""One sum for columns that were looked at one by one: what it costs, when it pays, and its bias."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tametail as tt
from tametail.ask import Ask
from tametail.data.kernels.plain import into_ball
from tametail.methods.joint_sum import pool as pools
from tametail.methods.joint_sum.pool import LEAST_COLUMNS, radius_share
from tametail.planning import Plan
from tametail.planning.table import JOINT_SUM, SEPARATE
from tametail.privacy.choices import choice_rate
from tametail.queries.column import DistanceSum
from tametail.queries.rows import BallLevels, BallSum

from ..opened import open_table  # noqa: TID252

RNG = np.random.default_rng(11)
DIM = 10
SCALES = 10.0 ** np.arange(-3, 7)
INDEPENDENT = RNG.exponential(size=(20_000, DIM)) * SCALES
ALIKE = (RNG.random((20_000, 1)) < 0.4) * RNG.uniform(0.9, 1.0, size=(20_000, DIM)) * SCALES
UNITS = pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])


def questions(monkeypatch, rows, **request):
    """Return a release and all that was asked for it, with its cost."""
    asked, ask = [], Ask.__call__

    def listen(self, query, cost):
        asked.append((query, cost))
        return ask(self, query, cost)

    monkeypatch.setattr(Ask, "__call__", listen)
    return tt.mean(rows, **request), asked


def sums_of(asked):
    return [query for query, _ in asked if isinstance(query, BallSum)]


def pooled(monkeypatch, rows, **request):
    """Return a release with one sum: now and then a radius is drawn that does not pay."""
    for _ in range(9):
        release, asked = questions(monkeypatch, rows, **request)
        monkeypatch.undo()
        if sums_of(asked):
            return release, asked
    raise AssertionError("nine releases without one sum")


@UNITS
@pytest.mark.parametrize("missing", ["none", "skip"])
@pytest.mark.parametrize("confidence", [None, 0.95])
def test_one_sum_finds_every_mean(monkeypatch, adjacency, missing, confidence):
    rows, truth = INDEPENDENT.copy(), INDEPENDENT.mean(axis=0)
    if missing == "skip":
        rows[RNG.random(rows.shape) < 0.2] = math.nan
        truth = np.nanmean(rows, axis=0)
    request = {"neighbors": adjacency, "missing": missing, "confidence": confidence, "n": len(rows)}
    if adjacency == "replace-one":
        del request["n"]
    release, asked = pooled(monkeypatch, rows, epsilon=0.8, **request)
    assert release.method == JOINT_SUM.name
    assert len(sums_of(asked)) == 1
    assert np.abs(release.value / truth - 1).max() < 0.1
    assert tt.replay(release.plan, release.answers) == release
    if confidence is not None:
        assert ((release.low < truth) & (truth < release.high)).all()
    one = tt.mean(rows, epsilon=80, **request)  # noise is next to nothing beside sampling
    assert len(one.answers) > len(release.answers)


@pytest.mark.parametrize("rows", [INDEPENDENT, ALIKE, INDEPENDENT * [0, 0, 0, *[1] * 7]])
@UNITS
@pytest.mark.parametrize("epsilon", [0.3, 7.3])
def test_every_way_stays_within_the_budget(monkeypatch, rows, adjacency, epsilon):
    """In exact arithmetic, whichever questions the answers lead to."""
    for _ in range(3):
        _, asked = questions(monkeypatch, rows, epsilon=epsilon, neighbors=adjacency)
        spent = sum(Fraction(cost.epsilon) for _, cost in asked)
        assert spent <= Fraction(epsilon)
        monkeypatch.undo()


def pool_of(monkeypatch, rows, **request):
    """Return the pool of a release, and the sum that it asked for."""
    seen, pays = [], pools.Pool.pays

    def listen(self, query):
        seen.append((self, query))
        return pays(self, query)

    monkeypatch.setattr(pools.Pool, "pays", listen)
    tt.mean(rows, **request)
    ((pool, query),) = seen
    return pool, query


def test_rows_that_are_long_in_all_columns_are_summed_apart(monkeypatch):
    """A ball that holds a row at all clip points has no less noise than columns apart."""
    pool, _ = pool_of(monkeypatch, INDEPENDENT, epsilon=0.8, neighbors="replace-one")
    assert pool.pays(pool.sum_query(len(pool.ball.radii) // 2))
    assert not pool.pays(pool.sum_query(len(pool.ball.radii) - 1))
    monkeypatch.setattr(pools.Pool, "pays", lambda self, query: False)
    release, asked = questions(monkeypatch, INDEPENDENT, epsilon=0.8)
    assert not sums_of(asked)
    assert sum(isinstance(query, DistanceSum) for query, _ in asked) == DIM
    assert np.abs(release.value / INDEPENDENT.mean(axis=0) - 1).max() < 0.1
    assert sum(Fraction(cost.epsilon) for _, cost in asked) <= Fraction(0.8)


def test_columns_of_which_nothing_is_seen_do_not_take_part(monkeypatch):
    rows = INDEPENDENT * [*[0] * (DIM - LEAST_COLUMNS), *[1] * LEAST_COLUMNS]
    release, asked = pooled(monkeypatch, rows, epsilon=0.8)
    (query,) = sums_of(asked)
    assert query.ball.live == LEAST_COLUMNS
    assert (release.value[: DIM - LEAST_COLUMNS] == 0).all()
    rows[:, -1] = 5.0  # one fewer is too few: not even the radius is asked for
    _, asked = questions(monkeypatch, rows, epsilon=5)
    assert not any(isinstance(query, BallLevels | BallSum) for query, _ in asked)


@pytest.mark.parametrize(("n_columns", "most"), [(LEAST_COLUMNS, 0.85), (DIM, 0.7)])
def test_less_noise_than_columns_apart(monkeypatch, n_columns, most):
    """The laws of both noises are public: compare them, not draws of them."""
    found = []
    for _ in range(7):
        pool, query = pool_of(
            monkeypatch,
            INDEPENDENT[:, :n_columns],
            epsilon=n_columns / 2,
            neighbors="replace-one",
            confidence=None,
        )
        monkeypatch.undo()
        ratios = []
        for place, look in pool.looks.items():
            width = pool.lattices[place].value(pool.lattices[place].width)
            whole = look.rest.cost("sum").epsilon / (
                1 - radius_share(n_columns)
            )  # had it been alone
            together = 2 * query.radius / query.ball.inverse_ticks[place] / pool.cost.epsilon
            ratios.append(together * whole / width)
        found.append(math.exp(np.mean(np.log(ratios))))
    assert sorted(found)[1] < most  # a radius that does not pay is drawn now and then


@given(
    rows=st.lists(st.lists(st.integers(-40, 100), min_size=4, max_size=4), min_size=1, max_size=20),
    radius=st.integers(60, 400),
)
def test_shrinking_rows_moves_no_mean_farther_than_is_allowed_for(rows, radius):
    """So many rows, times 1 - radius / longest row, times the farther clip point, and a tick."""
    ticks = np.array(rows, dtype=np.float64)
    cut = int((np.abs(ticks).sum(axis=1) > radius).sum())
    moved = np.abs(into_ball(ticks, radius, 1) - ticks).sum(axis=0)
    assert (moved <= cut * ((1 - radius / 400) * 100 + 1 + 1e-6)).all()


def test_as_many_rows_as_are_allowed_for_are_cut(monkeypatch):
    """By the law of the choice: fifty rows at all clip points, and all others far within."""
    rows = np.vstack([RNG.uniform(0.8, 1, size=(50, DIM)) * 20, INDEPENDENT / SCALES])
    beyond = []
    for _ in range(3):
        pool, _ = pool_of(monkeypatch, rows, epsilon=5, neighbors="replace-one")
        monkeypatch.undo()
        cost = tt.pure(pool.cost.epsilon * radius_share(DIM) / (1 - radius_share(DIM)))
        query, rate = pool.level_query(cost), float(choice_rate(cost, 1))
        (counts,) = open_table(rows).answer(query)
        allowed = (
            pools.FEW_ROWS
            + pools.MORE_ROWS
            - np.log(pool.ball.radii)
            + math.log(pool.ball.radii[-1])
        )
        passed = np.concatenate([[len(rows)], counts[:-1]])
        scores = np.minimum(0, np.minimum(passed - query.target, query.target - counts))
        masses = np.array(query.weights[:-1]) * np.exp(rate * scores)
        beyond.append(masses[counts > allowed / rate].sum() / masses.sum())
    assert max(beyond) < 0.2


def test_no_size_of_numbers_makes_it_fail():
    for scale in (5e-324, 1e-300, 1e-160, 1e160, 1e300):
        rows = INDEPENDENT[:2_000].copy()
        rows[:, 3] *= scale
        release = tt.mean(rows, epsilon=5)
        assert np.isfinite(release.value).all()
    release = tt.mean(np.full((500, DIM), math.inf), epsilon=5)
    assert np.isfinite(release.value).all()


def test_old_plans_are_followed():
    """A plan of columns apart is one still, and so is what was released by it."""
    usual = tt.plan(n=20_000, epsilon=5, n_columns=DIM, neighbors="replace-one")
    steps = SEPARATE.divide(usual.request, 20_000, usual.budget)
    release = tt.mean(INDEPENDENT, plan=Plan(usual.request, 20_000, SEPARATE.name, steps))
    assert release.method == SEPARATE.name
    assert tt.replay(release.plan, release.answers) == release
