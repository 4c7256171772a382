"""A slow reference for every query, in exact Python numbers, from the query specification."""

from __future__ import annotations

import math
import struct
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from tametail.queries.column import (
    Buckets,
    ClippedSum,
    Count,
    DistanceSum,
    Lattice,
    Median,
    Squares,
    TailNodes,
)


def _ticks(lattice: Lattice, value: float) -> int:
    scaled = value * 2.0**-lattice.exponent
    if math.isinf(scaled):
        return lattice.high if scaled > 0 else lattice.low
    return math.floor(min(max(Fraction(scaled), lattice.low), lattice.high))


def _nodes(query: TailNodes, values: list[float]) -> tuple[int, ...]:
    counts: Counter[tuple[bool, int]] = Counter()
    for value in values:
        distance = value - query.centre
        side, size = distance > 0, abs(distance)
        if size < 2.0**-1022:
            continue
        octave = 1024 if math.isinf(size) else math.frexp(size)[1] - 1
        nodes = query.nodes
        if octave in nodes and octave + 1 in nodes:
            sixteenth = math.floor((Fraction(size) / Fraction(2) ** octave - 1) * 16)
            counts[side, octave + 1] += 2 * sixteenth + 1
            counts[side, octave] += 31 - 2 * sixteenth
        else:
            counts[side, next((node for node in nodes if node > octave), nodes[-1])] += 32
    found = tuple(counts[side, node] for side in (False, True) for node in query.nodes)
    return (*found, 32 * len(values)) if query.counted else found


