"""PDPODME, CDPODME and ADPODME: one record moves one statistic; blocks, noise and median."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tametail as tt
from tametail.ask import Ask, Data, Replay
from tametail.errors import ColumnError, ParameterError
from tametail.paper import mean_1d
from tametail.paper.univariate import mean_estimator
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Approx, Pure, Zcdp
from tametail.queries.column import Buckets, ClippedSum
from tametail.theory.means import one_block

from ..opened import Opened, open_table  # noqa: TID252
from .test_range import BAD_DATA, BUDGETS

R, RADIUS = 100.0, 4.0


class Probe:
    """Keeps the exact answer of every part, and answers by a script that data do not touch."""

    def __init__(self, opened, keys=(0,), log=None):
        self.opened, self.keys = opened, keys
        self.log = [] if log is None else log

    @property
    def relation(self):
        return self.opened.relation

    def prepare(self, query, cost, adjacency):
        return self.respond, lambda answer: answer

    def respond(self, query):
        self.log.append((self.relation.span, query, self.opened.answer(query)))
        chosen = self.keys[len(self.log) % len(self.keys)]
        return chosen if isinstance(query, Buckets) else (0,)

    def on(self, relation):
        return Probe(Opened(self.opened.backend.on(relation)), self.keys, self.log)


def statistics(records, blocks, keys=(0,), budget=BUDGETS[0], locating=None):
    """Return all exact block statistics of an estimate: (rows, query, answer)."""
    probe = Probe(open_table(records), keys)
    ask = Ask(probe, budget, Adjacency.REPLACE_ONE)
    mean_estimator(
        ask, budget, size=len(records), blocks=blocks, radius=RADIUS, R=R, locating=locating
    )
    return probe.log


def estimate(records, budget, blocks):
    """Return the estimate with real noise, the ask that it used and its answers."""
    ask = Ask(Data(open_table(records).backend), budget, Adjacency.REPLACE_ONE)
    value = mean_estimator(ask, budget, size=len(records), blocks=blocks, radius=RADIUS, R=R)
    return value, ask


RECORD = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([None, 0.0, -0.0, 8.0, math.nextafter(8.0, 0), -8.0, 1e308, 5e-324]),
)
BLOCKS = st.sampled_from([1, 3, 5, 9])


# --- privacy of the parts


@given(st.lists(RECORD, min_size=1, max_size=40), BLOCKS, st.data())
def test_one_changed_record_moves_at_most_one_statistic(records, blocks, data):
    """Sorted or not, n odd, n below m or not a multiple of it."""
    if data.draw(st.booleans()):
        records.sort(key=lambda x: -math.inf if x is None or math.isnan(x) else x)
    place = data.draw(st.integers(0, len(records) - 1))
    changed = [*records[:place], data.draw(RECORD), *records[place + 1 :]]
    keys = data.draw(st.lists(st.integers(-13, 12), min_size=1, max_size=5))
    before, after = (statistics(x, blocks, keys) for x in (records, changed))

    assert [(span, query) for span, query, _ in before] == [
        (span, query) for span, query, _ in after
    ]
    moved = [
        (span, query, old, new)
        for (span, query, old), (_, _, new) in zip(before, after, strict=True)
        if old != new
    ]
    assert len(moved) <= 1
    for (start, stop), query, old, new in moved:
        assert start <= place < stop
        sensitivity = query.sensitivity(Adjacency.REPLACE_ONE)
        if isinstance(query, Buckets):
            distance = sum(abs(old.get(key, 0) - new.get(key, 0)) for key in {*old, *new})
        else:
            distance = abs(old[0] - new[0])
        assert distance <= sensitivity.l1


@given(st.integers(0, 200), BLOCKS)
def test_parts_are_disjoint_equal_and_in_order(size, blocks):
    """Blocks of n // m records of a half; what does not divide is left out, at each half's end."""
    half = size // 2
    spans = [span for span, _, _ in statistics([0.0] * size, blocks)]
    # Fewer records than blocks: an odd number of blocks that are not empty, or one.
    used = min(blocks, max(half if half % 2 else half - 1, 1))
    per_block = half // used
    assert len(spans) == 2 * used
    for offset, group in ((0, spans[0::2]), (half, spans[1::2])):
        assert group == [
            (offset + i * per_block, offset + (i + 1) * per_block) for i in range(used)
        ]
    ordered = sorted(span for span in spans if span[0] < span[1])
    assert all(left[1] <= right[0] for left, right in pairwise(ordered))


