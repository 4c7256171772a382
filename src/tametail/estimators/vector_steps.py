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
from tametail.estimators.vector_shares import centre_wants, halvings, scale_rank
from tametail.tail import Bounded, Moment

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.vector_planning import VectorPlan

Floats = npt.NDArray[np.float64]

#: Distances that are told apart; what lies below the first is a constant column.
HALF_OCTAVES = tuple(2.0 ** (step / 2) for step in range(-256, 256))

#: Half octaves above a scale in which most of the records beyond it should lie.
WINDOW = 6


def _taper(step: int) -> int:
    """Scales far from 1 weigh less: 3 log2(1 + |octave| / 8) bits, and more above 2**20."""
    octave = abs(step) // 2
    return ((8 + octave) ** 3).bit_length() - 10 + max(0, (step // 2 - 20) // 4)


#: Base masses of scales; that of a constant column comes first.
SCALE_WEIGHTS = (1 << 48, *(1 << 48 - _taper(step) for step in range(-256, 256)))

#: Tail points are up to 16 octaves above the scale, and weigh 1 / T^2; none is at 0.
TAIL_STEPS = tuple(2.0 ** (step / 2) for step in range(-1, 33))
TAIL_WEIGHTS = (0, *(1 << 54 - step for step in range(34)))

#: Rank of a tail point, times the rate of its choice.
TAIL_RANK = 9.0

#: A sample is large enough if at most this part of it lies beyond the distance that is chosen.
SAMPLED_PART = 0.08

#: Part of the weights that all columns share alike; the rest goes to columns of wide tails.
EVEN = 2 / 3

#: Rows that are cut, in units of the noise on their sum; half of it for Laplace noise.
FEW_ROWS = 5.0

#: Radii per octave.
FINENESS = 8

#: Radii are between these powers of two, where a row at its tail points has norm 1.
FIRST_RADIUS, LAST_RADIUS = -5, 7

#: With a scale that was told the records may be much narrower.
FIRST_RADIUS_TOLD = -10


@dataclass(frozen=True, slots=True)
class Weighing:
    """Centres and weights: a row becomes ``z = factors * (x - centres)``.

    A factor of 0 means that the column looks constant.
    """

    centres: Floats
    factors: Floats

    @property
    def live(self) -> npt.NDArray[np.bool_]:
        """Which columns do not look constant."""
        return self.factors > 0


def find_weights(plan: VectorPlan, ask: Ask, size: int) -> Weighing:
    """Ask for centres, scales and tail points, and weigh the columns."""
    times = halvings(plan.cost("centre"), size, plan.dim, centre_wants(plan.dim))
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
    return Weighing(np.array(centres), weigh(tails, order))


def _find_tails(plan: VectorPlan, ask: Ask, centres: tuple[float, ...], size: int) -> Floats:
    """Return a distance per column beyond which there are few records; 0 if it looks constant."""
    scales = _choose_distances(
        ask,
        plan.cost("scale"),
        centres,
        (HALF_OCTAVES,) * plan.dim,
        SCALE_WEIGHTS,
        size,
        scale_rank(plan.dim),
    )
    if not plan.has("tail"):
        return scales
    # The scale lies where many records are; a cheaper choice of few candidates goes farther out.
    steps = tuple(tuple(scale * step for step in TAIL_STEPS) for scale in scales.tolist())
    return _choose_distances(ask, plan.cost("tail"), centres, steps, TAIL_WEIGHTS, size, TAIL_RANK)


def _choose_distances(
    ask: Ask,
    cost: Budget,
    centres: tuple[float, ...],
    distances: tuple[tuple[float, ...], ...],
    weights: tuple[int, ...],
    size: int,
    rank: float,
) -> Floats:
    """Choose a distance per column that about ``rank / rate`` records exceed; 0 if none does."""
    times = halvings(cost, size, len(centres), rank / (2 * SAMPLED_PART))
    target = _rank(rank / choice_rate(cost, len(centres), times), (size >> times) / 2)
    query = Distances(
        centres,
        distances,
        target,
        weights,
        times,
        window=WINDOW,
        least=2 * target // 3 if weights[0] else 0,
    )
    chosen = ask.choose(query, cost)
    return np.array(
        [
            steps[min(index, len(steps) - 1)] if index else 0.0
            for steps, index in zip(distances, chosen, strict=True)
        ]
    )


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
    weighing: Weighing, first: float, last: float, *, order: int, strength: float
) -> Ball:
    """Return balls of the radii 2**first ... 2**last in integers.

    ``strength`` is that of the weakest step that adds noise: noise on squares must fit in 64 bits.
    """
    bits = min(WIDEST_RADIUS.bit_length() - 1, math.floor((52 + math.log2(min(strength, 1.0))) / 2))
    unit = 2.0 ** (bits - last)
    steps = np.arange(round(FINENESS * (last - first)) + 1) / FINENESS
    radii = sorted({max(1, math.floor(2.0 ** (first + step) * unit)) for step in steps.tolist()})
    inverse = weighing.factors * unit
    return Ball(
        tuple(weighing.centres.tolist()),
        tuple(inverse.tolist()),
        tuple(radii),
        order,
    )


def find_radius(ask: Ask, ball: Ball, live: int, size: int, cost: Budget, final: Budget) -> int:
    """Choose a radius that few rows exceed: the bias of cutting them is about the noise's size."""
    if isinstance(final, Zcdp):
        few = FEW_ROWS * math.sqrt(live / (2 * final.rho))
    else:
        few = FEW_ROWS / 2 * live / final.strength
    target = _rank(1.5 / choice_rate(cost, 1) + few, size / 4)
    count = len(ball.radii)
    weights = tuple(1 << max(54 - 3 * step // FINENESS, 0) for step in range(count + 1))
    (chosen,) = ask.choose(BallLevels(ball, target, weights), cost)
    return min(chosen, count - 1)
