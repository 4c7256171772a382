"""What repeated trials measured: averages and powers with standard errors, and least numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from tametail.reproduce.trials import Floats

Key = TypeVar("Key")

#: A statement fails only if it is off by more than this many standard errors.
SLACK = 2.0


@dataclass(frozen=True, slots=True)
class Measured:
    """An average error with its standard error."""

    value: float
    deviation: float

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        certain = self.deviation <= 1e-9 * abs(self.value)
        return f"{self.value:.3g}" if certain else f"{self.value:.3g} ± {self.deviation:.1g}"

    def fixed(self, digits: int) -> str:
        """Return the value and its standard error with as many decimals.

        >>> Measured(-0.5, 0.012).fixed(3), Measured(-0.5, 0.0).fixed(3)
        ('-0.500 ± 0.012', '-0.500')
        """
        shown = f"{self.value:.{digits}f}"
        return f"{shown} ± {self.deviation:.{digits}f}" if self.deviation else shown

    def __truediv__(self, divisor: float) -> Measured:
        return Measured(self.value / divisor, self.deviation / divisor)

    def may_be_at_least(self, bound: float) -> bool:
        """Say whether chance can explain it if the value is below the bound."""
        return self.value + SLACK * self.deviation >= bound


def root_mean_square(errors: Floats) -> Measured:
    """Return the root mean squared error; the rows are independent, errors in a row are not.

    >>> str(root_mean_square(np.array([[3.0, 4.0], [4.0, 3.0]])))
    '3.54'
    """
    squares = np.square(errors).mean(axis=1)
    value = math.sqrt(squares.mean())
    return Measured(value, _deviation(squares) / (2 * value) if value else 0.0)


def mean_absolute(errors: Floats, resolution: float = 1.0) -> Measured:
    """Return the mean absolute error; the rows are independent.

    What was found by bisection, up to the factor ``resolution``, is no better known than that.

    >>> mean_absolute(np.array([[1.0, -2.0], [3.0, -2.0]])).value
    2.0
    """
    sizes = np.abs(errors).mean(axis=1)
    value = float(sizes.mean())
    step = value * math.log(resolution) / math.sqrt(12)
    return Measured(value, math.hypot(_deviation(sizes), step))


def bisected(errors: Mapping[Key, Floats], resolution: float) -> dict[Key, Measured]:
    """Return the mean of what some bisections found, for each cell.

    A few may agree by chance, so none is taken to be better known than all cells together say.

    >>> lucky, other = np.array([[8.0], [8.0]]), np.array([[6.0], [9.0]])
    >>> found = bisected({"lucky": lucky, "other": other}, 1.01)
    >>> round(found["lucky"].deviation, 2), found["other"].deviation > 1
    (1.13, True)
    """
    found = {key: mean_absolute(rows, resolution) for key, rows in errors.items()}
    several = [rows for rows in errors.values() if len(rows) > 1]
    squares = [float(rows.var(ddof=1)) / float(rows.mean()) ** 2 for rows in several]
    weights = [len(rows) - 1 for rows in several]
    spread = math.sqrt(np.average(squares, weights=weights)) if several else 0.0
    return {
        key: Measured(
            one.value, max(one.deviation, one.value * spread / math.sqrt(len(errors[key])))
        )
        for key, one in found.items()
    }


def _deviation(rows: Floats) -> float:
    """Return the standard error; of few rows wider, by Student's t, so that two mean the same."""
    from scipy.special import stdtrit

    if len(rows) < 2:
        return 0.0
    widened = stdtrit(len(rows) - 1, 0.975) / stdtrit(1e9, 0.975)
    return float(widened * rows.std(ddof=1) / math.sqrt(len(rows)))


def least(
    fails: Callable[[int], bool], low: float, high: float, *, runs: int, share: float, close: float
) -> float:
    """Bisect, in logarithms, for the n at which a share of the runs fails, up to a factor.

    At ``high`` fewer fail, at ``low`` more. A series of runs ends when too many have failed.

    >>> 90 < least(lambda n: n < 100, 1, 1000, runs=5, share=0.2, close=1.1) < 110
    True
    """
    while high / low > close:
        n = round(math.sqrt(low * high))
        low, high = (n, high) if too_many(fails, n, runs, share) else (low, n)
    return math.sqrt(low * high)


def too_many(fails: Callable[[int], bool], n: int, runs: int, share: float) -> bool:
    """Say whether more than a share of the runs with n records fails."""
    failed = 0
    for _ in range(runs):
        failed += fails(n)
        if failed > share * runs:
            return True
    return False


def fit_slope(x: Sequence[float], y: Sequence[Measured]) -> Measured:
    """Fit ``log y = a + slope log x`` by least squares, weighted if the errors are known.

    >>> exact = [Measured(5 * n**-0.75, 0.0) for n in (10, 100, 1000)]
    >>> str(fit_slope([10, 100, 1000], exact))
    '-0.75'
    """
    log_x, log_y = np.log(x), np.log([float(point) for point in y])
    relative = np.array([point.deviation / point.value for point in y])
    known = bool((relative > 0).all())
    weights = relative**-2.0 if known else np.ones(len(log_x))
    centered = log_x - np.average(log_x, weights=weights)
    information = float((weights * centered**2).sum())
    slope = float((weights * centered * log_y).sum()) / information
    # An exact power law leaves rounding errors only.
    return Measured(round(slope, 12), information**-0.5 if known else 0.0)