@given(st.integers(0, 200), st.floats(0, 1))
def test_one_block_has_all_records_that_do_not_find_its_range(size, share):
    locating = int(share * size)
    spans = [span for span, _, _ in statistics([0.0] * size, 1, locating=locating)]
    assert spans == [(0, locating), (locating, size)]


def test_both_steps_use_the_full_budget_on_their_own_records():
    for budget in BUDGETS:
        log = statistics([0.0] * 60, 3, budget=budget)
        assert [type(query) for _, query, _ in log] == [Buckets, ClippedSum] * 3
        _, ask = estimate([0.0] * 60, budget, 3)
        assert ask.spent == budget


def test_the_clip_width_is_public():
    """6r wherever the range is: never the difference of two floats, and never 0."""
    for keys in ([0], [10], [-13]):
        for _, query, _ in statistics([0.0] * 6, 1, keys):
            if isinstance(query, ClippedSum):
                lattice = query.lattice
                assert lattice.width * lattice.tick == 6 * RADIUS
                assert lattice.low * lattice.tick == 8 * keys[0] - 8


def test_a_range_far_from_zero_keeps_its_width():
    """Where r is below the last digit of the center, the ends as floats would be one number."""
    probe = Probe(open_table([0.0] * 6), [10**280])
    ask = Ask(probe, Pure(1.0), Adjacency.REPLACE_ONE)
    mean_estimator(ask, Pure(1.0), size=6, blocks=1, radius=RADIUS, R=1e300)
    (lattice,) = [query.lattice for _, query, _ in probe.log if isinstance(query, ClippedSum)]
    assert lattice.value(lattice.center) > 1e280
    assert lattice.width * lattice.tick >= 6 * RADIUS


# --- the estimate


@pytest.mark.parametrize("size", [600, 601, 607, 1199])
def test_a_block_mean_divides_by_the_block_and_not_by_n(size):
    """As printed, the paper's algorithm would estimate mu / m."""
    value, _ = estimate([5.0] * size, Pure(1e5), blocks=3)
    assert value == pytest.approx(5.0, abs=0.01)


def test_the_median_is_taken_of_noisy_means():
    answers = [0, (10,), 0, (-10,), 0, (10**6,)]
    ask = Ask(Replay(answers), Pure(1.0), Adjacency.REPLACE_ONE)
    value = mean_estimator(ask, Pure(1.0), size=600, blocks=3, radius=RADIUS, R=R)
    log = statistics([0.0] * 600, 3)
    lattice = log[1][1].lattice
    assert value == lattice.value(lattice.center + 10 / 100)


def test_a_missing_record_counts_as_the_center():
    present, _ = estimate([1.0] * 3000, Pure(1e5), blocks=3)
    missing, _ = estimate([1.0, None, math.nan] * 1000, Pure(1e5), blocks=3)
    assert present == pytest.approx(1.0, abs=0.01)
    assert missing == pytest.approx((1.0 + 2 * 4.0) / 3, abs=0.02)  # the bucket [0, 8)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_a_replay_reproduces_the_estimate_bit_for_bit(budget):
    records = np.random.default_rng(1).standard_t(3, 500).tolist()
    value, ask = estimate(records, budget, blocks=5)
    replayed = Ask(Replay(ask.answers), budget, Adjacency.REPLACE_ONE)
    again = mean_estimator(replayed, budget, size=len(records), blocks=5, radius=RADIUS, R=R)
    assert again.hex() == value.hex()
    assert (replayed.answers, replayed.spent) == (ask.answers, ask.spent)


