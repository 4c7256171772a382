"""Discrete Laplace and discrete Gaussian noise on integers, drawn by OpenDP.

The noise is drawn on a vector of zeros and added in Python integers, because OpenDP's 64-bit
integers saturate and Python's do not. The scale is raised by single ulps until OpenDP's own
privacy map says that the release costs no more than it may.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from tametail._validate import positive
from tametail.errors import InternalError
from tametail.privacy.accounting import analytic_gaussian_sigma, round_down, square_root_up
from tametail.privacy.definitions import Approx
from tametail.privacy.opendp import gaussian_measurement, laplace_measurement
from tametail.randomness import gaussian_noise, laplace_noise

if TYPE_CHECKING:
    from opendp.mod import Measurement

GREATEST_SCALE = 2.0**56
"""Noise of this scale leaves the 64-bit integers with probability below 2^-180."""

LEAST_SCALE = 2.0**-10
"""Noise of this scale is 0 except with probability below e^-1000: less would gain nothing."""


def add_laplace(values: Sequence[int], l1: int, epsilon: float) -> tuple[int, ...]:
    r"""Add independent discrete Laplace noise to each of some integers.

    The noise Z has P(Z = z) = (1 - p) / (1 + p) p^\|z\| with p = exp(-1 / scale) and the scale
    of :func:`laplace_scale`. One record can move ``values`` by ``l1`` in the sum of absolute
    differences; where that is 0 they depend on no record and come back unchanged.

    **Formal guarantee**: epsilon-DP for the relation under which ``l1`` holds. See
    ``docs/proofs/noise.md``.

    >>> add_laplace([10**30, -7], l1=1, epsilon=1000.0)
    (1000000000000000000000000000000, -7)
    """
    scale = laplace_scale(l1, epsilon)
    # OpenDP cannot tell the type of an empty list.
    if scale == 0.0 or len(values) == 0:
        return tuple(int(value) for value in values)
    noise = laplace_noise(scale, len(values))
    return tuple([int(value) + z for value, z in zip(values, noise, strict=True)])


def add_gaussian(values: Sequence[int], l2_squared: int, rho: float) -> tuple[int, ...]:
    """Add independent discrete Gaussian noise to each of some integers.

    The noise Z has P(Z = z) proportional to exp(-z^2 / (2 sigma^2)) with the sigma of
    :func:`gaussian_scale`. One record can move ``values`` by ``l2_squared`` in the sum of squared
    differences; where that is 0 they depend on no record and come back unchanged.

    **Formal guarantee**: rho-zCDP for the relation under which ``l2_squared`` holds.
    See ``docs/proofs/noise.md``.

    >>> add_gaussian([10**30, -7], l2_squared=2, rho=1e6)
    (1000000000000000000000000000000, -7)
    """
    sigma = gaussian_scale(l2_squared, rho)
    # OpenDP cannot tell the type of an empty list.
    if sigma == 0.0 or len(values) == 0:
        return tuple(int(value) for value in values)
    noise = gaussian_noise(sigma, len(values))
    return tuple([int(value) + z for value, z in zip(values, noise, strict=True)])


@lru_cache(maxsize=4096)
def laplace_scale(l1: int, epsilon: float) -> float:
    """Return the scale of the Laplace noise: l1 / epsilon, and an ulp more where it must be.

    >>> laplace_scale(2, 0.5)
    4.0
    >>> laplace_scale(0, 0.5)
    0.0
    """
    _check_sensitivity(l1)
    epsilon = positive(epsilon=epsilon)
    if l1 == 0:
        return 0.0
    start = l1 / epsilon
    # Where the quotient was rounded down, OpenDP would refuse it, which takes longer to find out.
    while start <= GREATEST_SCALE and Fraction(start) * Fraction(epsilon) < l1:
        start = math.nextafter(start, math.inf)
    scale, cost = _least_scale(laplace_measurement, start, l1, epsilon)
    if Fraction(scale) * Fraction(cost) < l1:
        raise InternalError("OpenDP's map for Laplace noise disagrees with l1 / scale.")
    return scale


@lru_cache(maxsize=4096)
def gaussian_scale(l2_squared: int, rho: float) -> float:
    """Return sigma of the Gaussian noise: sqrt(l2_squared / (2 rho)), and an ulp more if need be.

    >>> gaussian_scale(2, 0.25)  # OpenDP rounds the square of sqrt(2) up, so a little more
    2.0000000000000004
    >>> gaussian_scale(0, 0.25)
    0.0
    """
    _check_sensitivity(l2_squared if l2_squared < 0 else math.isqrt(l2_squared))
    rho = positive(rho=rho)
    if l2_squared == 0:
        return 0.0
    sensitivity = math.sqrt(l2_squared)
    while Fraction(sensitivity) ** 2 < l2_squared:
        sensitivity = math.nextafter(sensitivity, math.inf)
    sigma, _ = _least_scale(
        gaussian_measurement, sensitivity / math.sqrt(2 * rho), sensitivity, rho
    )
    if Fraction(sigma) ** 2 * 2 * Fraction(rho) < l2_squared:
        raise InternalError("OpenDP's map for Gaussian noise disagrees with l2^2 / (2 sigma^2).")
    return sigma


def _check_sensitivity(sensitivity: int) -> None:
    if not 0 <= sensitivity < 2**63:
        raise InternalError("A sensitivity must be at least 0 and below 2^63.")


def _least_scale(
    build: Callable[[float], Measurement], start: float, sensitivity: float, cost: float
) -> tuple[float, float]:
    """Raise the scale from ``start`` until OpenDP's map is within the cost; return what it says."""
    scale = max(start, LEAST_SCALE)
    while scale <= GREATEST_SCALE:
        given: float = build(scale).map(sensitivity)
        if given <= cost:
            return scale, given
        scale = math.nextafter(scale, math.inf)
    raise InternalError(
        f"Noise of scale {scale:.3g} is asked for, and above 2^56 it does not fit in 64 bits: "
        "a larger budget or a coarser unit of the counts is needed."
    )


def lone_gaussian_rho(l2_squared: int, cost: Approx) -> float:
    """Return the rho whose discrete Gaussian noise, used alone, costs (epsilon, delta).

    If continuous noise of standard deviation s is enough, so is discrete noise with
    ``sigma^2 = s^2 + 16``, up to a factor 1 - 2^-50 of epsilon and delta: see
    ``docs/proofs/ball.md``. The rho is ``l2_squared / (2 sigma^2)``, rounded down.

    >>> rho = lone_gaussian_rho(10**12, Approx(1.0, 1e-6))
    >>> round((0.5 / rho) ** 0.5, 3)  # sigma over the sensitivity, as for continuous noise
    4.225
    """
    epsilon, delta = (number * (1 - 2.0**-50) for number in cost.values())
    s = analytic_gaussian_sigma(square_root_up(Fraction(l2_squared)), epsilon, delta)
    return round_down(Fraction(l2_squared) / (2 * (Fraction(s) ** 2 + 16)))