def _squares(query: Squares, values: list[float]) -> int:
    unit = Fraction(4) ** (query.octave - 12)
    largest = (Fraction(16 + query.cap) * Fraction(2) ** (query.octave - 4)) ** 2
    total = 0
    for value in values:
        size = abs(value - query.centre)
        if size < 2.0**-1022:
            continue
        square = largest
        if math.isfinite(size):
            sixteenth = Fraction(2) ** (math.frexp(size)[1] - 5)
            square = min(((Fraction(size) // sixteenth + 1) * sixteenth) ** 2, largest)
        total += square // unit
    return total


def _distance_sum(query: DistanceSum, values: list[float]) -> tuple[int, ...]:
    lattice, tick, total = query.lattice, Fraction(2) ** query.lattice.exponent, Fraction(0)
    for value in values:
        distance = value - query.centre
        size = abs(distance)
        if size < 2.0**-1022:
            continue
        kept = Fraction(2) ** 1024
        if math.isfinite(size):
            last_bit = Fraction(2) ** (math.frexp(size)[1] - 33)
            kept = Fraction(size) // last_bit * last_bit
        total += min(kept, lattice.high * tick) if distance > 0 else -min(kept, -lattice.low * tick)
    answer = math.floor(total / tick) - lattice.centre * len(values)
    weight = query.count_weight
    return (answer, weight * len(values)) if weight else (answer,)


def _buckets(query: Buckets, values: list[float]) -> dict[int, int]:
    scaled = [value * query.inverse_width for value in values]
    keys = Counter(math.floor(key) for key in scaled if math.isfinite(key))
    return {key: count for key, count in keys.items() if query.low <= key <= query.high}


def _key(value: float) -> int:
    finite = min(max(value, -1.7976931348623157e308), 1.7976931348623157e308)
    (magnitude,) = struct.unpack("<q", struct.pack("<d", abs(finite)))
    return -magnitude if value < 0 else magnitude


def _reference(query, records):  # noqa: PLR0911 - one for each kind of query
    values = [x for x in records if x is not None and not math.isnan(x)]
    match query:
        case Count():
            return len(values), len(records) - len(values), 0
        case ClippedSum(lattice, weight):
            total = sum(_ticks(lattice, x) - lattice.centre for x in values)
            return (total, weight * len(values)) if weight else (total,)
        case DistanceSum():
            return _distance_sum(query, values)
        case Buckets():
            return _buckets(query, values)
        case Squares():
            return (_squares(query, values),)
        case TailNodes():
            return _nodes(query, values)
        case Median(halvings=0):
            return sorted(Counter(map(_key, values)).items())
    raise AssertionError(query)


def _comparable(answer):
    """Bring the one answer that is a pair of arrays into the reference's form."""
    if isinstance(answer, tuple) and isinstance(answer[0], np.ndarray):
        return list(zip(*(part.tolist() for part in answer), strict=True))
    return answer


@pytest.fixture(scope="session")
def reference():
    return _reference


@pytest.fixture(scope="session")
def comparable():
    return _comparable


#: Queries whose edges and clip points are hit exactly by the values below.
QUERIES = [
    Count(),
    ClippedSum(Lattice(exponent=-3, low=-16, centre=-1, high=40)),
    ClippedSum(Lattice(exponent=-3, low=-16, centre=0, high=40), count_weight=7),
    ClippedSum(Lattice(exponent=1022, low=-5, centre=0, high=3), count_weight=1),
    ClippedSum(Lattice(exponent=-1022, low=-(2**36), centre=0, high=2**36)),
    ClippedSum(Lattice(exponent=0, low=2**53 - 9, centre=2**53 - 4, high=2**53)),
    DistanceSum(0.0, Lattice(exponent=-3, low=-16, centre=-1, high=40)),
    DistanceSum(-2.0, Lattice(exponent=-4, low=-17, centre=5, high=31 << 20), count_weight=7),
    DistanceSum(1 / 3, Lattice(exponent=-30, low=-(17 << 25), centre=0, high=0), count_weight=1),
    DistanceSum(0.0, Lattice(exponent=1000, low=-(1 << 23), centre=0, high=31 << 19)),
    DistanceSum(0.0, Lattice(exponent=-1022, low=-(2**35), centre=2**34, high=2**35)),
    Buckets(inverse_width=0.5, low=-4, high=10**300),
    Buckets(inverse_width=2.0**-1000, low=-(2**60), high=2**60),
    TailNodes(centre=0.0, first=-4, last=6),
    TailNodes(centre=0.0, first=-4, last=6, counted=True),
    TailNodes(centre=-2.0, first=-1022, last=1023),
    TailNodes(centre=1.5, first=2, last=2),
    TailNodes(centre=0.0, first=-21, last=40, counted=True, fine=(-1, 3)),
    TailNodes(centre=-2.0, first=-1022, last=1023, fine=(0, 0)),
    Squares(centre=0.0, octave=2, cap=16),
    Squares(centre=-2.0, octave=1023, cap=1),
    Squares(centre=0.1, octave=-40, cap=5),
    Median(halvings=0, low=-math.inf, high=math.inf),
]

NUMBERS = [
    *(0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, -(2.0**-1022), 2.2250738585072009e-308),
    *(1e308, -1e308, 1.7976931348623157e308, math.inf, -math.inf, 2.0**1022, -(2.0**1023)),
    *(-2.0, 5.0, 4.9999999999999996, 5.000000000000001, -2.0000000000000004, 0.125, -0.125),
    *(1.0, 1.0625, 1.0624999999999998, 2.0, 63.999999999999993, 64.0, -7.5, 0.1, 1 / 3, 19.99),
    *(2.0**53, 2.0**53 - 1, -(2.0**53), 8.0, -8.000000000000002),
]


@pytest.fixture(scope="session", params=QUERIES, ids=lambda q: type(q).__name__)
def query(request):
    return request.param


@pytest.fixture(scope="session")
def queries():
    """All of them, for tests in which each is asked of many kinds of data."""
    return QUERIES


@pytest.fixture(scope="session")
def numbers():
    """Doubles at every border: no missing ones."""
    return list(NUMBERS)


@pytest.fixture(scope="session")
def records():
    """The numbers with missing records among them."""
    return [None, *NUMBERS[:9], math.nan, *NUMBERS[9:], None]