@pytest.mark.parametrize("constants", ["tight", "paper", "one-block"])
@pytest.mark.parametrize("budget", [Pure(50.0), Zcdp(1000.0), Approx(50.0, 1e-6)], ids=str)
def test_heavy_data_far_from_zero(budget, constants):
    x = 54_321 + 2 * np.random.default_rng(2).standard_t(3, 200_000)
    value = mean_1d(x, budget, alpha=1.0, beta=0.05, k=2, R=1e9, scale=4.0, constants=constants)
    assert value == pytest.approx(54_321, abs=1.0)


@pytest.mark.parametrize("constants", ["tight", "one-block"])
def test_an_infinite_bound_with_approximate_privacy(constants):
    given = {"alpha": 0.5, "beta": 0.05, "k": 2, "R": math.inf, "constants": constants}
    for place in (1e12, 1.7e308):
        value = mean_1d(np.full(20_000, place), tt.approx(1.0, 1e-6), **given)
        assert value == pytest.approx(place, rel=1e-9, abs=0.5)


def test_blocks_beyond_the_number_of_records_cost_nothing():
    value, ask = estimate([1.0] * 10, Pure(1.0), blocks=10**9 + 1)
    assert math.isfinite(value)
    assert len(ask.answers) == 10


@pytest.mark.parametrize("constants", ["tight", "one-block"])
@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: type(budget).__name__)
@pytest.mark.parametrize("name", BAD_DATA)
def test_no_data_make_it_fail(name, budget, constants):
    given = {"alpha": 0.5, "beta": 0.4, "k": 2, "R": 1e6, "constants": constants}
    assert math.isfinite(mean_1d(BAD_DATA[name], budget, **given))


@pytest.mark.parametrize("size", [4, 100, 10_000])
def test_one_block_of_few_records_shares_them_out_as_one_of_many(monkeypatch, size):
    found = {}

    def watch(ask, budget, **settings):
        found.update(settings)
        return 0.0

    monkeypatch.setattr("tametail.paper.mean_estimator", watch)
    given = {"alpha": 0.1, "beta": 0.05, "k": 2, "R": 1e3, "constants": "one-block"}
    mean_1d([1.0] * size, Pure(1.0), **given)
    plan = one_block(0.1, 0.05, 2, 1e3, Pure(1.0))
    assert found["blocks"] == 1
    assert found["margin"] == plan.margin
    if size >= plan.records:
        assert found["locating"] == plan.locating
    else:
        assert found["locating"] == size * plan.locating // plan.records


# --- mistakes; those of range_estimate are shared and tested there


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"beta": 0}, r"Invalid beta=0\. It must be between 0 and 1\."),
        ({"beta": 1.0}, "Invalid beta=1.0"),
        ({"beta": -0.1}, "Invalid beta=-0.1"),
        ({"beta": math.nan}, "Invalid beta=nan"),
        ({"beta": "high"}, "Invalid beta='high'"),
        ({"alpha": 0}, "Invalid alpha=0"),
        ({"k": 1}, "Expected k=1.0 to be finite and above 1"),
        ({"k": 1.1, "constants": "paper"}, "constants='paper' is for k >= 2.*constants='tight'"),
        ({"alpha": 1e-300, "constants": "one-block"}, "interval that doubles cannot hold"),
        ({"R": 0}, "R=0 is not positive"),
        ({"R": math.inf}, "R=inf needs a budget with a delta"),
        ({"scale": 0}, "Invalid scale=0"),
        ({"constants": "papers"}, "Invalid constants='papers'"),
        ({"budget": "all"}, "Invalid budget='all'"),
    ],
)
def test_a_mistake_is_named_before_the_data_are_looked_at(wrong, message):
    given = {"budget": Pure(1.0), "alpha": 0.1, "beta": 0.1, "k": 2, "R": 10.0} | wrong
    with pytest.raises(ParameterError, match=message):
        mean_1d(object(), **given)


def test_data_that_are_not_a_column_are_refused():
    given = {"alpha": 0.1, "beta": 0.1, "k": 2, "R": 10.0}
    with pytest.raises(ColumnError, match="2 dimensions"):
        mean_1d(np.zeros((4, 4)), Pure(1.0), **given)
    with pytest.raises(ParameterError, match="Unsupported data type float"):
        mean_1d(3.0, Pure(1.0), **given)
