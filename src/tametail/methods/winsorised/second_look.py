"""If nothing stands out of the noise: look again, with all that is left.

Few records away from a common value, such as 5% claims among zeros, may hide in the noise of the
octave counts. Nothing better can be done with the budget of the sum than to count again: the two
noisy counts together are sharper, and if records stand out now, the counts themselves give their
sum. If not, the centre is the answer, exactly.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tametail.methods.winsorised.clip import Clip, caps
from tametail.methods.winsorised.counts import WINDOW, Tails
from tametail.methods.winsorised.reference import Sum
from tametail.privacy.budget import Noise, noise_for
from tametail.queries.column import SOFT_ONE, Count, Lattice

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.planning import Plan

#: The part of the budget that goes to the number of records.
COUNT_SHARE = 0.03

#: Two averaged Laplace noises have lighter tails: as safe at a lower threshold.
LOWER_THRESHOLD = 4.0

#: Noises at octave nodes, weighted by their distances, and on two sides: the moment generating
#: function of their sum is below that of 16/3 noises of the top node, and so the tail of the sum
#: (up to probability 0.2) below that of one noise of three times its scale.
TOP_NODES = 3.0

#: Noise that is none: nothing was summed.
LEAST_SCALE = 1e-3


def second_look(plan: Plan, ask: Ask, centre: float, first: Tails) -> tuple[Clip, Tails, Sum]:
    """Count once more, and conclude from both counts."""
    size, cost, count_noise = max(plan.n or 0, 1), plan.cost("sum"), None
    if first.count is None:
        count_cost, cost = cost.split(COUNT_SHARE, 1 - COUNT_SHARE)
        (answer,) = ask(Count(), count_cost)
        count, weight, count_noise = max(float(answer), 1.0), 1, noise_for(count_cost, 1, 1)
    tails = first.averaged_with(Tails.ask(ask, plan, centre, cost))
    if count_noise is None:
        (count, weight), count_noise = count_of(plan, tails, size), tails.noise

    anchors = [
        tails.anchor(counts, limit, LOWER_THRESHOLD if tails.noise.kind == "laplace" else 0.0)
        for counts, limit in zip(tails.sides, caps(plan, centre), strict=True)
    ]
    last = len(tails.above) - 1
    tops = [None if anchor is None else min(anchor + WINDOW - 1, last) for anchor in anchors]
    below, above = (0.0 if top is None else float(tails.distances[top]) for top in tops)
    clip, lattice = Clip(centre, below, above), Lattice.around(0.0, below, above)
    total, scale, coarse = 0.0, LEAST_SCALE, 0.0
    if clip.side > 0:
        total = sum(
            sign * float(counts[: top + 1] @ tails.distances[: top + 1])
            for sign, counts, top in zip((-1, 1), tails.sides, tops, strict=True)
            if top is not None
        )
        # Records beyond the top node are left out; what may hide there counts as noise, too.
        hidden = max(tails.beyond(counts, clip.side, 0.001) for counts in tails.sides)
        scale = TOP_NODES * tails.noise.scale / SOFT_ONE + hidden / math.log(100)
        scale *= clip.side / lattice.tick
        # A soft count keeps the sum of distances to within a 32nd of each.
        coarse = clip.side / SOFT_ONE
    noise = Noise(tails.noise.kind, scale)
    return (
        clip,
        tails,
        Sum(centre, lattice, total / lattice.tick, count, weight, noise, coarse, count_noise),
    )


def count_of(plan: Plan, tails: Tails, size: int) -> tuple[float, int]:
    """Return the number of records under replace-one, from the counts by octaves.

    Beside it stands the weight by which the noise of the counts is to be divided; none if the
    caller promises that no record is missing.
    """
    if plan.missing == "none" or tails.count is None:
        return float(size), 0
    # There are no more records than rows, whose number is public, and usually as many.
    step = tails.noise.scale / SOFT_ONE
    return min(max(tails.count, step, 1.0) + step, float(size)), SOFT_ONE
