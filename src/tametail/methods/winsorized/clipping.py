"""Where to clip: from the noisy octave counts and what the caller knows. No data here.

A pipeline of functions: anchors (up to where records are seen), the pair of clip points that costs
least, what the caller knows, and from where to tell distances.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tametail.methods.winsorized import constants as tuned
from tametail.methods.winsorized.column import deviation, max_distances
from tametail.methods.winsorized.sums import ClippingBounds
from tametail.methods.winsorized.tail_assumption import Reference
from tametail.methods.winsorized.tail_histogram import (
    NODES_OF_OCTAVE,
    DetectedBins,
    Pair,
    TailHistogram,
    window_sums,
)
from tametail.methods.winsorized.tail_models import Array, ClippingScores
from tametail.queries.column import edge_above, edge_below
from tametail.tail import Bounded, Moment

if TYPE_CHECKING:
    from tametail.methods.winsorized.column import ColumnPlan as Plan


@dataclass(frozen=True, slots=True)
class ClippingBound:
    """The distance of a clip point from the center, and what to add back for what lies beyond."""

    distance: float
    excess: float


def choose_clipping(
    plan: Plan, center: float, tails: TailHistogram, size: int, reference: Reference
) -> ClippingBounds:
    """Return the clip points that the counts suggest, within what the caller knows.

    If an interval for the mean is to be measured by the ``reference``, they may be as wide as that.
    """
    limits = max_distances(plan, center)
    seen = tails.detected(limits)  # line 8
    if seen == [None, None]:
        return _default_clipping(plan, center, limits)
    last_bins = raise_detected_bins(plan, tails, seen, limits)  # line 16
    farthest = [max_distance(tails, *pair) for pair in zip(seen, last_bins, strict=True)]
    ends = best_pair(plan, tails, last_bins, farthest)
    ends = [
        _limit_to_assumption(end, limit) for end, limit in zip(ends, limits, strict=True)
    ]  # line 20
    if isinstance(plan.tail, Bounded):
        ends = _snap_to_bounds(_open_undetected_sides(tails, ends, seen, limits), limits)
    if plan.confidence is not None and plan.tail is not None:
        off = tails.offset(last_bins, (ends[0].distance, ends[1].distance))[0] / size
        wanted, exactly = _bounds_for_interval(
            plan, ends, tails.squares(last_bins), (center, off), reference
        )
        most = limits if isinstance(plan.tail, Bounded) else (math.inf, math.inf)
        ends = list(map(_widen, ends, wanted, most))
        if exactly:  # nor any wider: records between reference and clip points cost width
            ends = _bounds_at(plan, tails, last_bins, wanted, size * reference.bias)
    below, above = ends
    offset, doubt = tails.offset(last_bins, (below.distance, above.distance))  # line 21
    offset = min(max(offset / size, -below.distance / 2), above.distance / 2)
    doubt /= size
    if isinstance(plan.tail, Bounded) and None in seen:  # what an opened side holds is not known
        doubt += tuned.UNTOLD * (below.distance + above.distance)
    excess = above.excess - below.excess
    clip = ClippingBounds(
        center, below.distance, above.distance, excess, offset, doubt,
        detected=(last_bins[0], last_bins[1]),
    )  # fmt: skip
    return _widen_thin_side(plan, clip, limits)  # line 22


def second_clipping(plan: Plan, center: float, tails: TailHistogram) -> ClippingBounds:
    """Return the clip points of a second look: the top nodes of what stands out now, if anything.

    Few records away from a common value, such as 5% claims among zeros, may hide in the noise of
    the octave counts. Two noisy counts together are sharper.
    """
    last_bins = tails.detected(max_distances(plan, center))  # line 14
    last = len(tails.above) - 1
    below, above = (
        0.0 if last_bin is None else float(tails.distances[min(last_bin + tuned.WINDOW - 1, last)])
        for last_bin in last_bins
    )
    return ClippingBounds(center, below, above, detected=(last_bins[0], last_bins[1]))


def _default_clipping(plan: Plan, center: float, limits: Pair) -> ClippingBounds:
    """Where to clip if no record stands out, by what the caller knows; at the center else.

    A moment bounds what may hide in the noise, which is best clipped at about this distance: the
    mean is close, as nearly all records are at the center. With bounds, the records may be
    anywhere between them, so that the mean is told from their middle.
    """
    if isinstance(plan.tail, Bounded):
        below, above = limits
        middle, doubt = (above - below) / 2, tuned.UNTOLD * (above + below)
        return ClippingBounds(center, below, above, offset=middle, doubt=doubt, counted=True)
    side = tuned.HIDDEN * (limits[0] - plan.tail.scale) if isinstance(plan.tail, Moment) else 0.0
    return ClippingBounds(center, edge_below(side), edge_below(side))


# --- anchors --------------------------------------------------------------------------------------


def raise_detected_bins(
    plan: Plan, tails: TailHistogram, last_bins: DetectedBins, limits: Pair
) -> DetectedBins:
    """Move an anchor up to records that stand out less, where a false alarm would cost little.

    The cost is the noise of a clip point there, against the variance that the sum has anyway. The
    more it would enlarge that, the more noise scales are needed.
    """
    group = _gap_threshold(plan, tails, last_bins)
    strength = plan.size * plan.budget.strength
    closer = tuned.WEAK_THRESHOLD * math.sqrt(max(strength / tuned.CLOSER_UNTIL, 1.0))

    def highest_of(found: npt.NDArray[np.bool_], start: int, stop: int) -> int | None:
        inside = np.flatnonzero(found[start:stop])
        return start + int(inside[-1]) if len(inside) else None

    raised: DetectedBins = []
    for counts, last_bin, limit in zip(tails.sides, last_bins, limits, strict=True):
        if last_bin is None:
            raised.append(None)
            continue
        within = tails.distances <= limit
        near = (window_sums(counts) >= closer * tails.scale) & within
        far = (window_sums(counts, NODES_OF_OCTAVE) >= group * tails.scale) & within
        candidates = (
            highest_of(far, last_bin + tuned.WINDOW, last_bin + 1 + tuned.NEARBY),
            highest_of(near, last_bin + 1, last_bin + tuned.WINDOW),
        )
        raised.append(next((found for found in candidates if found is not None), last_bin))
    return raised


def _gap_threshold(plan: Plan, tails: TailHistogram, last_bins: DetectedBins) -> Array:
    """Return, per node, the noise scales that move an anchor across a gap."""
    distances, noise = tails.distances, deviation(plan.cost("sum"))
    highest = max(distances[last_bin] for last_bin in last_bins if last_bin is not None)
    variance = max(tails.squares(last_bins), 0.0) + (noise * highest) ** 2
    enlarged = np.log1p((noise * distances) ** 2 / variance)
    needed: Array = np.maximum(tuned.WEAK_THRESHOLD, tuned.RAISE_COST * enlarged)
    return needed


def max_distance(tails: TailHistogram, last_bin: int | None, raised: int | None) -> float:
    """Return how far away a clip point may be, whatever the curves say.

    A group across a gap may be a false alarm: it must not carry the clip point beyond itself.
    """
    if last_bin is None or raised is None:
        return math.inf
    across = raised >= last_bin + tuned.WINDOW
    end = raised + NODES_OF_OCTAVE - 1 if across else last_bin + tuned.FARTHEST
    return math.ldexp(1.0, tails.first + end)


# --- bias and noise of both sides together --------------------------------------------------------

#: A side on which nothing stands out is not clipped any wider than it has to be.
_NOTHING = ClippingScores(np.zeros(1), np.zeros(1), np.zeros(1))


def best_pair(
    plan: Plan, tails: TailHistogram, last_bins: DetectedBins, farthest: list[float]
) -> list[ClippingBound]:
    """Return the pair of clip points with the least risk; both sides share one noise."""
    sides, risk, excess = _score_pairs(plan, tails, last_bins)
    below, above = sides[0].distances[:, None], sides[1].distances[None, :]
    wider = np.maximum(below, above)
    sensitivity = below + above if plan.adjacency.size_is_public else wider
    risk = risk + (deviation(plan.cost("sum")) * sensitivity) ** 2
    risk[(below > farthest[0]) | (above > farthest[1])] = math.inf
    i, j = np.unravel_index(np.argmin(risk), risk.shape)  # line 19
    return [
        ClippingBound(float(sides[0].distances[i]), float(excess[0][i])),
        ClippingBound(float(sides[1].distances[j]), float(excess[1][j])),
    ]


def _score_pairs(
    plan: Plan, tails: TailHistogram, last_bins: DetectedBins
) -> tuple[list[ClippingScores], Array, list[Array]]:
    """Judge both sides, all pairs of their clip points, and what to add back on either side.

    Sides may have nothing to do with each other, or one tail in common; the counts say how likely
    the latter is.
    """
    low, high = last_bins
    if low is not None and high is not None and abs(low - high) <= 1:
        low = high = max(low, high)  # so that the sides can be compared
    fits, sides = [], []
    for counts, last_bin in zip(tails.sides, (low, high), strict=True):
        if last_bin is None:
            sides.append(_NOTHING)
            continue
        fit = tails.fit(counts, last_bin, deviation(plan.budget))  # line 17
        fits.append(fit)
        sides.append(fit.score().scaled(float(tails.distances[last_bin])))
    risk = sides[0].risk[:, None] + sides[1].risk[None, :]
    excess = [side.excess for side in sides]
    if low is not None and low == high:
        unit = float(tails.distances[low])
        alike, both, added = fits[0].score_symmetric(fits[1], tuned.ASYMMETRY)  # line 18
        risk = (1 - alike) * risk + alike * unit**2 * both
        excess = [(1 - alike) * one + alike * unit * added for one in excess]
    return sides, risk, excess


# --- what else is known ---------------------------------------------------------------------------


def _limit_to_assumption(end: ClippingBound, limit: float) -> ClippingBound:
    """The caller's knowledge clips first: then no curve applies, and nothing is added back."""
    return ClippingBound(limit, 0.0) if end.distance > limit else end


