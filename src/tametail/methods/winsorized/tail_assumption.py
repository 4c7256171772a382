r"""What a tail assumption says: a reference interval, and whether the counts contradict it.

The reference is what a guaranteed interval is about (docs/explanation/interval-proofs.md). Three
tests look for a contradiction. Each seldom raises a false alarm if the assumption is true: in about
one of a thousand releases at most, if a moment is exactly as large as was said.

* records beyond bounds, or more records far out than a moment allows;
* a moment that is too large. A record at distance d of the center c counts at two nodes, and
  sum 2^(p j) count_j over the nodes up to 2^t is about SOFT times the sum of their p-th powers.
  So it is at most SOFT n E\|X - c\|^p, plus what sampling adds (Bernstein: every term is at most
  2^(p t), their squares are in the counts) and noise. E\|X - c\|^2 is E(X - mu)^2 + (mu - c)^2,
  and E\|X - c\|^p is at most (scale + \|mu - c\|)^p by Minkowski;
* between bounds, the octave in which a bound lies: a record within it counts at the upper node
  up to a part f of what it counts at both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tametail.doubles import LARGEST
from tametail.inequalities.quantiles import sum_quantile
from tametail.inequalities.truncation import best_reach, bias_constant
from tametail.methods.winsorized import constants as tuned
from tametail.methods.winsorized.column import deviation
from tametail.methods.winsorized.tail_histogram import histogram_noise, window_sums
from tametail.privacy.budget import noise_for
from tametail.queries.column import SOFT_ONE
from tametail.tail import Bounded, Moment, Tail

if TYPE_CHECKING:
    from tametail.methods.winsorized.column import ColumnPlan as Plan
    from tametail.methods.winsorized.tail_histogram import Array, TailHistogram


@dataclass(frozen=True, slots=True)
class Reference:
    """An interval [A, B] that is fixed before any record is read, and r the records clipped to it.

    If it ``moves``, A and B are mu + low and mu + high. ``bias`` bounds the distance of E r from
    mu; ``deviation`` and ``fourth`` are what the assumption alone says about the standard deviation
    of r and about E(r - mu)^4. At most these ``shares`` of the law lie outside the reference, and
    further than ``far`` from mu. Sampling is bounded together with noise on the sum of the scale
    ``noise``, which is fixed in advance too.
    """

    low: float
    high: float
    deviation: float
    fourth: float = math.inf
    moves: bool = False
    bias: float = 0.0
    far: float = 0.0
    shares: tuple[float, float] = (0.0, 0.0)
    noise: float = 0.0

    @classmethod
    def of(cls, plan: Plan, clip: tuple[float, float]) -> Reference:
        """Return the reference of a plan; without a tail assumption, the clip points."""
        tail = plan.tail
        if not isinstance(tail, Moment):
            low, high = clip if tail is None else (tail.low, tail.high)
            if tail is None:  # the clip points are rounded to doubles
                low, high = math.nextafter(low, -LARGEST), math.nextafter(high, LARGEST)
                return cls(low, high, deviation=(high - low) / 2)
            # The noise of clip points at the bounds.
            width, n = high - low, plan.size
            allowed = noise_for(plan.cost("sum"), 1, 1).scale * (1 + 1 / 16) * width
            if allowed > math.sqrt(n) * width / 2:
                allowed = 0.0
            return cls(low, high, deviation=width / 2, noise=allowed)
        k, n, strength = tail.k, plan.size, plan.budget.strength
        constant = bias_constant(k)
        reach, allowed = _reach(plan, k, n)
        far = max((n * min(strength, 1.0) / 4) ** (1 / k), reach)
        return cls(
            low=-reach * tail.scale,
            high=reach * tail.scale,
            # Moments that may be infinite are not so for r, which is within R of mu.
            deviation=tail.scale * reach ** max(1 - k / 2, 0.0),
            fourth=math.prod([tail.scale] * 4) * reach ** max(4 - k, 0.0),
            moves=True,
            bias=constant * tail.scale * reach ** (1 - k),
            far=far * tail.scale,
            shares=(reach**-k, far**-k),
            noise=allowed * tail.scale,
        )

    def reach(self, low: float, high: float) -> float:
        """The largest distance of r from a point of [low, high] that lies in the reference."""
        if self.moves:
            return self.high
        return min(max(self.high - low, high - self.low), self.high - self.low)


def _reach(plan: Plan, k: float, n: int) -> tuple[float, float]:
    """Return the half-width of the reference, and the noise to be bounded with sampling, in scales.

    If records can be clipped beyond the reference, because that noise is small next to sampling,
    what is left is its bias: the best sum of that and of noise and sampling together. If not, or
    if that is wider, the records choose how wide they are clipped, and N of them, mostly noise, may
    lie beyond. Then the bias C_k R^-(k-1) is against an excess of R N/n: best where
    (k-1) C_k R^-k = N/n.
    """
    constant, unit = bias_constant(k), noise_for(plan.cost("sum"), 1, 1).scale

    def noise(reach: float) -> float:
        return unit * plan.adjacency.changes * (1 + 1 / 16) * (reach + tuned.BEYOND_REFERENCE)

    def width(reach: float) -> float:
        sampling = math.pow(reach, max(1 - k / 2, 0.0)) / math.sqrt(n)
        together = math.hypot(sampling, math.sqrt(2) * noise(reach) / n)
        return constant * math.pow(reach, 1 - k) + tuned.USUAL_QUANTILE * together

    # Clip points for the value are capped as well, and may not lie within the reference.
    most = best_reach(k, n, deviation(plan.cost("sum"))) + 1 - tuned.BEYOND_REFERENCE
    tried = [most * 2.0 ** (-step / 4) for step in range(24)]
    small = [one for one in tried if one >= 2 and noise(one) <= math.sqrt(n)]
    beyond = expected_beyond(plan)
    chosen = max(((k - 1) * constant * n / beyond) ** (1 / k), 2.0)
    if small:
        # The closest of those that are nearly as narrow: its noise is in the value as well.
        enough = tuned.NEARLY_NARROWEST * min(map(width, small))
        wide = min(one for one in small if width(one) <= enough)
        excess = constant * math.pow(chosen, 1 - k) + chosen * beyond / n
        if width(wide) <= excess + tuned.USUAL_QUANTILE / math.sqrt(n):
            return wide, noise(wide)
    return chosen, 0.0


def expected_beyond(plan: Plan) -> float:
    """Return how many records noise may hide beyond a clip point, at one node."""
    noise = histogram_noise(plan, plan.cost("tail"))
    return sum_quantile(noise, tuned.RARE, 1) / SOFT_ONE


# --- whether the counts contradict the assumption -------------------------------------------------

#: Noises of all nodes up to one, on two sides, weighted by (at least) their distances: their sum
#: has a moment generating function below that of three noises of the top node.
_TOP_NODES = 3


def contradicts(
    tail: Tail, tails: TailHistogram, center: float, off: float, n: float
) -> bool | None:
    """Say whether the counts show records that the tail assumption all but excludes.

    ``off`` bounds how far the mean is from the center; infinite if nothing does. None without an
    assumption.
    """
    if tail is None:
        return None
    if isinstance(tail, Bounded):
        reaches = (center - tail.low, tail.high - center)
        pairs = list(zip(tails.sides, reaches, strict=True))
        return any(_exceeds_bound(tails, counts, far) for counts, far in pairs)
    powers = {2.0, tail.k} if tail.k > 2 else {tail.k}
    return _violates_markov(tails, tail, off, n) or any(
        _exceeds_moment(tails, tail, power, off, n) for power in powers
    )


def _alarm(tails: TailHistogram) -> float:
    return tails.scale * tails.detection_threshold


def _exceeds_bound(tails: TailHistogram, counts: Array, far: float) -> bool:
    """Say whether records of one side lie beyond the distance ``far`` of their bound.

    A record counts at the next node above its distance too, hence the factor of 2.
    """
    if bool(np.any(window_sums(counts)[tails.distances > 2 * far] >= _alarm(tails))):
        return True
    if not 0 < far < math.inf:
        return False
    fraction, exponent = math.frexp(far)
    upper = exponent - tails.first
    if not 0 < upper < len(counts) or not {upper - 1, upper} <= set(tails.places.tolist()):
        return False
    most = (2 * int(32 * fraction - 16) + 1) / SOFT_ONE
    noise = sum_quantile(tails.noise, tuned.DOUBT_RISK, 2) / SOFT_ONE
    return bool((1 - most) * counts[upper] - most * counts[upper - 1] > noise)


def _octaves(tails: TailHistogram) -> Array:
    """Return the octave of the nearest records that count at a node.

    That is its own, unless it counts those of the octaves below it, which have no node.
    """
    places = tails.places
    gaps = np.diff(places, prepend=places[0] - 1)
    found: Array = np.arange(tails.first, tails.first + len(tails.above), dtype=np.float64)
    found[places] -= np.where(gaps > 1, gaps, 0)
    return found


def _violates_markov(tails: TailHistogram, tail: Moment, off: float, n: float) -> bool:
    """Say whether more records lie far out than Markov's inequality allows."""
    far = np.maximum(tails.distances / 2 - off, tail.scale)
    share = (tail.scale / far) ** tail.k
    allowed = n * share + tuned.DOUBT * np.sqrt(n * share)
    seen = window_sums(tails.below) + window_sums(tails.above)
    return bool(np.any(seen >= allowed + 2 * _alarm(tails)))


