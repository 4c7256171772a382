"""How far noisy ranks may be from expected ones: a binomial number of records, plus noise.

Of n records from a law, the number that fall where the law has probability q is binomial. A noisy
rank g = (1 - q) (left + noise) - q (right + noise) is that number less q n, plus weighted noise of
the counts on both sides, n = left + right. The tail of the sum is a convolution: of the noise,
whose law is public, with a bound on binomial tails (Zubkov and Serov, 2013) that is nearly exact
and, written in distances from the mean, grows with n, so that an upper bound on n will do.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tametail.inequalities.quantiles import normal_tail
from tametail.privacy.budget import Noise

Floats = npt.NDArray[np.float64]

#: Steps of the grid of noise in a scale; scales beyond which one noise is not followed; the chance
#: of each to be beyond is below _LOST, and as much is taken from the risk.
_STEPS = 64
_FARTHEST = {"laplace": 22.0, "gaussian": 6.5}
_LOST = 1e-9

#: What numbers in floating point may err by, taken from the risk, as a part of it.
_ROUNDING = 1e-4

#: Halvings of where the answer can be, and the part of it that is close enough.
_HALVINGS, _CLOSE = 60, 2.0**-12


def binomial_tail(distances: Floats, level: float, most: float) -> Floats:
    """Bound P(B <= n level - distance) for B binomial (n, level), whatever n <= most is.

    With y = (distance - 1) / most >= 0 it is Phi(-sqrt(2 most KL(level - y, level))); 1 if the
    distance is below 1.

    >>> binomial_tail(np.array([0.0, 20.0]), 0.5, 100.0).round(5).tolist()
    [1.0, 6e-05]
    """
    y = np.maximum(distances - 1.0, 0.0) / most
    p = level - y
    with np.errstate(all="ignore"):
        below = np.where(p > 0, p * np.log(p / level), 0.0)
        divergence = below + (1 - p) * np.log1p(y / (1 - level))
    found = normal_tail(np.sqrt(np.maximum(2 * most * divergence, 0.0)))
    return np.where(distances < 1, 1.0, np.where(p < 0, 0.0, found))


def rank_deviation(
    noise: Noise, level: float, sides: tuple[int, int], risk: float, most: float | None
) -> float:
    """Return c such that a noisy rank is below -c with probability <= risk.

    The rank of a level has so many noises on its left and right ``sides``. ``most`` bounds the
    number of records; None if these are all there are, so that nothing but noise is random. A
    noisy rank is above c with that probability if level and sides are exchanged.

    >>> round(rank_deviation(Noise("laplace", 1e-9), 0.5, (1, 1), 0.025, 1e4), 1)  # 0.98 * 100 + 1
    99.0
    >>> round(rank_deviation(Noise("gaussian", 10.0), 0.5, (1, 1), 0.025, None), 1)  # 13.86
    14.1
    """
    points, chances = _weighted_noise(noise, level, sides)
    allowed = risk * (1 - _ROUNDING) - sum(sides) * _LOST
    if allowed <= 0:
        return math.inf

    def tail(c: float) -> float:
        away = c + points
        beyond = binomial_tail(away, level, most) if most is not None else away < 0
        return float(chances @ beyond)

    low, high = 0.0, float(-points[0]) + (0.0 if most is None else most + 1.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > allowed else (low, middle)
        if high - low <= _CLOSE * high:
            break
    return high


@lru_cache(maxsize=256)
def _weighted_noise(noise: Noise, level: float, sides: tuple[int, int]) -> tuple[Floats, Floats]:
    """Return points and chances of (1 - level) * left - level * right noise, rounded down."""
    scale = noise.scale
    reach = max(math.ceil(_FARTHEST[noise.kind] * scale), 1)
    block = max(1, math.floor(scale / (2 * _STEPS)))
    values = np.arange(-reach, reach + 1, block, dtype=np.float64)
    middles = np.abs(values + (block - 1) / 2) / scale
    chances = np.exp(-middles if noise.kind == "laplace" else -(middles**2) / 2)
    chances /= chances.sum()
    step = max(scale, 0.5) * max(level, 1 - level) / _STEPS
    distributions = []
    for weight, terms in zip((1 - level, -level), sides, strict=True):
        if terms:
            places = np.floor(weight * values / step).astype(np.int64)
            # A block of negative weight reaches down to its other end.
            places -= 0 if weight > 0 else math.ceil(level * (block - 1) / step)
            distributions.append(
                (int(places.min()), np.bincount(places - places.min(), chances), terms)
            )
    first = sum(start * terms for start, _, terms in distributions)
    length = 1 + sum((len(distribution) - 1) * terms for _, distribution, terms in distributions)
    size = 1 << (length - 1).bit_length()
    product = np.ones(size // 2 + 1, dtype=np.complex128)
    for _, distribution, terms in distributions:
        product *= np.fft.rfft(distribution, size) ** terms
    joint = np.maximum(np.fft.irfft(product, size)[:length], 0.0)
    kept = np.flatnonzero(joint > 1e-14)
    return np.asarray((first + kept) * step, dtype=np.float64), joint[kept] / joint.sum()
