"""Mean and interval of a normal law, after Karwa and Vadhan (2018).

"Finite sample differentially private confidence intervals": a private histogram finds a bin that
holds the mean, records are clipped around it, and their mean is released with Laplace noise. If the
standard deviation is unknown, a histogram of the differences of neighbors finds it up to a
factor 8. Pure DP needs finite ranges; with delta > 0 nothing at all need be known. The unit is
replace-one. In floats and with an ordinary generator: a baseline for benchmarks, not for releases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

Floats = npt.NDArray[np.float64]
Bins = npt.NDArray[np.int64]

#: The bins of the unbounded histograms: all that fit an int64, and the octaves of a double.
_WIDEST = 2**62
_OCTAVES = (-1074, 1023)


@dataclass(frozen=True)
class Estimate:
    """The private mean and its interval; the interval is None if the deviation was not known."""

    value: float
    interval: tuple[float, float] | None = None


def karwa_vadhan_mean(
    records: Floats,
    epsilon: float,
    rng: np.random.Generator,
    *,
    radius: float = math.inf,
    deviation: float | tuple[float, float] = (0.0, math.inf),
    delta: float = 0.0,
    failure: float = 0.05,
) -> Estimate:
    """Return the (epsilon, delta)-DP mean of normal records whose mean is in [-radius, radius].

    ``deviation`` is the standard deviation, or a range for it. The histograms and the mean get
    equal shares of epsilon, the histograms equal shares of delta. Around the bin's middle c,

        ``value = mean(clip(x, c - T, c + T)) + Lap(2T/(n eps'))``, ``T = 4 s sqrt(ln(n/failure))``,

    and for a known deviation s the interval ``value +- (s z/sqrt(n) + (2T/(n eps')) ln(1/b))``
    covers with probability ``1 - failure``: a quarter of it each for z (two-sided), b, the bin and
    the clipping.
    """
    n, unknown = len(records), isinstance(deviation, tuple)
    steps = 3 if unknown else 2
    share, failing = epsilon / steps, delta / (steps - 1)
    if isinstance(deviation, tuple):
        scale = _deviation(records, share, failing, deviation, rng)
    else:
        scale = deviation
    middle = _middle(records, share, failing, radius, scale, rng)
    quarter = failure / 4
    reach = 4 * scale * math.sqrt(math.log(n / quarter))
    clipped = np.clip(records, middle - reach, middle + reach)
    noise = 2 * reach / (n * share)
    value = float(clipped.mean() + rng.laplace(scale=noise))
    if unknown:
        return Estimate(value)
    normal = float(stats.norm.isf(quarter / 2))
    half_width = scale / math.sqrt(n) * normal + noise * math.log(1 / quarter)
    return Estimate(value, (value - half_width, value + half_width))


def _middle(
    records: Floats,
    epsilon: float,
    delta: float,
    radius: float,
    scale: float,
    rng: np.random.Generator,
) -> float:
    """Return the middle of the largest bin ``((j - 1/2) s, (j + 1/2) s]``, |j| <= radius/s."""
    most = math.ceil(radius / scale) if radius < _WIDEST * scale else _WIDEST
    with np.errstate(over="ignore"):  # far beyond every bin is clipped to the last
        bins = np.clip(np.ceil(records / scale - 0.5), -most, most).astype(np.int64)
    return scale * largest_bin(bins, (-most, most), epsilon, delta, rng)


def _deviation(
    records: Floats,
    epsilon: float,
    delta: float,
    within: tuple[float, float],
    rng: np.random.Generator,
) -> float:
    """Return four times the largest octave of ``|x_(2i) - x_(2i-1)|``: within [s, 8s].

    The octaves reach from two below the least deviation to one above the greatest.
    """
    low, high = within
    least = math.floor(math.log2(low)) - 2 if low > 0 else _OCTAVES[0]
    most = math.ceil(math.log2(high)) + 1 if high < math.inf else _OCTAVES[1]
    pairs = records[: len(records) // 2 * 2].reshape(-1, 2)
    differences = np.abs(pairs[:, 1] - pairs[:, 0])
    with np.errstate(divide="ignore"):  # log2(0) is clipped like any other small difference
        octaves = np.clip(np.ceil(np.log2(differences)) - 1, least, most).astype(np.int64)
    return float(2.0 ** (largest_bin(octaves, (least, most), epsilon, delta, rng) + 2))


def largest_bin(
    bins: Bins, universe: tuple[int, int], epsilon: float, delta: float, rng: np.random.Generator
) -> int:
    """Return the bin with the largest noisy count (their Lemma 2.3).

    Every count gets ``Lap(2/epsilon)``. With delta > 0 only non-empty bins are looked at, and they
    count if above ``1 + (2/epsilon) ln(2/delta)``; if none is, the answer is the bin next to 0.
    """
    low, high = universe
    found, counts = np.unique(bins, return_counts=True)
    noisy = counts + rng.laplace(scale=2 / epsilon, size=len(found))
    if delta > 0:
        enough = noisy > 1 + 2 / epsilon * math.log(2 / delta)
        if not enough.any():
            return min(max(low, 0), high)
        return int(found[np.argmax(np.where(enough, noisy, -np.inf))])
    empty = high - low + 1 - len(found)
    if empty > 0:
        # The maximum of the empty bins' noises in one draw, by its distribution function F^empty.
        above = -math.expm1(-rng.exponential() / empty)
        most = -math.log(2 * above) if above < 0.5 else math.log(2 * (1 - above))
        if most * 2 / epsilon > noisy.max():
            return _empty_bin(found, low, high, rng)
    return int(found[np.argmax(noisy)])


def _empty_bin(found: Bins, low: int, high: int, rng: np.random.Generator) -> int:
    """Return an empty bin, all with the same probability."""
    while (chosen := int(rng.integers(low, high, endpoint=True))) in found:
        pass
    return chosen