def _exceeds_moment(tails: TailHistogram, tail: Moment, power: float, off: float, n: float) -> bool:
    """Say whether distances from c, to this power, are larger than the moment allows."""
    farthest = math.hypot(tail.scale, off) if power == 2 else tail.scale + off
    if not 0 < farthest < math.inf:
        return False
    # In units of what is allowed and by logarithms, so that no power overflows.
    logarithms = power * (math.log(2) * _octaves(tails) - math.log(farthest))
    weights = np.exp(np.clip(logarithms, -600.0, 600.0))
    counts = tails.below + tails.above
    seen = np.cumsum(counts * weights) / soft_excess(power)
    noise = sum_quantile(tails.noise, tuned.DOUBT_RISK, _TOP_NODES) / SOFT_ONE
    level = -math.log(tuned.DOUBT_RISK)
    squares = np.maximum(np.cumsum(counts * weights**2), 0.0) + weights**2 * noise
    variance = np.minimum(squares, n * weights)  # by the counts, and by the assumption
    sampling = np.sqrt(2 * variance * level) + weights * level / 3
    return bool(np.any(seen > n + sampling + weights * noise))


def soft_excess(power: float) -> float:
    """Return how much larger the soft counts make the p-th powers of distances, on average.

    A distance in the i-th sixteenth of an octave counts (2i + 1)/32 at its upper node. The average
    is over distances that are spread evenly on a log scale; at most it is 1.18 for squares.

    >>> round(soft_excess(2.0), 2), round(soft_excess(1.0), 3)
    (1.08, 1.0)
    """
    total = weight = 0.0
    for i in range(16):
        part, middle = (2 * i + 1) / SOFT_ONE, 1 + (i + 0.5) / 16
        evenly = math.log2((17 + i) / (16 + i))
        total += evenly * (1 - part + part * math.pow(2.0, power)) / math.pow(middle, power)
        weight += evenly
    return total / weight
