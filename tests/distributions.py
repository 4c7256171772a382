"""Whether draws follow a distribution, with a bound on how often a sound source is refused."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from scipy import stats

#: How often a sound source is refused, at most.
REFUSED = 1e-9

Event = Callable[[Any], bool]


def follows(draws: Iterable[Any], events: Mapping[Event, float]) -> bool:
    """Say whether events happen as often among independent draws as their probabilities say.

    How often an event happens is binomial. An event is refused if so few, or so many, have a
    probability below its part of ``REFUSED``. That happens at most with that probability, and by
    the union bound the parts add up to ``REFUSED``.
    """
    counted = Counter(draws)
    size = counted.total()
    for event, probability in events.items():
        hits = sum(count for value, count in counted.items() if event(value))
        if min(_few_or_many(hits, size, probability)) < REFUSED / (2 * len(events)):
            return False
    return True


def _few_or_many(hits: int, size: int, probability: float) -> tuple[float, float]:
    law = stats.binom(size, probability)
    return float(law.cdf(hits)), float(law.sf(hits - 1))


def equally_likely(values: Iterable[Any]) -> dict[Event, float]:
    """Return the events of a uniform distribution: each value, and nothing else."""
    all_of_them = set(values)
    each = {_is(value): 1 / len(all_of_them) for value in sorted(all_of_them)}
    return each | {lambda drawn: drawn not in all_of_them: 0.0}


def noise_events(probability_of: Callable[[int], float], center: int = 0) -> dict[Event, float]:
    """Return the events of noise on the integers: single values, and tails of either side."""
    masses = {z: probability_of(z) for z in range(-2000, 2001)}
    events = {_is(center + z): masses[z] for z in range(-8, 9)}
    for least in (1, 2, 4, 8, 16, 32):
        tail = math.fsum(mass for z, mass in masses.items() if z >= least)
        events[_above(center + least)] = tail
        events[_below(center - least)] = tail
    return events


def laplace_law(scale: float) -> Callable[[int], float]:
    """Return the probabilities of discrete Laplace noise."""
    p = math.exp(-1 / scale)
    return lambda z: (1 - p) / (1 + p) * p ** abs(z)


def gaussian_law(sigma: float) -> Callable[[int], float]:
    """Return the probabilities of discrete Gaussian noise."""
    mass = math.fsum(math.exp(-(z**2) / (2 * sigma**2)) for z in range(-2000, 2001))
    return lambda z: math.exp(-(z**2) / (2 * sigma**2)) / mass


def _is(value: Any) -> Event:
    return lambda drawn: bool(drawn == value)


def _above(least: int) -> Event:
    return lambda drawn: bool(drawn >= least)


def _below(most: int) -> Event:
    return lambda drawn: bool(drawn <= most)
