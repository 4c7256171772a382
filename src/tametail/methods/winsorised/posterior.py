"""The interval for the mean, where nothing was told of the tail.

What lies beyond the clip points is not seen. Two laws say what it may be (:class:`Hidden`):

* the curves of ``curves``, from power laws to sudden ends, each weighed by how well it explains the
  noisy counts, and each summed up to infinity. If those without a finite mean weigh too much, no
  end can be given on that side;
* a group of records across a gap, beyond all that is seen. It is rare, the rarer the farther away,
  and by Bayes as likely as the noisy counts out there make it.

The low end supposes that the tail above stops at the clip point; the high end takes noise,
sampling and what may lie beyond together. The side below is a mirror image. Nothing is proved: a
single record far beyond all others, or a few, escape every such interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from tametail import notes
from tametail.inequalities.quantiles import NOWHERE, Shifts, spread_quantiles
from tametail.means import MEAN, MEAN_AS_SEEN, Interval
from tametail.methods.winsorised import constants as tuned
from tametail.methods.winsorised.calibrated import Error, parts
from tametail.methods.winsorised.clipping import caps, fit_side
from tametail.tail import Bounded

if TYPE_CHECKING:
    from tametail.methods.winsorised.column import ColumnPlan as Plan
    from tametail.methods.winsorised.sums import Clip
    from tametail.methods.winsorised.tail_histogram import Array, Tails
    from tametail.notes import Note


@dataclass(frozen=True, slots=True)
class Hidden:
    """What may lie beyond the clip point of one side.

    ``excess`` is the law of the sum of the excesses, or of their mean; ``endless`` says whether
    that may have no limit, and ``group`` how many times likelier than beforehand the counts make a
    group across a gap.
    """

    excess: Shifts = NOWHERE
    endless: bool = False
    group: float = 0.0

    def over(self, count: float) -> Hidden:
        """Return the same for a mean of so many records."""
        return replace(self, excess=Shifts(self.excess.points / count, self.excess.weights))

    def moved(self, by: float) -> Shifts:
        """Return the law of the excess and this together."""
        return Shifts(self.excess.points + by, self.excess.weights)

    def quantile(self, risk: float) -> float:
        """Return what the excess exceeds with this probability; infinite if it has no limit."""
        if self.endless:
            return math.inf
        beyond = 1 - np.cumsum(self.excess.weights) + self.excess.weights / 2
        return float(np.interp(-risk, -beyond, self.excess.points))


Sides = tuple[Hidden, Hidden]
"""Below and above the centre."""


def as_seen(
    plan: Plan, value: float, centre: float, error: Error, sides: Sides, pulled: float = 0.0
) -> Interval:
    """Return the interval for the mean, if the tail goes on as seen; it holds ``value``.

    ``centre`` is the clipped mean, ``error`` the law of its error and ``sides`` what clipping took
    off it; shrinking rows of several columns took off ``pulled`` at most.
    """
    risk, (below, above) = 1 - (plan.confidence or 0.0), sides
    laws = [error.side(risk / 2, -1, below.excess), error.side(risk / 2, 1, above.excess)]
    # In squares: that shrinking rows took off all it may, and that noise and sampling are at their
    # ends on the same side, is rarer than either (decision 0222 has the coverage).
    down, up = (math.hypot(end, pulled) for end in spread_quantiles(laws, risk / 2))
    low = -math.inf if below.endless else min(centre - down - error.rounding, value)
    high = math.inf if above.endless else max(centre + up + error.rounding, value)
    truncation = max(side.quantile(risk / 2) for side in sides)
    found = parts(
        error, risk,
        truncation=math.hypot(truncation, pulled),
        privacy=math.hypot(privacy(value - centre, error, sides, risk), pulled),
    )  # fmt: skip
    return Interval(low, high, MEAN_AS_SEEN, proved=False, parts=found)


def privacy(added: float, error: Error, sides: Sides, risk: float) -> float:
    """Return what privacy changed: the value may be so far from the mean of the same records.

    That is noise on sum and count, and what the private clip points took away, less what was
    ``added`` back.
    """
    if any(side.endless for side in sides):
        return math.inf
    below, above = sides
    laws = [error.changed(below.moved(added)), error.changed(above.moved(-added))]
    return max(spread_quantiles(laws, risk / 2))


def notes_of(sides: Sides, intervals: tuple[Interval, ...]) -> tuple[Note, ...]:
    """Return the warnings about what may lie beyond the clip points."""
    said = []
    if any(side.group > tuned.GROUP_LIKELY and not side.endless for side in sides):
        said.append(notes.FAR_GROUP)
    if intervals and intervals[0].describes != MEAN:  # which says that nothing is known
        below, above = sides
        if above.endless and math.isinf(intervals[0].high):
            said.append(notes.NO_UPPER_LIMIT)
        if below.endless and math.isinf(intervals[0].low):
            said.append(notes.NO_LOWER_LIMIT)
    return tuple(said)


def hidden(plan: Plan, clip: Clip, tails: Tails, count: float) -> Sides:
    """Return what may lie beyond the clip points, over a number of records that are seen."""
    ends, limits = (clip.below, clip.above), caps(plan, clip.centre)
    highest = max(anchor for anchor in clip.anchors if anchor is not None)
    below, above = (
        _hidden(plan, tails, counts, anchor, highest, (end, limit)).over(count)
        for counts, anchor, end, limit in zip(tails.sides, clip.anchors, ends, limits, strict=True)
    )
    return below, above


def _hidden(
    plan: Plan, tails: Tails, counts: Array, anchor: int | None, highest: int,
    ends: tuple[float, float],
) -> Hidden:  # fmt: skip
    """Return what may lie beyond a clip point, given that and the farthest that a record can be."""
    end, limit = ends
    excess, weights, endless = np.zeros(1), np.ones(1), 0.0
    limited = isinstance(plan.tail, Bounded) or (plan.half is not None and math.isfinite(limit))
    if anchor is not None:
        unit = float(tails.distances[anchor])
        fit = fit_side(plan, tails, counts, anchor)
        excess, weights, endless = fit.beyond(end / unit)
        if limited:  # nothing lies beyond the bound
            excess = excess - fit.beyond(max(limit, end) / unit)[0]
        excess = unit * excess
    found = Hidden(thinned(excess, weights))
    if plan.tail is not None or limited:
        return found
    start = (highest if anchor is None else anchor) + tuned.WINDOW
    far, odds = _group(tails, counts, start, end)
    likelier = float(odds.sum())
    # A group lies beyond what the curves have, of which this is usual.
    excess = np.append(excess, found.quantile(0.5) + far)
    prior = _prior(plan)
    weights = np.append((1 - prior) * weights, prior * odds)
    return Hidden(thinned(excess, weights), endless > tuned.ENDLESS, likelier)


def _prior(plan: Plan) -> float:
    """Return how likely a group across a gap is beforehand.

    It would be some noise scales of records: the more records there are, the smaller a part of them
    that is, and the likelier.
    """
    strength = max(plan.n or 1, 1) * plan.budget.strength
    more = math.pow(strength / tuned.GROUP_USUAL, tuned.GROUP_MORE)
    return min(tuned.GROUP_PRIOR * more, tuned.MOST_GROUP)


def _group(tails: Tails, counts: Array, start: int, end: float) -> tuple[Array, Array]:
    """Return sums of excesses that a group across a gap may have, and its odds against none.

    It has some noise scales of records, a part of which counts at the node above. Where there are
    no records, the odds that noise gives to all groups together are 1 on average.
    """
    places = np.arange(len(counts)) if tails.nodes is None else tails.nodes
    fine = places[:-1][np.diff(places) == 1]  # the octaves that have both nodes to themselves
    octaves = fine[(fine >= start) & (fine < start + tuned.GROUP_OCTAVES)]
    if not len(octaves):
        return np.zeros(0), np.zeros(0)
    sizes, upper, prior = _groups()
    here, above = (counts[octaves + ahead][:, None] / tails.scale for ahead in (0, 1))
    log_odds = _log_odds(tails, here, sizes * (1 - upper)) + _log_odds(tails, above, sizes * upper)
    fall = 2.0 ** (-tuned.GROUP_FALL * (octaves - start))
    odds = (fall / fall.sum())[:, None] * prior * np.exp(np.minimum(log_odds, 500.0))
    distances = tails.distances[octaves][:, None] * (1 + upper)
    excess = sizes * tails.scale * np.maximum(distances - end, 0.0)
    return excess.ravel(), odds.ravel()


@lru_cache(maxsize=1)
def _groups() -> tuple[Array, Array, Array]:
    """Return sizes, the parts of them at the node above, and prior weights."""
    sizes, upper = np.meshgrid(tuned.GROUP_SIZES, tuned.GROUP_PARTS)
    rare = 1 / np.sqrt(sizes.ravel())
    return sizes.ravel(), upper.ravel(), rare / rare.sum()


def _log_odds(tails: Tails, seen: Array, expected: Array) -> Array:
    """Return how much likelier noise makes what is seen if so much is there, in noise scales."""
    if tails.noise.kind == "laplace":
        found: Array = np.abs(seen) - np.abs(seen - expected)
        return found
    return expected * (2 * seen - expected) / 4


def thinned(values: Array, weights: Array) -> Shifts:
    """Return few points that stand for a law, the closer together the rarer what lies beyond."""
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    levels, shares = _levels()
    places = np.searchsorted(reached, levels * reached[-1])
    return Shifts(values[order][np.minimum(places, len(values) - 1)], shares)


@lru_cache(maxsize=1)
def _levels() -> tuple[Array, Array]:
    """Return the levels of the points, and their weights."""
    beyond = np.append(np.geomspace(1.0, tuned.LAST_POINT, tuned.POINTS), 0.0)
    return 1 - (beyond[1:] + beyond[:-1]) / 2, beyond[:-1] - beyond[1:]