def _open_undetected_sides(
    tails: TailHistogram, ends: list[ClippingBound], seen: DetectedBins, limits: Pair
) -> list[ClippingBound]:
    """Between bounds, clip a side where no record stands out as far away as the other.

    Some may hide there. If any stand out half as clearly, clip beyond those.
    """
    widest = max(end.distance for end in ends)

    def opened(counts: Array, limit: float) -> ClippingBound:
        distance = widest
        if (hidden := tails.highest_detected(counts, limit, tuned.HALF_AS_CLEARLY)) is not None:
            last = min(hidden + tuned.WINDOW - 1, len(counts) - 1)
            distance = max(distance, float(tails.distances[last]))
        return ClippingBound(min(distance, limit), 0.0)

    return [
        opened(counts, limit) if last_bin is None else end
        for counts, end, last_bin, limit in zip(tails.sides, ends, seen, limits, strict=True)
    ]


def _snap_to_bounds(ends: list[ClippingBound], limits: Pair) -> list[ClippingBound]:
    """Clip at the bounds if the clip points are hardly closer: it costs little, and cuts none."""
    if sum(end.distance for end in ends) < tuned.NEARLY_AS_WIDE * sum(limits):
        return ends
    return [ClippingBound(limit, 0.0) for limit in limits]


def has_wide_bounds(plan: Plan, clip: ClippingBounds) -> bool:
    """Say whether the look was cut short for bounds that turn out to be far beyond clip points."""
    if not isinstance(plan.tail, Bounded):
        return False
    return clip.below + clip.above < tuned.NEARLY_AS_WIDE * sum(max_distances(plan, clip.center))


