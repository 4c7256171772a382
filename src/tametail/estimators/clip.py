"""Where to clip: from the noisy octave counts and what the caller knows. No data here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tametail.estimators.tail_fit import Side, clip_point
from tametail.tail import Bounded, Moment
from tametail.theory import bias_constant
from tametail.unit import Unit

if TYPE_CHECKING:
    from tametail.estimators.tails import Tails
    from tametail.planning import Plan

#: Under replace-one the thin side is at least this part of the other: nearly free, and safer.
THIN_SIDE = 0.06

#: Records that are expected beyond a clip point, times epsilon.
RECORDS_BEYOND = 8.5

#: The part of the expected excess beyond the clip points that is added back.
CORRECTION = 0.27


@dataclass(frozen=True, slots=True)
class Clip:
    """Records are clipped to [centre - below, centre + above]; both are 0 if nothing is seen."""

    centre: float
    below: float
    above: float
    correction: float = 0.0

    @property
    def ends(self) -> tuple[float, float]:
        """The clip points."""
        return self.centre - self.below, self.centre + self.above

    @property
    def side(self) -> float:
        """The larger distance of a clip point from the centre."""
        return max(self.below, self.above)


def choose_clip(plan: Plan, centre: float, tails: Tails) -> Clip:
    """Return the clip points that the counts suggest, within what the caller knows."""
    target = RECORDS_BEYOND / plan.budget.strength
    sides = [
        clip_point(counts, tails.first, tails.scale, target)
        for counts in (tails.below, tails.above)
    ]
    if sides == [None, None]:
        return Clip(centre, 0.0, 0.0)
    below, above = (Side(0.0, 0.0) if side is None else side for side in sides)
    # Under add-remove a record weighs by its distance from the centre, so both sides may be equal
    # for the price of one; under replace-one it is the width that counts.
    thin = 1.0 if plan.unit is Unit.ADD_REMOVE else THIN_SIDE
    floor = thin * max(below.distance, above.distance)
    caps = _caps(plan, centre)
    distances = [
        min(max(side.distance, floor), cap) for side, cap in zip((below, above), caps, strict=True)
    ]
    # Where the caller's knowledge clips first, the fit beyond its clip point does not apply.
    excess = [
        side.excess if side.distance <= cap else 0.0
        for side, cap in zip((below, above), caps, strict=True)
    ]
    return Clip(centre, distances[0], distances[1], CORRECTION * (excess[1] - excess[0]))


def _caps(plan: Plan, centre: float) -> tuple[float, float]:
    """Return the largest useful distances below and above the centre."""
    tail = plan.tail
    if isinstance(tail, Bounded):
        return max(centre - tail.low, 0.0), max(tail.high - centre, 0.0)
    if isinstance(tail, Moment):
        # Beyond this distance the worst-case bias is smaller than the noise (docs/interval.md),
        # and the median is within scale 2^(1/k) of the mean.
        strength = (plan.n or 1) * plan.cost("sum").strength
        reach = (((tail.k - 1) / 8) ** 0.5 * bias_constant(tail.k) * strength) ** (1 / tail.k)
        cap = tail.scale * (max(reach, 1.0) + 2 ** (1 / tail.k))
        return cap, cap
    return float("inf"), float("inf")
