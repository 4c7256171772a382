r"""Whether the octave counts contradict what was assumed of the records. No data here.

Three tests, each of which seldom raises a false alarm if the assumption is true: in about one of a
thousand releases at most, if a moment is exactly as large as was said.

* records beyond bounds, or more records far out than a moment allows;
* a moment that is too large. A record at distance d of the centre c counts at two nodes, and
  sum 2^(p j) count_j over the nodes up to 2^t is about SOFT times the sum of their p-th powers.
  So it is at most SOFT n E\|X - c\|^p, plus what sampling adds (Bernstein: every term is at most
  2^(p t), their squares are in the counts) and noise. E\|X - c\|^2 is E(X - mu)^2 + (mu - c)^2,
  and E\|X - c\|^p is at most (scale + \|mu - c\|)^p by Minkowski;
* between bounds, the octave in which a bound lies: a record within it counts at the upper node
  up to a part f of what it counts at both.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tametail.inequalities.quantiles import sum_quantile
from tametail.methods.winsorised import constants as tuned
from tametail.methods.winsorised.tail_histogram import windows
from tametail.queries.column import SOFT_ONE
from tametail.tail import Bounded, Moment, Tail

if TYPE_CHECKING:
    from tametail.methods.winsorised.tail_histogram import Array, Places, Tails

#: Noises of all nodes up to one, on two sides, weighted by (at least) their distances: their sum
#: has a moment generating function below that of three noises of the top node.
_TOP_NODES = 3


def contradicts(tail: Tail, tails: Tails, centre: float, off: float, n: float) -> bool | None:
    """Say whether the counts show records that the tail assumption all but excludes.

    ``off`` bounds how far the mean is from the centre; infinite if nothing does. None without an
    assumption.
    """
    if tail is None:
        return None
    if isinstance(tail, Bounded):
        reaches = (centre - tail.low, tail.high - centre)
        pairs = list(zip(tails.sides, reaches, strict=True))
        return any(_is_beyond(tails, counts, far) for counts, far in pairs)
    powers = {2.0, tail.k} if tail.k > 2 else {tail.k}
    return _is_far_out(tails, tail, off, n) or any(
        _is_too_large(tails, tail, power, off, n) for power in powers
    )


def _alarm(tails: Tails) -> float:
    return tails.scale * tuned.THRESHOLD


def _is_beyond(tails: Tails, counts: Array, far: float) -> bool:
    """Say whether records of one side lie beyond the distance ``far`` of their bound.

    A record counts at the next node above its distance too, hence the factor of 2.
    """
    if bool(np.any(windows(counts)[tails.distances > 2 * far] >= _alarm(tails))):
        return True
    if not 0 < far < math.inf:
        return False
    fraction, exponent = math.frexp(far)
    upper = exponent - tails.first
    if not 0 < upper < len(counts) or not {upper - 1, upper} <= set(_places(tails).tolist()):
        return False
    most = (2 * int(32 * fraction - 16) + 1) / SOFT_ONE
    noise = sum_quantile(tails.noise, tuned.DOUBT_RISK, 2) / SOFT_ONE
    return bool((1 - most) * counts[upper] - most * counts[upper - 1] > noise)


def _places(tails: Tails) -> Places:
    """Return the places of the nodes."""
    return np.arange(len(tails.above)) if tails.nodes is None else tails.nodes


def _octaves(tails: Tails) -> Array:
    """Return the octave of the nearest records that count at a node.

    That is its own, unless it counts those of the octaves below it, which have no node.
    """
    places = _places(tails)
    gaps = np.diff(places, prepend=places[0] - 1)
    found: Array = np.arange(tails.first, tails.first + len(tails.above), dtype=np.float64)
    found[places] -= np.where(gaps > 1, gaps, 0)
    return found


def _is_far_out(tails: Tails, tail: Moment, off: float, n: float) -> bool:
    """Say whether more records lie far out than Markov's inequality allows."""
    far = np.maximum(tails.distances / 2 - off, tail.scale)
    share = (tail.scale / far) ** tail.k
    allowed = n * share + tuned.DOUBT * np.sqrt(n * share)
    seen = windows(tails.below) + windows(tails.above)
    return bool(np.any(seen >= allowed + 2 * _alarm(tails)))


def _is_too_large(tails: Tails, tail: Moment, power: float, off: float, n: float) -> bool:
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
