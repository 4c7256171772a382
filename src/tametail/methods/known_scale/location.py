r"""Where the records are: a private choice among buckets, and how likely it is to fail.

With a scale s the mean is looked for among buckets of s/8 to s/4. A record counts fully for
candidates within 4s/3 of it and ever less up to 4s
(:class:`tametail.queries.densest_bin.DensestBin`).

**The chance of a lost center.** Let a be the exponent per record, mu the mean, G the candidates
within s of it, W all weights and w(G) those of G. For a candidate t let
Y = (mean over G of the weight of a record) - (its weight for t), so that \|Y\| <= 1. By Jensen's
inequality the sum over G of w e^(score) is at least w(G) e^(mean score of G), so that

    P(t is chosen) <= w(t)/w(G) E e^(-a sum Y) <= w(t)/w(G) m^n,
    m = (1 + g)/2 e^-a + (1 - g)/2 e^a,

where g <= E Y for every law with E X = mu and E\|X - mu\|^k <= s^k: e^(-a y) is convex. With
z = (x - mu)/s, g may be the least of Y(x) + l (\|z\|^k - 1) + h z over all x, for any l >= 0 and h,
since that has the same or a smaller expectation; the best of some are taken, on a grid of z.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tametail.errors import InternalError
from tametail.notes import Note, few_records
from tametail.privacy.budget import Budget, exponential_rate
from tametail.queries.densest_bin import LARGEST_KEY, DensestBin, mass_of, octave_spans, weight_of
from tametail.tail import Moment

if TYPE_CHECKING:
    from tametail.methods.winsorized.column import ColumnPlan

Array = npt.NDArray[np.float64]

#: How far from a candidate for the range a record may be and still count for it, in scales: sight
#: of records that are spread, against precision. And by how much of their weight usual records
#: stand out there, for a law of about the scale that was told.
REACH = 4.0
TYPICAL = 0.95

#: From so many buckets on, candidates far from 0 weigh less. Then the mean is expected within
#: 2^EXPECTED_OCTAVE buckets of 0, which is what the chance of a lost center is about.
#: If a range was told, the mean may be anywhere in it, where the budget suffices (decision 0212).
MANY_BUCKETS = 1 << 18
EXPECTED_OCTAVE = 16

#: A lost center that is likelier than this is worth a warning.
SELDOM = 1e-3

#: Distances from the mean at which the choice is judged, in scales: up to where the weights of a
#: candidate and of those near the mean have no record in common.
_RINGS = np.linspace(0.0, 2 * REACH + 2, 21)
_POINTS = np.linspace(-24.0, 24.0, 241)
_PRICES = np.concatenate([[0.0], np.geomspace(1e-3, 4.0, 32)])[:, None, None]
_TILTS = np.linspace(-0.6, 0.6, 25)[None, :, None]
_NEAR = np.linspace(-1.0, 1.0, 9)


def around(plan: ColumnPlan, place: float) -> tuple[float, float]:
    """Return where the median is, if most records are near this place."""
    low, high = plan.possible
    place, far = min(max(place, low), high), REACH * scale_of(plan).scale
    return max(low, place - far), min(high, place + far)


def scale_of(plan: ColumnPlan) -> Moment:
    """Return the moment that this method is for."""
    if not isinstance(plan.tail, Moment):
        raise InternalError("where records are is looked for by a moment.")
    return plan.tail


def densest_bin_query(plan: ColumnPlan) -> DensestBin:
    """Return the query for the bucket that most records are near."""
    scale = scale_of(plan).scale
    exponent = math.frexp(scale)[1] - 3
    reach = round(REACH * math.ldexp(scale, -exponent))
    low, high = (_key(end, exponent) for end in plan.possible)
    low, high = max(low - reach, -LARGEST_KEY), min(high + reach, LARGEST_KEY)
    return DensestBin(
        inverse_width=math.ldexp(1.0, -exponent), low=low, high=high, reach=reach,
        falling=high - low > MANY_BUCKETS,
    )  # fmt: skip


def _key(end: float, exponent: int) -> int:
    limit = math.ldexp(float(LARGEST_KEY), exponent)
    return math.floor(math.ldexp(min(max(end, -limit), limit), -exponent))


def middle(query: DensestBin, key: int | None) -> float:
    """Return the middle of a bucket."""
    return ((key or 0) + 0.5) / query.inverse_width


def digits(plan: ColumnPlan, *, anywhere: bool = False) -> float:
    """Return ln(W/w(G)): the nats by which the candidates near the mean must stand out.

    For a mean where it is expected, or ``anywhere`` that was told.
    """
    query = densest_bin_query(plan)
    near = 2 * scale_of(plan).scale * query.inverse_width
    octave = _farthest(plan, query, anywhere=anywhere).bit_length() - 1
    each = weight_of(octave if query.falling else -1)
    return max(math.log(mass_of(query)) - math.log(each) - math.log(near), 0.0)


def _farthest(plan: ColumnPlan, query: DensestBin, *, anywhere: bool) -> int:
    """Return how many buckets the mean is from 0: as expected, or at most if that is told."""
    if not (anywhere and all(map(math.isfinite, plan.possible))):
        return 1 << EXPECTED_OCTAVE
    return max(abs(query.low), abs(query.high))


def loss(plan: ColumnPlan, *, anywhere: bool = False) -> float:
    """Return the root mean squared error of a draw by the weights alone."""
    query = densest_bin_query(plan)
    if not query.falling:
        return (query.high - query.low + 1) / query.inverse_width / math.sqrt(3)
    spans = octave_spans(query).items()
    square = sum(
        weight_of(octave) * (last - first + 1) << 2 * octave
        for octave, ends in spans
        for first, last in ends
    )
    mean = _farthest(plan, query, anywhere=anywhere)
    return math.hypot(math.sqrt(square / mass_of(query)), mean) / query.inverse_width


def exponent(cost: Budget, plan: ColumnPlan) -> float:
    """Return a: by how many nats one record can move a score."""
    return float(exponential_rate(cost, monotone=plan.adjacency.one_way))


def chance(plan: ColumnPlan, cost: Budget) -> float:
    """Bound the chance that the center is lost: that it has nothing to do with the records.

    Wherever the mean is within what was told; if nothing was, within some thousand scales of 0.
    """
    gap = float(gaps(scale_of(plan).k)[-1])
    return math.exp(min(digits(plan, anywhere=True) + _power(plan, cost, gap), 0.0))


def odds(plan: ColumnPlan, cost: Budget, *, anywhere: bool = False) -> float:
    """Predict the odds of a lost center, for usual records."""
    needed = digits(plan, anywhere=anywhere)
    return math.exp(min(needed + _power(plan, cost, TYPICAL), 100.0))


def astray(plan: ColumnPlan, cost: Budget) -> list[tuple[float, float]]:
    """Bound the chances that the center is farther from the mean than so many scales."""
    found = []
    chances = [0.0, chance(plan, cost)]
    near = 2.0  # the width of G
    for index in range(len(_RINGS) - 2, -1, -1):
        gap = float(gaps(scale_of(plan).k)[index])
        ring = 2 * (_RINGS[index + 1] - _RINGS[index]) / near
        chances.append(ring * math.exp(min(_power(plan, cost, gap), 0.0)))
        found.append((float(_RINGS[index]), min(sum(chances), 1.0)))
    return found[::-1]


def location_note(chance: float) -> tuple[Note, ...]:
    """Say how likely a lost center is, if it is likely."""
    if chance < SELDOM:
        return ()
    likely = f"with probability up to {chance:.0%}" if chance < 0.5 else ("with high probability")
    text = (
        f"Locating the data fails {likely}, and then the error is large. Use more records, a "
        "larger epsilon, or a narrower within=."
    )
    return (few_records(text),)


def _power(plan: ColumnPlan, cost: Budget, gap: float) -> float:
    """Return ln m^n."""
    a, n = exponent(cost, plan), plan.size
    if a > 30:  # e^a would leave nothing of the first term
        return 0.0
    return n * math.log((1 + gap) / 2 * math.exp(-a) + (1 - gap) / 2 * math.exp(a))


@lru_cache(maxsize=64)
def gaps(k: float) -> Array:
    """Return g for candidates from each ring on, for the worst law with this moment."""
    near = np.mean([_weight(np.abs(_POINTS - move)) for move in _NEAR], axis=0)
    price = _PRICES * (np.minimum(np.abs(_POINTS) ** k, 1e9) - 1) + _TILTS * _POINTS
    found = []
    for first, last in zip(_RINGS, [*_RINGS[1:], math.inf], strict=True):
        away = np.maximum(np.maximum(first - _POINTS, _POINTS - last), 0.0)
        found.append((near - _weight(away) + price).min(axis=2).max())
    return np.array(found)


def _weight(away: Array) -> Array:
    """What a record adds to a score, by its distance in scales, as a part of the most."""
    flat = REACH / 3
    weight: Array = 1 - (np.maximum(away - flat, 0.0) / (REACH - flat)) ** 2
    return np.maximum(weight, 0.0)
