"""A meter of privacy loss: what a release gives away about two neighbors, at most.

Every question that an estimator asks is put to both neighbors. From the two exact answers and the
noise that the mechanism really has (its own arguments, not what the query says about itself)
follows the most that any answer can tell the neighbors apart. These losses are added up and
compared with what is stated. No draws are needed, so one run of an estimator shows what an audit by
sampling would need millions for; but only for the questions that this run came to ask.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

import numpy as np

from tametail.data.relation import Relation
from tametail.doubles import to_key
from tametail.mechanisms.dispatch import mechanism_for
from tametail.mechanisms.groups import key_threshold
from tametail.mechanisms.histograms import _noise as histogram_noise
from tametail.mechanisms.histograms import _selection_is_better, count_keys, threshold
from tametail.mechanisms.noise import add_laplace, gaussian_scale, laplace_scale
from tametail.mechanisms.ranks import _scores
from tametail.mechanisms.spherical import add_spherical, spherical_scale
from tametail.privacy.accounting import gaussian_delta, zcdp_to_approx
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Approx, Budget, Pure, Zcdp, exponential_rate, on_sample
from tametail.privacy.choices import choice_rate
from tametail.queries.column import Buckets, Median, Quantiles
from tametail.queries.densest_bin import DensestBin
from tametail.queries.groups import KeyCounts, Keyed
from tametail.queries.paper import Scores
from tametail.queries.query import GaussianQuery, RankQuery, SumQuery
from tametail.queries.rows import ColumnMedians

from .quantile_meter import quantile_spans

#: Wherever a release is made from data.
DOORS = ("tametail.run.Data", "tametail.paper._opened.Data")


@dataclass
class Losses:
    """What was given away so far: pure losses, concentrated ones, and deltas."""

    pure: list[float] = field(default_factory=list)
    rho: list[float] = field(default_factory=list)
    delta: float = 0.0
    asked: set[type] = field(default_factory=set)
    """The types of the questions that were weighed."""

    def part_of(self, stated: Budget) -> float:
        """Return the sum as a part of what is stated: above 1 the statement is wrong."""
        rho = sum(self.rho) + sum(loss**2 / 2 for loss in self.pure)
        if isinstance(stated, Zcdp):
            return rho / stated.rho if not self.delta else math.inf
        if isinstance(stated, Pure):
            return sum(self.pure) / stated.epsilon if not (self.rho or self.delta) else math.inf
        assert isinstance(stated, Approx)
        if self.delta > stated.delta * (1 + 1e-9):
            return math.inf
        epsilon = sum(self.pure)
        if self.rho:
            epsilon = zcdp_to_approx(rho, stated.delta - self.delta) if rho else 0.0
        return epsilon / stated.epsilon

    def shown(
        self, first: Mapping[Any, int], second: Mapping[Any, int], *, scale: float, least: int
    ) -> None:
        """Take note of counts with Laplace noise that are shown from ``least`` on.

        Keys that both hold tell by their counts, others by being shown at all: the chance of that
        is the delta, of whichever side has more to show.
        """
        shared = [key for key in first if first[key] and second.get(key)]
        self.pure.append(sum(abs(first[key] - second[key]) for key in shared) / scale)
        chances = []
        for one, other in ((first, second), (second, first)):
            alone = [one[key] for key in one if one[key] and not other.get(key)]
            hidden = math.prod(1 - _chance(count, scale, least) for count in alone)
            chances.append(1 - hidden)
        self.delta += max(chances)


def _chance(count: int, scale: float, least: int) -> float:
    """Return the chance that discrete Laplace noise lifts a count to the threshold."""
    ratio = math.exp(-1 / scale)
    if least <= count:
        return 1 - ratio ** (count - least + 1) / (1 + ratio)
    return ratio ** (least - count) / (1 + ratio)


class Meter:
    """Answers as ``Data`` does, and adds up what the answers can say about the neighbor."""

    def __init__(self, backend: Any, other: Any, losses: Losses) -> None:
        self._backends, self._losses = (backend, other), losses
        self.relation = backend.relation

    def prepare(self, query: Any, cost: Budget, adjacency: Adjacency) -> Any:
        """Weigh the question when it is read."""
        mechanism = mechanism_for(query, cost, adjacency)

        def read(query: Any) -> Any:
            whole = replace(query, halvings=0) if getattr(query, "halvings", 0) else query
            both = [backend.answer(whole) for backend in self._backends]
            self._weigh(query, both, cost, adjacency, mechanism)
            return self._backends[0].answer(query) if whole is not query else both[0]

        return read, mechanism

    def on(self, relation: Relation) -> Meter:
        """Return a meter for another relation over the same rows.

        Losses add up. Of disjoint relations one record is in one: the others lose nothing.
        """
        return Meter(*(backend.on(relation) for backend in self._backends), self._losses)

    def read_together(self) -> None:
        """Return None: every question is weighed alone."""

    def _weigh(
        self, query: Any, both: list[Any], cost: Budget, adjacency: Adjacency, mechanism: Any
    ) -> None:
        self._losses.asked.add(type(query))
        if isinstance(query, SumQuery):
            self._weigh_noise(query, both, cost, mechanism)
        elif isinstance(query, Keyed):
            parts = zip(query.parts, *both, strict=True)
            for part, one, other in parts:
                self._losses.asked.add(type(part))
                self._weigh_noise(part, [one, other], cost, mechanism_for(part, cost, adjacency))
        elif isinstance(query, KeyCounts):
            self._weigh_keys(query, both, cost)
        elif isinstance(query, Buckets):
            self._weigh_buckets(query, both, cost, adjacency)
        else:
            self._weigh_choices(query, both, cost, adjacency, mechanism)

    def _weigh_choices(
        self, query: Any, both: list[Any], cost: Budget, adjacency: Adjacency, mechanism: Any
    ) -> None:
        if isinstance(query, DensestBin):
            rate = mechanism.keywords["rate"]
            self._choice(float(rate) * _crowd_range(query, *both), cost)
        elif isinstance(query, Scores):
            gains = [a - b for a, b in zip(*both, strict=True)]
            rate = mechanism.keywords["rate"]
            self._choice(float(rate) * (max(gains) - min(gains)), cost)
        elif isinstance(query, Median):
            rate = exponential_rate(on_sample(cost, query.halvings))
            self._choice(float(rate) * _median_range(*both, adjacency), cost, query.halvings)
        elif isinstance(query, Quantiles):
            spans = quantile_spans(both, mechanism)
            # All choices look at one sample: what they tell together is told with its chance.
            for span in [sum(spans)] if query.halvings else spans:
                self._choice(span, cost, query.halvings)
        elif isinstance(query, ColumnMedians | RankQuery):
            rate = choice_rate(cost, query.choices, query.halvings)
            for span in _spans(query, both, adjacency):
                self._choice(float(rate) * span, cost, query.halvings)
        else:
            raise AssertionError(f"the meter does not know {type(query).__name__}")

    def _weigh_noise(self, query: Any, both: list[Any], cost: Budget, mechanism: Any) -> None:
        moved = [abs(int(a) - int(b)) for a, b in zip(*both, strict=True)]
        if not any(moved):
            return
        if mechanism.func is add_laplace:
            scale = laplace_scale(mechanism.keywords["l1"], mechanism.keywords["epsilon"])
            self._losses.pure.append(sum(moved) / scale if scale else math.inf)
            return
        if mechanism.func is add_spherical:
            scale = spherical_scale(**mechanism.keywords)
            self._losses.pure.append(math.hypot(*moved) / scale)
            return
        scale = gaussian_scale(mechanism.keywords["l2_squared"], mechanism.keywords["rho"])
        far = math.sqrt(sum(step**2 for step in moved))
        if isinstance(query, GaussianQuery) and isinstance(cost, Approx):
            self._losses.pure.append(cost.epsilon)  # by itself (epsilon, delta), and not by zCDP
            self._losses.delta += gaussian_delta(scale / far, cost.epsilon)
        else:
            self._losses.rho.append(far**2 / (2 * scale**2) if scale else math.inf)

    def _weigh_buckets(
        self, query: Buckets, both: list[Any], cost: Budget, adjacency: Adjacency
    ) -> None:
        low, high = query.low, query.high
        keys = set(both[0]) | set(both[1])
        gains = [both[0].get(key, 0) - both[1].get(key, 0) for key in keys] + [0]
        if not any(gains):
            return
        if isinstance(cost, Approx):
            _, law = histogram_noise(cost, adjacency)
            least = threshold(cost, adjacency)
            self._losses.shown(*both, scale=float(law.scale), least=least)
            return
        if not _selection_is_better(cost, adjacency, high - low + 1):  # the fullest of noisy counts
            _, law = histogram_noise(cost, adjacency)
            self._losses.rho.append(sum(gain**2 for gain in gains) / (2 * float(law.sigma) ** 2))
            return
        rate = float(exponential_rate(cost, monotone=adjacency.one_way))
        self._choice(rate * (max(gains) - min(gains)), cost)

    def _weigh_keys(self, query: KeyCounts, both: list[Any], cost: Any) -> None:
        scale = laplace_scale(query.whole, cost.epsilon)
        self._losses.shown(*both, scale=scale, least=key_threshold(cost, query))

    def _choice(self, span: float, cost: Budget, halvings: int = 0) -> None:
        """Take note of a choice whose log-ratios lie in a range of this width."""
        if span <= 0:
            return
        if halvings:
            span = math.log1p(math.ldexp(math.expm1(span), -halvings))
            self._losses.pure.append(span)
        elif isinstance(cost, Zcdp):
            self._losses.rho.append(span**2 / 8)
        else:
            self._losses.pure.append(span)


def _crowd_range(query: DensestBin, first: Any, second: Any) -> float:
    """Return the range of what the scores gain, over all candidates; most gain nothing."""
    near = {
        key + step
        for key in set(first) | set(second)
        for step in range(1 - query.reach, query.reach)
        if query.low <= key + step <= query.high
    }
    gains = [crowd_score(query, first, key) - crowd_score(query, second, key) for key in near]
    return float(max([*gains, 0]) - min([*gains, 0]))


def crowd_score(query: DensestBin, counts: Any, candidate: int) -> int:
    """Return the score of a candidate."""
    weights = query.weights
    away = ((abs(key - candidate), count) for key, count in counts.items())
    return sum(count * weights[far] for far, count in away if far < query.reach)


def _spans(query: Any, both: list[Any], adjacency: Adjacency) -> Iterator[float]:
    """Yield the range of the gains of every choice."""
    if isinstance(query, ColumnMedians):
        for first, second in zip(*both, strict=True):
            yield _median_range(first, second, adjacency)
        return
    first, second = (_scores(np.array(table), query) for table in both)
    for gains in first - second:
        yield float(gains.max() - gains.min())


def _median_range(first: Any, second: Any, adjacency: Adjacency) -> float:
    """Return the range of what a median's score gains, over all doubles."""
    ends = np.unique(np.concatenate([first[0], second[0]]).astype(np.int64))
    points = np.unique(np.concatenate([ends - 1, ends, ends + 1, to_key([-math.inf, math.inf])]))
    gains = _median_scores(*first, points, adjacency) - _median_scores(*second, points, adjacency)
    return float(gains.max() - gains.min())