def needs_no_squares(plan: Plan, clip: ClippingBounds, tails: TailHistogram) -> bool:
    """Say whether records are clipped at their bounds, and noise is most of the error.

    Then the bounds tell enough about the variance, and the sum had better have all that is left.
    """
    if not isinstance(plan.tail, Bounded) or clip.below + clip.above < sum(
        max_distances(plan, clip.center)
    ):
        return False
    noise = deviation(plan.cost("sum")) * (clip.below + clip.above)
    return noise**2 >= tails.squares(list(clip.detected))


def _widen(end: ClippingBound, wanted: float, limit: float) -> ClippingBound:
    """Clip as wide as an interval wants it, within the caller's knowledge."""
    return ClippingBound(min(edge_above(wanted), limit), 0.0) if wanted > end.distance else end


def _bounds_at(
    plan: Plan, tails: TailHistogram, last_bins: DetectedBins, wanted: Pair, most: float
) -> list[ClippingBound]:
    """Return clip points at these distances, and what the curves have beyond: what may be there."""
    sides, _, excess = _score_pairs(plan, tails, last_bins)
    return [
        ClippingBound(edge_above(one), min(float(np.interp(one, side.distances, added)), most))
        for one, side, added in zip(wanted, sides, excess, strict=True)
    ]


def _bounds_for_interval(
    plan: Plan, ends: list[ClippingBound], squares: float, where: Pair, reference: Reference
) -> tuple[Pair, bool]:
    """Return how far out an interval for the mean wants the clip points, at least.

    And whether it wants them no farther. ``where`` is the center, and how far from it the counts
    put the mean.

    If no record within the interval's reference is clipped, all that is left to doubt is its bias.
    That is worth its noise where this is small next to sampling. Elsewhere both sides are to have
    some width: how many records a clip point cuts is known the less, the more octaves lie below it.
    """
    center, off = where
    if isinstance(plan.tail, Moment):  # the reference is around the mean, not around the center
        margin = tuned.BEYOND_REFERENCE * plan.tail.scale
        off = min(max(off, -plan.tail.scale), plan.tail.scale)  # no median is farther from it
        reach = margin - reference.low - off, margin + reference.high + off
        affordable, width = tuned.AFFORDABLE_BY_SCALE, max(reach) * plan.adjacency.changes
    else:
        reach = center - reference.low, reference.high - center
        affordable, width = tuned.AFFORDABLE, sum(reach)
    noise = deviation(plan.cost("sum")) * width
    if noise**2 <= affordable * squares:
        return reach, isinstance(plan.tail, Moment)
    thin = tuned.THIN_SIDE * max(end.distance for end in ends)
    return (thin, thin), False


def _widen_thin_side(plan: Plan, clip: ClippingBounds, limits: Pair) -> ClippingBounds:
    """Under add-remove a record weighs by its distance from center + offset: widen to both.

    What is added back stays that of the closer clip point, as the curves judged the pair: beyond a
    thin side they have little.
    """
    if plan.adjacency.size_is_public:
        return clip
    widest = max(clip.below + clip.offset, clip.above - clip.offset)
    below = max(clip.below, min(edge_below(widest - clip.offset), limits[0]))
    above = max(clip.above, min(edge_below(widest + clip.offset), limits[1]))
    return replace(clip, below=below, above=above)
