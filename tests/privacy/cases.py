"""What is audited: mechanisms, the verbs of Ask and the paper's estimators on worst neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tametail.ask import Ask, Data
from tametail.budget import Approx, Budget, Pure, Zcdp, exponential_rate, zcdp_to_approx
from tametail.doubles import to_key
from tametail.engines.arrays import MemoryEngine
from tametail.mechanisms.histograms import histogram, largest_bucket
from tametail.mechanisms.median import choose_median
from tametail.mechanisms.noise import add_gaussian, add_laplace
from tametail.mechanisms.select import select
from tametail.mechanisms.threshold import above_threshold
from tametail.paper.range import range_estimator
from tametail.paper.univariate import mean_estimator
from tametail.queries import Buckets, ClippedSum, Count, Lattice, Median, Squares, TailNodes
from tametail.unit import Unit

from .auditor import CachedEngine, Draw

Records = Sequence[Any]

# Budgets and deltas are large, so that an audit of a few thousand runs can see what they allow.
PURE, ZCDP, APPROX = Pure(2.0), Zcdp(0.5), Approx(2.0, 0.05)
NOTIONS: tuple[Budget, ...] = (PURE, ZCDP, APPROX)
AUDITED_DELTA = 0.02

RADIUS = 4.0
NEAR, FAR = 8.5, 1e300  # R: 6 buckets, or so many that empty ones rule


@dataclass(frozen=True)
class Case:
    """A mechanism on two neighbours, and the epsilon that it claims at ``delta``."""

    name: str
    claimed: float
    delta: float
    first: Draw
    second: Draw


def _case(name: str, cost: Budget, run: Callable[[int], Callable[[], Hashable]]) -> Case:
    """Make a case from ``run(side)``, a function that runs the mechanism once on that side."""
    draws = [partial(_repeat, run(side)) for side in (0, 1)]
    return Case(f"{name}, {cost}", *_claim(cost), *draws)


def _repeat(run: Callable[[], Hashable], count: int) -> list[Hashable]:
    return [run() for _ in range(count)]


def _claim(cost: Budget) -> tuple[float, float]:
    if isinstance(cost, Zcdp):
        return zcdp_to_approx(cost.rho, AUDITED_DELTA), AUDITED_DELTA
    return cost.strength, cost.delta if isinstance(cost, Approx) else 0.0


# One record of a block replaced by another, at the places where a mechanism might slip. The
# second half of a block is what PDPODME averages; the first half is what finds its range.
REPLACED: dict[str, tuple[Any, Any]] = {
    "a far outlier moves": (1e9, -1e9),
    "a record crosses a bucket border": (math.nextafter(2 * RADIUS, 0), 2 * RADIUS),
    "a record leaves its bucket empty": (-1.0, 1.0),
    "NaN against a value": (math.nan, 1.0),
    "infinity against a value": (math.inf, 1.0),
    "None against minus infinity": (None, -math.inf),
}


def range_cases() -> Iterator[Case]:
    """PDPRE, CDPRE and ADPRE alone."""
    for name, (old, new) in REPLACED.items():
        for cost in NOTIONS:
            yield range_case(name, [1.0] * 2, old, new, cost, NEAR)
    # As many records as it takes to stand out among all those buckets half of the time.
    for cost, records in ((PURE, 690), (ZCDP, 52), (APPROX, 3)):
        yield range_case("R = 1e300", [1.0] * records, -1.0, 1.0, cost, FAR)


def range_case(name: str, others: Records, old: Any, new: Any, cost: Budget, R: float) -> Case:
    """One record among ``others`` is replaced."""
    engines = [CachedEngine(MemoryEngine([*others, record])) for record in (old, new)]

    def run(side: int) -> Callable[[], Hashable]:
        def once() -> float:
            ask = Ask(Data(engines[side]), cost, Unit.REPLACE_ONE)
            return range_estimator(ask, cost, radius=RADIUS, R=R).centre

        return once

    return _case(f"range_estimate, {name}", cost, run)


def mean_cases() -> Iterator[Case]:
    """PDPODME, CDPODME and ADPODME alone; the replaced record is averaged, or locates."""
    outlier = (1e9, -1e9)
    for cost in NOTIONS[:2]:
        yield _mean_case("nothing to locate", [1.0] * 2, 1, outlier, cost, R=2 * RADIUS)
    # Two buckets equally full, and nothing to average: the estimate is the range, little noise.
    balanced = [1.0, -1.0] * 10 + [None] * 20
    for cost in NOTIONS:
        yield _mean_case("a far outlier moves", [1.0] * 6, 5, outlier, cost)
        yield _mean_case("a locating record moves", balanced, 0, (1.0, -1.0), cost)
    for name, pair in {
        "NaN against an outlier": (math.nan, 1e9),
        "infinity against minus infinity": (math.inf, -math.inf),
        "None against minus infinity": (None, -math.inf),
    }.items():
        yield _mean_case(name, [1.0] * 2, 1, pair, PURE, R=2 * RADIUS)
    yield _mean_case("m = 3, n = 11", [1.0] * 11, 7, outlier, PURE, blocks=3)
    yield _mean_case("m = 3, n = 3", [1.0] * 3, 1, outlier, PURE, blocks=3)


def _mean_case(
    name: str,
    records: Records,
    place: int,
    pair: tuple[Any, Any],
    cost: Budget,
    blocks: int = 1,
    R: float = NEAR,
) -> Case:
    engines = [
        CachedEngine(MemoryEngine([*records[:place], record, *records[place + 1 :]]))
        for record in pair
    ]

    def run(side: int) -> Callable[[], Hashable]:
        def once() -> float:
            ask = Ask(Data(engines[side]), cost, Unit.REPLACE_ONE)
            return mean_estimator(ask, cost, size=len(records), blocks=blocks, radius=RADIUS, R=R)

        return once

    return _case(f"mean_1d, {name}", cost, run)


def ask_cases() -> Iterator[Case]:
    """Every verb of Ask, with the records that move each query furthest."""
    lattice = Lattice(exponent=-4, low=-48, centre=0, high=64)
    sums: tuple[tuple[Any, float, float], ...] = (
        (Count(), 1.0, math.nan),
        (ClippedSum(lattice), math.inf, -math.inf),
        (ClippedSum(lattice, count_weight=48), math.inf, math.nan),
        (Squares(centre=0.0, octave=2, cap=16), math.inf, 0.0),
        (TailNodes(centre=0.0, first=-2, last=3), 2.0, -2.0),
    )
    for query, old, new in sums:
        for cost in NOTIONS[:2]:
            yield _verb_case("noisy", query, cost, Unit.REPLACE_ONE, [old], [new])
        yield _verb_case("noisy", query, PURE, Unit.ADD_REMOVE, [old], [])
    chosen = (
        ("median", Median(0, -8.0, 8.0), [-9.0, 0.0, 0.0], 0.0),
        ("median", Median(1, -8.0, 8.0), [-9.0, 0.0, 0.0], 0.0),
        ("largest", Buckets(inverse_width=1.0, low=0, high=1), [1.5, 0.5, 0.5], 0.5),
    )
    for verb, query, data, new in chosen:
        for cost in NOTIONS[:2]:
            yield _verb_case(verb, query, cost, Unit.REPLACE_ONE, data, [new, *data[1:]])
            yield _verb_case(verb, query, cost, Unit.ADD_REMOVE, data, data[1:])
    for unit, other in ((Unit.REPLACE_ONE, [new, *data[1:]]), (Unit.ADD_REMOVE, data[1:])):
        yield _verb_case("largest", query, APPROX, unit, data, other)


def _verb_case(
    verb: str, query: Any, cost: Budget, unit: Unit, first: Records, second: Records
) -> Case:
    engines: list[Any] = [MemoryEngine(records) for records in (first, second)]
    if getattr(query, "halvings", 0) == 0:  # the secret coins of a sample must fall anew
        engines = [CachedEngine(engine) for engine in engines]
    exact = [engine.answer(query) for engine in engines]

    def run(side: int) -> Callable[[], Hashable]:
        def once() -> Hashable:
            answer = getattr(Ask(Data(engines[side]), cost, unit), verb)(query, cost)
            return _log_ratio(exact[0], exact[1], answer) if verb == "noisy" else answer

        return once

    return _case(f"{verb} {type(query).__name__}, {unit}", cost, run)


def _log_ratio(first: Sequence[int], second: Sequence[int], noisy: Sequence[int]) -> int:
    """Return the log-ratio of likelihoods under Laplace noise, up to its scale."""
    return sum(abs(y - b) - abs(y - a) for a, b, y in zip(first, second, noisy, strict=True))


def mechanism_cases() -> Iterator[Case]:
    """The mechanisms themselves, on exact answers one record apart."""
    epsilon, rho = PURE.epsilon, ZCDP.rho
    yield Case(
        f"add_laplace, {PURE}",
        *_claim(PURE),
        *(lambda count, y=y: add_laplace([y] * count, 1, epsilon) for y in (0, 1)),
    )
    yield Case(
        f"add_gaussian, {ZCDP}",
        *_claim(ZCDP),
        *(lambda count, y=y: add_gaussian([y] * count, 1, rho) for y in (0, 1)),
    )
    for cost in NOTIONS[:2]:
        yield _case("select", cost, partial(partial, _select, cost))
        yield _case("choose_median", cost, partial(partial, _median, cost))
    for cost in NOTIONS:
        for unit in Unit:
            yield _case(f"largest_bucket, {unit}", cost, partial(partial, _largest, cost, unit))
            yield _case(f"histogram, {unit}", cost, partial(partial, _histogram, cost, unit))
    yield _case("above_threshold", PURE, partial(partial, _crossing))


_SCORES = ([2, 1], [3, 0])
_COUNTS = {
    Unit.REPLACE_ONE: ({0: 2, 1: 1}, {0: 3}),
    Unit.ADD_REMOVE: ({0: 2, 1: 1}, {0: 2}),
}


def _select(cost: Budget, side: int) -> int:
    return select(_SCORES[side], [1, 1], exponential_rate(cost))


def _median(cost: Budget, side: int) -> float:
    keys = to_key(([-9.0, 0.0], [0.0])[side])
    counts = np.array(([1, 2], [3])[side])
    rate = exponential_rate(cost)
    return choose_median(keys, counts, rate, unit=Unit.REPLACE_ONE, low=-8.0, high=8.0)


def _largest(cost: Budget, unit: Unit, side: int) -> int | None:
    return largest_bucket(_COUNTS[unit][side], cost, low=0, high=1, unit=unit)


def _histogram(cost: Budget, unit: Unit, side: int) -> Hashable:
    keys = [key for key, count in _COUNTS[unit][side].items() for _ in range(count)]
    universe = None if isinstance(cost, Approx) else (0, 1)
    counts = histogram(keys, cost, universe=universe, unit=unit).counts
    # Beyond the exact counts of the two neighbours, a noisy count says nothing more.
    return min(max(counts.get(0, 0), 2), 3), min(counts.get(1, -1), 1)


def _crossing(side: int) -> int | None:
    counts = ([0, 0, 0, 0, 1], [1, 1, 1, 1, 1])[side]
    return above_threshold(counts, threshold=1, epsilon=PURE.epsilon, share=0.5)