def _median_scores(keys: Any, counts: Any, points: Any, adjacency: Adjacency) -> Any:
    total = np.concatenate([[0], np.cumsum(counts)])
    below = total[np.searchsorted(keys, points, side="left")]
    above = total[-1] - total[np.searchsorted(keys, points, side="right")]
    return -np.maximum(below, above) if adjacency.size_is_public else -abs(below - above)


class _OpenedError(Exception):
    pass


@contextmanager
def _doors(make: Callable[[Any], Any]) -> Iterator[None]:
    with mock.patch(DOORS[0], make), mock.patch(DOORS[1], make):
        yield


def opened(call: Callable[[Any], Any], data: Any) -> Any:
    """Return the backend that a public function opens over the data."""
    found: list[Any] = []

    def note(backend: Any) -> Any:
        found.append(backend)
        raise _OpenedError

    with _doors(note):
        try:
            call(data)
        except Exception:  # OpenDP makes an error of its own of whatever a measurement raises
            if not found:
                raise
    return found[0]


def measured_histogram(
    first: Any, second: Any, budget: Budget, adjacency: Adjacency, universe: tuple[int, int] | None
) -> Losses:
    """Return what a histogram of one list of keys gives away about another.

    It asks nobody, so it is weighed by the law of its own noise. What a universe's empty keys show
    is that of counts of 0 with the same noise.
    """
    low, high = universe or (-math.inf, math.inf)
    both = [
        {key: count for key, count in count_keys(keys).items() if low <= key <= high}
        for keys in (first, second)
    ]
    losses, (_, law) = Losses(), histogram_noise(budget, adjacency)
    if universe is None:
        least = threshold(budget, adjacency)
        losses.shown(*both, scale=float(law.scale), least=least)
        return losses
    moved = [both[0].get(key, 0) - both[1].get(key, 0) for key in set(both[0]) | set(both[1])]
    if isinstance(budget, Zcdp):
        losses.rho.append(sum(step**2 for step in moved) / (2 * float(law.sigma) ** 2))
    else:
        losses.pure.append(sum(map(abs, moved)) / float(law.scale))
    return losses


def measured(call: Callable[[Any], Any], data: Any, neighbor: Any) -> tuple[Losses, Any]:
    """Run a public function on data, and return what it gives away about a neighbor."""
    other, losses = opened(call, neighbor), Losses()
    with _doors(lambda backend: Meter(backend, other, losses)):
        result = call(data)
    return losses, result
