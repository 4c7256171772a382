"""Rates to compare errors with, and the best fixed clip."""

from __future__ import annotations

import math

from tametail.inequalities.checks import moment_order, positive, whole
from tametail.privacy.budget import Budget, Zcdp, parse_budget
from tametail.theory.moments import bias_constant, truncation_bias


def _noise_factor(budget: Budget) -> float:
    """Return the standard deviation of the noise on a sum, over the clip point.

    One replaced record moves the sum by 2T: Laplace ``2T/eps``, Gaussian ``2T/sqrt(2 rho)``.
    """
    return 2 / budget.strength * (1.0 if isinstance(budget, Zcdp) else math.sqrt(2))


def optimal_clip(
    n: int, *, k: float, epsilon: float | None = None, rho: float | None = None, scale: float = 1.0
) -> float:
    """Return the clip point T that balances worst-case bias against noise, replace-one.

    Pure DP: the minimum over T of ``(C_k T^-(k-1))^2 + 8 T^2/(n eps)^2`` is at
    ``T = scale (sqrt((k-1)/8) C_k n eps)^(1/k)``. Under zCDP the noise is ``2 T^2/(rho n^2)`` and
    ``sqrt((k-1)/8) eps`` becomes ``sqrt((k-1) rho/2)``.

    >>> round(optimal_clip(10_000, k=2, epsilon=1.0), 4)
    29.7302
    """
    positive(n=n, scale=scale)
    factor = _noise_factor(parse_budget(epsilon=epsilon, rho=rho))
    return float(scale * (math.sqrt(k - 1) * bias_constant(k) * n / factor) ** (1 / k))


def winsorized_rmse(
    n: int, *, k: float, epsilon: float | None = None, rho: float | None = None, scale: float = 1.0
) -> float:
    """Return the worst-case root mean squared error of a mean winsorized at the optimal clip.

    ``sqrt(bias^2 + noise^2 + V/n)`` with :func:`optimal_clip` around the mean itself, replace-one.
    ``V = scale^2`` for ``k >= 2``; below, a clipped record has ``V <= scale^k T^(2-k)``.

    >>> round(winsorized_rmse(10_000, k=2, epsilon=1.0), 5)
    0.01554
    """
    clip = optimal_clip(n, k=k, epsilon=epsilon, rho=rho, scale=scale)
    bias = truncation_bias(clip, k, scale)
    noise = _noise_factor(parse_budget(epsilon=epsilon, rho=rho)) * clip / n
    spread = scale * (clip / scale) ** max(1 - k / 2, 0.0) / math.sqrt(n)
    return math.hypot(bias, noise, spread)


def local_rate(n: int, *, k: float, epsilon: float, scale: float = 1.0) -> float:
    """Return ``scale min(1, (n eps^2)^(-(k-1)/(2k)))``, the rate of the local model.

    Duchi, Jordan and Wainwright, for epsilon at most 1 and up to a constant: every record is
    randomized before it is collected, so the sample size ``1/(eps^2 alpha^(2k/(k-1)))`` is the
    square of the central model's privacy term.

    >>> round(local_rate(10_000, k=2, epsilon=1.0), 12)
    0.1
    """
    positive(n=n, epsilon=epsilon, scale=scale)
    moment_order(k)
    return float(scale * min(1.0, (n * epsilon**2) ** (-(k - 1) / (2 * k))))


def person_rate(
    persons: int, records: int, *, k: float, epsilon: float, d: int = 1, scale: float = 1.0
) -> float:
    """Return the rate at which a mean can be known if persons are protected, up to logarithms.

    Agarwal, Kamath, Majid, Mouzakis, Silver and Ullman (2024): n persons with m records each, all
    records of one of whom may change, have an error of the order of the largest of

        ``sqrt(d/(n m))``, ``d/(sqrt(m) n eps)`` and ``(d/(m n eps))^((k-1)/k)``,

    if ``n eps >= d``; with fewer persons no number of records helps, and the rate is ``scale``.
    Sampling; the noise on averages of m records, whose spread is ``1/sqrt(m)``; and what is left of
    heavy tails in these averages. Necessary and sufficient up to constants and logarithms, for
    (epsilon, delta)-DP too: a rate, not a bound.

    >>> round(person_rate(1000, 100, k=2, epsilon=1.0), 9)  # one record per person has 0.0316
    0.003162278
    """
    whole(persons=persons, records=records, d=d)
    positive(epsilon=epsilon, scale=scale)
    moment_order(k, at_least=2)
    if persons * epsilon < d:
        return scale
    sampling = math.sqrt(d / (persons * records))
    noise = d / (math.sqrt(records) * persons * epsilon)
    tail = (d / (records * persons * epsilon)) ** (1 - 1 / k)
    return float(scale * min(1.0, max(sampling, noise, tail)))


def person_sample_size(
    alpha: float, records: int, *, k: float, epsilon: float, d: int = 1, scale: float = 1.0
) -> float:
    """Return the persons at which :func:`person_rate` reaches alpha, up to constants.

    ``d/(alpha^2 m) + d/(alpha sqrt(m) eps) + d/(alpha^(k/(k-1)) m eps) + d/eps``.

    >>> round(person_sample_size(0.1, 100, k=2, epsilon=1.0), 9)
    4.0
    """
    whole(records=records, d=d)
    positive(alpha=alpha, epsilon=epsilon, scale=scale)
    moment_order(k, at_least=2)
    target, m = alpha / scale, records
    private = 1 / (target * math.sqrt(m)) + target ** (-k / (k - 1)) / m + 1
    return float(d / (target**2 * m) + d / epsilon * private)


def approximate_rate(n: int, *, k: float, epsilon: float, d: int, scale: float = 1.0) -> float:
    """Return the rate in d dimensions: ``scale max(sqrt(d/n), (d/(n eps))^((k-1)/k))``.

    Narayanan (2023): no (epsilon, delta)-DP mean is better, up to constants and logarithms and for
    small delta, so the paper's ball has the best rate in d, ``d^(1 - 1/k)``, for every k. The
    explicit :func:`lower_bound` has ``sqrt(d)``, which is as good for k = 2 only.

    >>> round(approximate_rate(10_000, k=2, epsilon=0.1, d=10), 9)
    0.1
    """
    return person_rate(n, 1, k=k, epsilon=epsilon, d=d, scale=scale)
