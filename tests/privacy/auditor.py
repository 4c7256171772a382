"""A black-box auditor: a lower bound on epsilon from the outputs of a mechanism alone.

The mechanism is run many times on two neighbors x and x'. If it is (epsilon, delta)-DP, then
P(S) <= e^epsilon P'(S) + delta for every event S, so any event shows that

    epsilon >= ln((P(S) - delta) / P'(S)).

The event is chosen on the first half of the runs and its probabilities are bounded on the second
half (Clopper and Pearson), so that the choice does not bias the bound: it exceeds the true epsilon
with probability at most ``1 - confidence``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaincinv

Draw = Callable[[int], Iterable[Any]]
"""Runs the mechanism that many times and returns its outputs: numbers, None, labels, or Seen."""

Array = np.ndarray

# Enough outputs in a bin that the best bins are chosen for their ratio and not for their luck.
_MOST_BINS, _PER_BIN = 64, 100


class Seen(tuple[Any, ...]):
    """Several statistics of one output; the auditor chooses the one that shows most."""

    __slots__ = ()


def audit(
    draw_first: Draw,
    draw_second: Draw,
    runs: int,
    *,
    delta: float = 0.0,
    confidence: float = 0.999,
) -> float:
    """Return a lower bound on epsilon at ``delta``, valid with probability ``confidence``.

    ``runs`` is the number of runs on each neighbor. An event is a union of bins of a statistic:
    values that occur often stand alone, other numbers are binned by their order. By the lemma of
    Neyman and Pearson the best events hold the bins with the largest ratio of probabilities.

    >>> audit(lambda n: [0] * n, lambda n: [1] * n, 2000) > 4
    True
    """
    (bound,) = audit_at((delta,), draw_first, draw_second, runs, confidence=confidence)
    return bound


def audit_at(
    deltas: Sequence[float],
    draw_first: Draw,
    draw_second: Draw,
    runs: int,
    *,
    confidence: float = 0.999,
) -> list[float]:
    """Return a lower bound on epsilon at each of ``deltas``, each with this confidence."""
    half = runs // 2
    columns = list(
        zip(_columns(draw_first(2 * half)), _columns(draw_second(2 * half)), strict=True)
    )
    counted = [_Counted.of(outputs, half) for outputs in columns]
    level = (1 - confidence) / 2  # one half for each of the two probabilities
    found = []
    for delta in deltas:
        # The statistic and the direction are part of the choice: the first half decides them, too.
        bounds = [one.bound(*pair, delta, level) for one in counted for pair in ((0, 1), (1, 0))]
        found.append(max(bounds)[1])
    return found


def _columns(outputs: Iterable[Any]) -> list[list[Hashable]]:
    """Return the statistics one by one."""
    plain = outputs.tolist() if isinstance(outputs, np.ndarray) else list(outputs)
    if plain and isinstance(plain[0], Seen):
        return [list(column) for column in zip(*plain, strict=True)]
    return [plain]


@dataclass(frozen=True)
class _Counted:
    """One statistic: how often it fell into each bin, by neighbor, in either half of the runs."""

    chosen: list[Array]
    tested: list[Array]
    runs: int

    @classmethod
    def of(cls, outputs: tuple[list[Hashable], list[Hashable]], half: int) -> _Counted:
        binning = _Binning.of(outputs[0][:half] + outputs[1][:half])
        chosen, tested = (
            [binning.counts(values[rows]) for values in outputs]
            for rows in (slice(None, half), slice(half, None))
        )
        return cls(chosen, tested, half)

    def bound(self, first: int, second: int, delta: float, level: float) -> tuple[float, float]:
        """Return what the best event of the first half promises, and what it shows on the other."""
        event, guess = _best_event(self.chosen[first], self.chosen[second], self.runs, delta, level)
        hits, false_hits = (self.tested[side][event].sum() for side in (first, second))
        return guess, float(_epsilons(hits, false_hits, self.runs, delta, level))


@dataclass(frozen=True)
class _Binning:
    """Bins of outputs: frequent values one by one, rare numbers by order, the rest together."""

    atoms: dict[Hashable, int]
    edges: list[float]

    @classmethod
    def of(cls, outputs: list[Hashable]) -> _Binning:
        bins = min(_MOST_BINS, 1 + len(outputs) // _PER_BIN)
        frequent = Counter(outputs).most_common(bins)
        atoms = [value for value, count in frequent if count * bins >= len(outputs)]
        known = set(atoms)
        numbers = [value for value in outputs if value not in known and _is_number(value)]
        cuts = np.quantile(_floats(numbers), np.linspace(0, 1, bins + 1)) if numbers else []
        return cls({value: index for index, value in enumerate(atoms)}, sorted(set(cuts)))

    def counts(self, outputs: list[Hashable]) -> Array:
        """Return the number of outputs in each bin."""
        found = np.zeros(len(self.atoms) + len(self.edges) + 2, dtype=np.int64)
        rare = []
        for value, count in Counter(outputs).items():
            if value in self.atoms:
                found[self.atoms[value]] += count
            elif _is_number(value):
                rare.append((value, count))
            else:
                found[-1] += count
        if rare:
            values, times = zip(*rare, strict=True)
            places = len(self.atoms) + np.searchsorted(self.edges, _floats(values))
            np.add.at(found, places, times)
        return found


def _is_number(value: Hashable) -> bool:
    return isinstance(value, int | float)


def _floats(values: Iterable[Any]) -> Array:
    # Keys of buckets may be integers beyond all doubles: their order among themselves is lost.
    largest = float(np.finfo(float).max)
    return np.array([float(min(max(value, -largest), largest)) for value in values])


def _best_event(
    first: Array, second: Array, runs: int, delta: float, level: float
) -> tuple[Array, float]:
    """Return the bins of the event with the largest bound, and that bound."""
    order = np.argsort(-(first + 0.5) / (second + 0.5))
    guesses = _epsilons(np.cumsum(first[order]), np.cumsum(second[order]), runs, delta, level)
    best = int(np.argmax(guesses))
    return order[: best + 1], float(guesses[best])


def _epsilons(
    hits_first: Array, hits_second: Array, runs: int, delta: float, level: float
) -> Array:
    """Bound ln((P - delta) / P') from below: P from below and P' from above, each at ``level``."""
    # Clopper and Pearson: quantiles of a beta law; 0 hits of all runs, or all, leave 0 and 1.
    least = np.where(
        hits_first > 0, betaincinv(np.maximum(hits_first, 1), runs - hits_first + 1, level), 0.0
    )
    misses = np.maximum(runs - hits_second, 1)
    most = np.where(hits_second < runs, betaincinv(hits_second + 1, misses, 1 - level), 1.0)
    ratio = np.maximum(least - delta, 0.0) / most
    return np.log(np.maximum(ratio, 1.0))
