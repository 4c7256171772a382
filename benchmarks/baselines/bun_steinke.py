"""The smooth-sensitivity trimmed mean of Bun and Steinke (2019), "Average-Case Averages".

The records are clipped to [-R, R], the m least and the m greatest are left out, and noise with
a heavy tail is scaled to the smooth sensitivity of what remains. The unit is replace-one. In floats
and with an ordinary generator: a baseline for benchmarks, not for releases.
It cannot be exact on the package's frame: the scale of
its noise is a float that depends on the records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import optimize

Floats = npt.NDArray[np.float64]

#: The smoothing t as a part of epsilon: of 0.1 and 0.2 the better at small n epsilon.
#: Of Student's laws, d = 3 is the least whole one with a variance.
_SMOOTHING = 0.2
_FREEDOM = 3


@dataclass(frozen=True)
class StudentNoise:
    """Student's t: ``f + S Z/s`` is pure epsilon-DP, ``epsilon = d t + s (d+1)/(2 sqrt d)``.

    ``d |d log p(z)/dz| <= (d+1) sqrt(d)/2`` bounds the shift, and scaling by ``e^t`` costs at most
    ``t max(1, d)``, since ``z p'(z)/p(z) + 1`` lies in [-d, 1].
    """

    epsilon: float

    @property
    def smoothing(self) -> float:
        """The t of the smooth sensitivity."""
        return _SMOOTHING * self.epsilon

    @property
    def share(self) -> float:
        """The s that noise is divided by."""
        left = self.epsilon - _FREEDOM * self.smoothing
        return left * 2 * math.sqrt(_FREEDOM) / (_FREEDOM + 1)

    def draw(self, rng: np.random.Generator) -> float:
        """Return one noise."""
        return float(rng.standard_t(_FREEDOM))


@dataclass(frozen=True)
class LaplaceLogNormalNoise:
    """``Z = X e^(sigma Y)``, X Laplace, Y normal: ``f + S Z/s`` is rho-zCDP, ``rho = epsilon^2/2``.

    ``epsilon = t/sigma + s e^(3 sigma^2/2)``, their Proposition 3. The variance
    ``2 e^(2 sigma^2)/s^2`` is least at the root of ``5 (epsilon/t) sigma^3 = 5 sigma^2 + 1``.
    """

    rho: float

    @property
    def epsilon(self) -> float:
        """The epsilon of the formula."""
        return math.sqrt(2 * self.rho)

    @property
    def smoothing(self) -> float:
        """The t of the smooth sensitivity."""
        return _SMOOTHING * self.epsilon

    @property
    def sigma(self) -> float:
        """The deviation of the logarithm."""

        def slope(sigma: float) -> float:
            return 5 * sigma**3 / _SMOOTHING - 5 * sigma**2 - 1

        return float(optimize.brentq(slope, _SMOOTHING, 10.0))

    @property
    def share(self) -> float:
        """The s that noise is divided by."""
        left = self.epsilon - self.smoothing / self.sigma
        return left * math.exp(-1.5 * self.sigma**2)

    def draw(self, rng: np.random.Generator) -> float:
        """Return one noise."""
        return float(rng.laplace() * math.exp(self.sigma * rng.normal()))


def trimmed_mean(
    records: Floats,
    radius: float,
    noise: StudentNoise | LaplaceLogNormalNoise,
    rng: np.random.Generator,
    *,
    trimmed: int | None = None,
) -> float:
    """Return the private trimmed mean: ``trim_m(x) + S^t(x) Z/s``.

    By default ``m = ln(n)/t`` records are left out at each end, as many as it takes for -radius and
    radius to weigh 1/n in the smooth sensitivity; at most what leaves one or two records.
    """
    n = len(records)
    wanted = math.ceil(math.log(n) / noise.smoothing) if trimmed is None else trimmed
    m = min(wanted, (n - 1) // 2)
    ordered = np.sort(np.clip(records, -radius, radius))
    value = float(ordered[m : n - m].mean())
    scale = smooth_sensitivity(ordered, m, noise.smoothing, -radius, radius) / noise.share
    return value + scale * noise.draw(rng)


def smooth_sensitivity(ordered: Floats, m: int, t: float, low: float, high: float) -> float:
    """Return the t-smooth sensitivity of the mean that leaves out m records at each end.

    ``max over j >= -1, l >= 0 of e^(-(j+l) t) (x_(n-m+1+j) - x_(m+1-l))/(n - 2m)``, where x below
    the first record is ``low`` and beyond the last ``high``: so j <= m and l <= m + 1 are enough.
    """
    n = len(ordered)
    upper = np.append(ordered[n - m - 1 :], high)
    lower = np.append(ordered[m::-1], low)
    steps = np.arange(m + 2)
    distances = steps[:, np.newaxis] - 1 + steps
    gaps = (upper[:, np.newaxis] - lower) * np.exp(-t * np.maximum(distances, 0))
    return float(gaps[distances >= 0].max() / (n - 2 * m))
