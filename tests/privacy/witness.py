"""Runs an estimator on one of two neighbors and weighs what its answers say about which one.

All answers of a release are public (``release.answers``), so the sharpest statistic is the
log-ratio of their probabilities under the two neighbors; by the lemma of Neyman and Pearson no
event separates the neighbors better. It is computed here, answer by answer, from the exact
answers of both. Were a scale or a sensitivity wrong, it would still be a function of the outputs,
and so a valid statistic.

Most of the noises of a release lie on octave nodes that no record of either neighbor moves. An
entry that is the same for both neighbors needs no noise to protect them, so its noise may be
given to the attacker: such entries take theirs from a stock of some hundred rows, drawn once by
the same mechanism and shared by both neighbors. Given the stock, runs are independent and the
claim is the same. All other entries get fresh noise in every run.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from tametail.data.relation import Groups, Relation
from tametail.doubles import to_key
from tametail.mechanisms.dispatch import mechanism_for
from tametail.mechanisms.noise import lone_gaussian_rho
from tametail.mechanisms.ranks import _scores
from tametail.mechanisms.spherical import spherical_scale
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import (
    Approx,
    Budget,
    Pure,
    Zcdp,
    exponential_rate,
    noise_for,
    on_sample,
)
from tametail.privacy.choices import choice_rate, one_of_many
from tametail.queries.column import LEVEL_ONE, Buckets, Median, Quantiles
from tametail.queries.densest_bin import DensestBin
from tametail.queries.groups import KeyCounts, Keyed
from tametail.queries.paper import Scores
from tametail.queries.query import GaussianQuery, SumQuery
from tametail.queries.rows import BallLevels, ColumnMedians, Distances
from tametail.randomness import random_below

from .meter import crowd_score

Open = Callable[[], Any]
"""Opens a backend over the records of one neighbor."""

#: The most rows of noise for the entries that both neighbors share.
_MOST_ROWS = 256

#: Vectors up to this length get fresh noise on every entry.
_SHORT = 16

#: The weight of an answer that is impossible under one neighbor: far beyond every claim.
IMPOSSIBLE = 60.0


class CachedBackend:
    """Remembers exact answers, so that a million runs cost only the noise; samples fall anew.

    A backend keeps a profile for every center that it was asked about, so each question that is
    not remembered goes to a new one over the same rows.
    """

    def __init__(self, open_backend: Open) -> None:
        self._open = open_backend
        self._answer = lru_cache(maxsize=512)(self._fresh)
        self._groups: dict[Any, Groups] = {}

    @cached_property
    def _backend(self) -> Any:
        return self._open()

    @property
    def relation(self) -> Relation:
        """What is asked about."""
        found: Relation = self._backend.relation
        return found

    def same(self, relation: Relation) -> Relation:
        """Return the relation, with the first of all groups that have these keys."""
        if relation.groups is None:
            return relation
        place = relation.groups.keys, relation.groups.other
        return replace(relation, groups=self._groups.setdefault(place, relation.groups))

    def answer(self, relation: Relation, query: Any) -> Any:
        """Return the exact answer, computed once; a question about a sample draws a new sample."""
        if getattr(query, "halvings", 0):
            return self._fresh(relation, query)
        return self._answer(relation, query)

    def _fresh(self, relation: Relation, query: Any) -> Any:
        return self._backend.on(relation).answer(query)


class Stock:
    """Noise for entries that do not tell the neighbors apart: filled once, then only read.

    ``runs`` is the number of runs that it is to serve; fewer need fewer rows.
    """

    def __init__(self, runs: int) -> None:
        self.warm_up = min(max(runs // 50, 5), 100)
        self._size = min(max(runs // 50, 8), _MOST_ROWS)
        self._asked: Counter[Any] = Counter()
        self._rows: dict[Any, Any] = {}
        self._filled = False

    def fill(self) -> None:
        """Draw rows for every question that came in half of the runs while warming up."""
        for place, times in self._asked.items():
            if times >= self.warm_up:
                length, _, sensitivity, cost, adjacency = place
                add_noise = mechanism_for(_Stated(sensitivity), cost, adjacency)
                rows = [add_noise((0,) * length) for _ in range(self._size)]
                self._rows[place] = np.array(rows, dtype=np.int64)
        self._filled = True

    def row(self, length: int, query: Any, cost: Budget, adjacency: Adjacency) -> Any:
        """Return a row for this question, or None if there is none."""
        place = length, type(query), query.sensitivity(adjacency), cost, adjacency
        if not self._filled:
            self._asked[place] += 1
            return None
        rows = self._rows.get(place)
        return None if rows is None else rows[random_below(self._size)]


class _Stated(SumQuery):
    """A query of which only the sensitivity matters."""

    def __init__(self, sensitivity: Any) -> None:
        self._sensitivity = sensitivity

    def sensitivity(self, adjacency: Adjacency) -> Any:
        return self._sensitivity


class Witness:
    """Answers as ``Data`` does for the neighbor ``side``; ``evidence`` favors the first."""

    def __init__(
        self,
        backends: Sequence[CachedBackend],
        side: int,
        stock: Stock,
        relation: Relation | None = None,
    ) -> None:
        self.evidence = 0.0
        self.relation = backends[side].relation if relation is None else relation
        self._backends, self._side, self._stock = tuple(backends), side, stock
        self._above: Witness = self

    def prepare(self, query: Any, cost: Budget, adjacency: Adjacency) -> Any:
        """Read nothing yet: the answer is made private, and weighed, in one step."""
        return lambda query: self.respond(query, cost, adjacency), lambda answer: answer

    def respond(self, query: Any, cost: Budget, adjacency: Adjacency) -> Any:
        """Ask the backend of this side, make the answer private, and weigh it."""
        both = [backend.answer(self.relation, _whole(query)) for backend in self._backends]
        if isinstance(query, SumQuery):
            answer = self._noisy(both, query, cost, adjacency)
            weight = _weigh_noise(both, answer, query, cost, adjacency)
        else:
            exact = both[self._side]
            if getattr(query, "halvings", 0):
                exact = self._backends[self._side].answer(self.relation, query)
            answer = mechanism_for(query, cost, adjacency)(exact)
            weight = _WEIGH[type(query)](both, answer, query, cost, adjacency)
        self._above.evidence += weight
        return answer

    def on(self, relation: Relation) -> Witness:
        """Return a witness for another relation over these rows, whose evidence counts here."""
        same = self._backends[0].same(relation)
        part = Witness(self._backends, self._side, self._stock, same)
        part._above = self._above
        return part

    def read_together(self) -> None:
        """Return None: every question is weighed alone."""

    def _noisy(self, both: list[Any], query: SumQuery, cost: Budget, adjacency: Adjacency) -> Any:
        exact, add_noise = both[self._side], mechanism_for(query, cost, adjacency)
        row = None
        if not isinstance(query, GaussianQuery) and len(exact) > _SHORT:
            row = self._stock.row(len(exact), query, cost, adjacency)
        if row is None:
            return add_noise(exact)
        mine, places = _differing(tuple(both[0]), tuple(both[1]), self._side)
        answer = (mine + row).tolist()
        fresh = add_noise(tuple(exact[place] for place in places))
        for place, value in zip(places, fresh, strict=True):
            answer[place] = value
        return tuple(answer)


def _whole(query: Any) -> Any:
    return replace(query, halvings=0) if getattr(query, "halvings", 0) else query


@lru_cache(maxsize=512)
def _differing(first: tuple[int, ...], second: tuple[int, ...], side: int) -> tuple[Any, list[int]]:
    arrays = np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)
    return arrays[side], np.flatnonzero(arrays[0] != arrays[1]).tolist()


def _weigh_noise(
    both: Sequence[Any], answer: Any, query: SumQuery, cost: Budget, adjacency: Adjacency
) -> float:
    sensitivity = query.sensitivity(adjacency)
    l1, l2_squared = max(sensitivity.l1, 1), max(sensitivity.l2_squared, 1)
    if isinstance(query, GaussianQuery) and isinstance(cost, Approx):
        cost = Zcdp(lone_gaussian_rho(l2_squared, cost))
    if isinstance(query, GaussianQuery) and isinstance(cost, Pure):
        lengths = (math.dist(exact, answer) for exact in both)
        return (-next(lengths) + next(lengths)) / spherical_scale(l2_squared, cost.epsilon)
    scale = noise_for(cost, l1, l2_squared).scale
    triples = [(a, b, y) for a, b, y in zip(*both, answer, strict=True) if a != b]
    if isinstance(cost, Zcdp):
        squares: int = sum((a - b) * (2 * y - a - b) for a, b, y in triples)
        return squares / (2 * scale * scale)
    distances: int = sum(abs(y - b) - abs(y - a) for a, b, y in triples)
    return distances / scale


def _weigh_median(
    both: Any, answer: float, query: Any, cost: Budget, adjacency: Adjacency
) -> float:
    rate = exponential_rate(on_sample(cost, query.halvings))
    return float(rate) * _score_gain(both, answer, adjacency)


def _weigh_medians(both: Any, answer: Any, query: Any, cost: Budget, adjacency: Adjacency) -> float:
    gains = (_score_gain(pair, y, adjacency) for *pair, y in zip(*both, answer, strict=True))
    return float(choice_rate(cost, query.choices, query.halvings)) * sum(gains)


def _score_gain(both: Any, answer: float, adjacency: Adjacency) -> int:
    """Return the score of a median under the first neighbor less that under the second."""
    key = int(to_key([answer])[0])
    scores = []
    for keys, counts in both:
        below, above = int(counts[keys < key].sum()), int(counts[keys > key].sum())
        replaced = adjacency is Adjacency.REPLACE_ONE
        scores.append(-max(below, above) if replaced else -abs(below - above))
    return scores[0] - scores[1]


def _weigh_quantiles(
    both: Any, answer: Any, query: Any, cost: Budget, adjacency: Adjacency
) -> float:
    """Add up over the choices, each in the part that earlier ones left for it.

    How ties were divided is not known: half of them count on either side.
    """
    levels, keys = (0, *query.levels, LEVEL_ONE), to_key(list(answer)).tolist()
    keys = [-math.inf, *keys, math.inf]
    rate = exponential_rate(one_of_many(on_sample(cost, query.halvings), query.depth))

    def gain(start: int, stop: int, depth: int) -> Fraction:
        if stop - start < 2:
            return Fraction(0)
        middle = (start + stop) // 2
        target, whole = levels[middle] - levels[start], levels[stop] - levels[start]
        scores = []
        for found, counts in both:
            ranks = [_halved_rank(found, counts, keys[place]) for place in (start, middle, stop)]
            scores.append(-abs(whole * (ranks[1] - ranks[0]) - target * (ranks[2] - ranks[0])))
        own = rate * (scores[0] - scores[1])
        own /= query.score_sensitivity(adjacency, target, whole, depth)
        return own + gain(start, middle, depth + 1) + gain(middle, stop, depth + 1)

    return float(gain(0, len(levels) - 1, 0))


def _halved_rank(keys: Any, counts: Any, key: float) -> Fraction:
    below, equal = int(counts[keys < key].sum()), int(counts[keys == key].sum())
    return below + Fraction(equal, 2)


def _weigh_bucket(
    both: Any, answer: int | None, _: Any, cost: Budget, adjacency: Adjacency
) -> float:
    if answer is None:
        return 0.0
    first, second = (counts.get(answer, 0) for counts in both)
    if isinstance(cost, Approx) and 0 in (first, second) and first != second:
        return math.copysign(IMPOSSIBLE, first - second)
    return float(exponential_rate(cost, monotone=adjacency is Adjacency.ADD_REMOVE)) * int(
        first - second
    )


def _weigh_crowd(both: Any, answer: int, query: Any, cost: Budget, adjacency: Adjacency) -> float:
    rate = exponential_rate(cost, monotone=adjacency is Adjacency.ADD_REMOVE) / query.peak
    first, second = (crowd_score(query, counts, answer) for counts in both)
    return float(rate) * (first - second)


def _weigh_winner(both: Any, answer: int, query: Any, cost: Budget, adjacency: Adjacency) -> float:
    rate = exponential_rate(cost) / query.score_sensitivity(adjacency)
    return float(rate) * int(both[0][answer] - both[1][answer])


def _weigh_ranks(both: Any, answer: Any, query: Any, cost: Budget, _: Adjacency) -> float:
    first, second = (_scores(np.array(table), query) for table in both)
    lists = range(len(first))
    gain = sum(int(first[i][answer[i]] - second[i][answer[i]]) for i in lists)
    return float(choice_rate(cost, query.choices, query.halvings)) * gain


def _weigh_keyed(both: Any, answer: Any, query: Keyed, cost: Budget, adjacency: Adjacency) -> float:
    """Add up over the keys, each with the noise of its own part of the question."""
    numbers, total = iter(answer), 0.0
    for part, *pair in zip(query.parts, *both, strict=True):
        mine = [next(numbers) for _ in pair[0]]
        total += _weigh_noise(pair, mine, part, cost, adjacency)
    return total


def _weigh_keys(
    both: Any, answer: Any, query: KeyCounts, cost: Budget, adjacency: Adjacency
) -> float:
    """Weigh the keys that are shown; one that only one neighbor holds decides."""
    scale = noise_for(cost, query.sensitivity(adjacency).l1, 1).scale
    first, second = (dict(counts) for counts in both)
    total = 0.0
    for key, noisy in answer:
        if (key in first) != (key in second):
            return math.copysign(IMPOSSIBLE, (key in first) - (key in second))
        total += (abs(noisy - second[key]) - abs(noisy - first[key])) / scale
    return total


_WEIGH: dict[type[Any], Callable[..., float]] = {
    Keyed: _weigh_keyed,
    KeyCounts: _weigh_keys,
    Median: _weigh_median,
    Quantiles: _weigh_quantiles,
    ColumnMedians: _weigh_medians,
    Buckets: _weigh_bucket,
    DensestBin: _weigh_crowd,
    Scores: _weigh_winner,
    Distances: _weigh_ranks,
    BallLevels: _weigh_ranks,
}
