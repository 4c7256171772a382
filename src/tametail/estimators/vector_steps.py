"""The steps of a vector mean: what is asked, and what follows from the answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tametail.budget import Budget, Zcdp
from tametail.choices import choice_rate
from tametail.column_queries import WIDEST_RADIUS, Ball, BallLevels, ColumnMedians, Distances
from tametail.estimators.vector_shares import SCALE_RANK, halvings
from tametail.tail import Bounded, Moment

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.vector_planning import VectorPlan

Floats = npt.NDArray[np.float64]

#: Octaves of distances that are told apart; what lies below the first is a constant column.
OCTAVES = tuple(2.0**octave for octave in range(-128, 128))

#: Candidates far from 1 weigh less, by a factor 2 every 16 octaves; "constant" weighs 1.
OCTAVE_WEIGHTS = (1 << 20, *((1 << 20) >> abs(octave) // 16 for octave in range(-128, 128)))

#: Tail points lie on half octaves, up to 16 octaves above the scale, and weigh 1 / cube.
HALF_OCTAVES = tuple(2.0 ** (step / 2) for step in range(33))
TAIL_WEIGHTS = tuple(round(2.0 ** (60 - 1.5 * step)) for step in range(34))

#: Rank of a tail point, times epsilon of its choice.
TAIL_RANK = 6.0

#: Part of the weights that all columns share alike; the rest goes to columns of wide tails.
EVEN = 2 / 3

#: Cells of rows outside of the ball are clipped at this many tail points.
CLIP = 4.0

#: Radii per octave.
FINENESS = 8

#: Radii are between these powers of two, where a row at its tail points has norm 1.
FIRST_RADIUS, LAST_RADIUS = -5, 5

#: With a scale that was told the records may be much narrower.
FIRST_RADIUS_TOLD = -10


@dataclass(frozen=True, slots=True)
class Weighing:
    """Centres, tail points and weights: a row becomes ``z = factors * (x - centres)``.

    A tail point of 0 means that the column looks constant; its factor is 0.
    """

    centres: Floats
    tails: Floats
    factors: Floats

    @property
    def live(self) -> npt.NDArray[np.bool_]:
        """Which columns do not look constant."""
        return self.factors > 0


def find_weights(plan: VectorPlan, ask: Ask, size: int) -> Weighing:
    """Ask for centres, scales and tail points, and weigh the columns."""
    times = halvings(plan.cost("centre"), size, plan.dim)
    centres = ask.medians(ColumnMedians(times, plan.possible), plan.cost("centre"))
    told = plan.scales
    tails = np.array(told if told else _find_tails(plan, ask, centres, size))
    for column, tail in enumerate(plan.tails):
        if isinstance(tail, Moment) and not told:
            tails[column] = tail.scale
        elif isinstance(tail, Bounded):
            reach = max(centres[column] - tail.low, tail.high - centres[column])
            tails[column] = min(tails[column], reach)
    order = norm_order(plan.cost("sum"))
    return Weighing(np.array(centres), tails, weigh(tails, order))


def _find_tails(plan: VectorPlan, ask: Ask, centres: tuple[float, ...], size: int) -> Floats:
    """Return a distance per column beyond which there are few records; 0 if it looks constant."""
    cost, dim = plan.cost("scale"), plan.dim
    times = halvings(cost, size, dim)
    sample = max(size >> times, 1)
    query = Distances(
        centres,
        (OCTAVES,) * dim,
        _rank(SCALE_RANK / choice_rate(cost, dim, times), sample / 2),
        OCTAVE_WEIGHTS,
        times,
    )
    octaves = ask.choose(query, cost)
    scales = [OCTAVES[octave - 1] if octave else 0.0 for octave in octaves]

    cost = plan.cost("tail")
    times = halvings(cost, size, dim)
    sample = max(size >> times, 1)
    steps = [tuple(scale * step for step in HALF_OCTAVES) for scale in scales]
    target = _rank(TAIL_RANK / 2 / choice_rate(cost, dim, times), sample / 4)
    query = Distances(centres, tuple(steps), target, TAIL_WEIGHTS, times)
    ranks = ask.choose(query, cost)
    last = len(HALF_OCTAVES) - 1
    return np.array([step[min(rank, last)] for step, rank in zip(steps, ranks, strict=True)])


def _rank(wanted: float, most: float) -> int:
    return max(1, math.ceil(min(wanted, most)))


def weigh(tails: Floats, order: int) -> Floats:
    """Return factors such that a row at its tail points has norm 1.

    With shares a that add up to 1, the factors are sqrt(a) / T for norm 2 and a / T for norm 1.
    For one unit T would be best in place of even shares (norm 1: T^(2/3)); a mixture of both costs
    no column more than sqrt(1 / EVEN) times its even share.

    >>> weigh(np.array([1.0, 1.0, 0.0]), 1)
    array([0.5, 0.5, 0. ])
    """
    live = tails > 0
    if not live.any():
        return np.zeros_like(tails)
    relative = (tails / tails.max()) ** (1.0 if order == 2 else 2 / 3)
    parts = np.where(live, (1 - EVEN) * relative / relative.sum() + EVEN / live.sum(), 0.0)
    root = np.sqrt(parts) if order == 2 else parts
    return np.where(live, root / np.where(live, tails, 1.0), 0.0)


def norm_order(cost: Budget) -> int:
    """Return 2 where noise is Gaussian, 1 where it is Laplace."""
    return 2 if isinstance(cost, Zcdp) else 1


def make_ball(
    weighing: Weighing, first: float, last: float, *, clip: float, order: int, strength: float
) -> Ball:
    """Return balls of the radii 2**first ... 2**last in integers.

    ``strength`` is that of the weakest step that adds noise: noise on squares must fit in 64 bits.
    """
    bits = min(WIDEST_RADIUS.bit_length() - 1, math.floor((52 + math.log2(min(strength, 1.0))) / 2))
    unit = 2.0 ** (bits - last)
    steps = np.arange(round(FINENESS * (last - first)) + 1) / FINENESS
    radii = sorted({max(1, math.floor(2.0 ** (first + step) * unit)) for step in steps.tolist()})
    inverse = weighing.factors * unit
    clips = np.minimum(np.ceil(clip * weighing.tails * inverse), 2.0**bits)
    return Ball(
        tuple(weighing.centres.tolist()),
        tuple(inverse.tolist()),
        tuple(int(end) for end in clips.tolist()),
        tuple(radii),
        order,
    )


def find_radius(ask: Ask, ball: Ball, live: int, size: int, cost: Budget, final: Budget) -> int:
    """Choose a radius that few rows exceed: the bias of cutting them is about the noise's size."""
    if isinstance(final, Zcdp):
        few = 2 * math.sqrt(live / (2 * final.rho))
    else:
        few = live / final.strength
    target = _rank(1.5 / choice_rate(cost, 1) + few, size / 4)
    count = len(ball.radii)
    weights = tuple(round(2.0 ** (80 - 3 * step / FINENESS)) for step in range(count + 1))
    (chosen,) = ask.choose(BallLevels(ball, target, weights), cost)
    return min(chosen, count - 1)
