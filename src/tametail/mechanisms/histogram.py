"""Private histograms of integer keys, and their largest bucket (Lemma `priv-hist`).

Pure and concentrated privacy need a public universe of keys, of any size. In principle every key
of the universe gets noise, and those whose noisy count reaches a public threshold are released.
In practice only the noises of empty keys that reach it are drawn (:mod:`tametail.mechanisms.sparse`),
with the same law. Approximate privacy needs no universe: keys that do not occur are never released,
and the threshold hides a key that occurs once.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tametail._validate import probability
from tametail.budget import Approx, Budget, Pure, Zcdp, exponential_rate
from tametail.errors import ParameterError
from tametail.mechanisms.noise import add_gaussian, add_laplace, gaussian_scale, laplace_scale
from tametail.mechanisms.select import select, uniform_integer
from tametail.mechanisms.sparse import (
    DiscreteGaussian,
    DiscreteLaplace,
    NoiseLaw,
    draw_reaching,
    reach,
)
from tametail.unit import Unit

Universe = tuple[int, int]
"""The least and the greatest key that can occur."""

CHOICE_BETA = Fraction(1, 20)
"""The failure probability at which two ways to the largest bucket are compared."""


@dataclass(frozen=True, repr=False)
class Histogram:
    """The buckets whose noisy count reached the threshold.

    Attributes
    ----------
    counts
        Noisy counts by key, keys ascending.
    threshold
        The least noisy count that is released; public.
    budget, unit
        What was spent, and against which change of the records.
    universe
        The least and the greatest key, or None.
    """

    counts: dict[int, int]
    threshold: int
    budget: Budget
    unit: Unit
    universe: Universe | None

    def __repr__(self) -> str:
        keys = "no universe" if self.universe is None else f"keys {_short(self.universe)}"
        return (
            f"<Histogram of {len(self.counts)} buckets with noisy counts >= {self.threshold}, "
            f"{keys}, {self.budget}, {self.unit}>"
        )

    def largest(self) -> int | None:
        """Return the key with the largest noisy count, the least one of several; None if empty."""
        return max(self.counts, key=lambda key: self.counts[key], default=None)

    def error_bound(self, beta: float, *, buckets: int = 1) -> float:
        """Bound the error of the counts, with probability at least 1 - beta.

        A bucket that is not released counts as 0. With a pure or a concentrated budget the bound
        holds for all keys of the universe at once; with an approximate one it holds for all empty
        buckets and for any ``buckets`` others, chosen without looking at the noise.
        """
        if self.universe is None or isinstance(self.budget, Approx):
            return _error_bound(self.budget, self.unit, buckets, beta)
        return _error_bound(self.budget, self.unit, _size(self.universe), beta)


def histogram(
    keys: Iterable[Any],
    budget: Budget,
    *,
    universe: tuple[int, int] | None = None,
    unit: Unit | str = "replace-one",
) -> Histogram:
    """Release a private histogram of integer keys.

    Parameters
    ----------
    keys
        One key for each record: Python or NumPy integers of any size; a float that is a whole
        number counts as that integer. Any other cell, and any key outside the universe, is left
        out.
    budget
        ``pure(epsilon)``: discrete Laplace noise of scale 2 / epsilon. ``zcdp(rho)``: discrete
        Gaussian noise of variance 1 / rho. ``approx(epsilon, delta)``: discrete Laplace noise of
        scale 2 / epsilon on the keys that occur. Under add-remove one record moves one count
        instead of two, so the scale is 1 / epsilon and the variance 1 / (2 rho).
    universe
        The least and the greatest key that can occur, chosen without looking at the keys. Needed
        for pure and concentrated budgets; the size does not matter for the time.
    unit
        ``"replace-one"`` or ``"add-remove"``.

    Notes
    -----
    **Formal guarantee**: the histogram satisfies ``budget`` for ``unit``. See
    ``docs/proofs/histograms.md``.

    Examples
    --------
    >>> from tametail.budget import pure
    >>> result = histogram([7] * 500 + [8] * 300, pure(1000), universe=(-10**300, 10**300))
    >>> result.counts, result.largest(), result.threshold
    ({7: 500, 8: 300}, 7, 2)
    """
    unit = Unit.parse(unit)
    universe = _checked_universe(budget, universe)
    return noisy_histogram(count_keys(keys), budget, unit, universe)


def noisy_histogram(
    counts: Mapping[int, int], budget: Budget, unit: Unit, universe: Universe | None
) -> Histogram:
    """Release a private histogram from exact counts; see :func:`histogram`.

    A record must add 1 to at most one count. Counts of 0, and of keys outside the universe, are
    left out.
    """
    universe = _checked_universe(budget, universe)
    occupied = _occupied(counts, universe)
    least = threshold(budget, unit, universe)
    exact = [counts[key] for key in occupied]
    noisy = dict(zip(occupied, _add_noise(exact, budget, unit), strict=True))
    if universe is not None and not isinstance(budget, Approx):
        noisy |= _reaching_empty_buckets(occupied, budget, unit, universe)
    released = {key: noisy[key] for key in sorted(noisy) if noisy[key] >= least}
    return Histogram(released, least, budget, unit, universe)


def threshold(budget: Budget, unit: Unit, universe: Universe | None) -> int:
    """Return the least noisy count that a histogram releases; a function of public numbers.

    With a pure or a concentrated budget it is the least t >= 1 that an empty bucket's noise is
    bound to reach with probability at most 1 / U for U keys, so that about one empty bucket is
    released. With an approximate budget it is 1 + m for the least m >= 1 with
    P(Z >= m) = g^m / (1 + g) <= delta, where g = exp(-1 / scale): a key that occurs once is seen
    with probability at most delta.

    Examples
    --------
    >>> from tametail.budget import approx, pure
    >>> threshold(approx(1.0, 1e-6), Unit.REPLACE_ONE, None)  # 1 + 2 ln(10^6 / (1 + e^-0.5))
    28
    >>> threshold(pure(1.0), Unit.REPLACE_ONE, (1, 10**300))
    1381
    """
    law = _noise_law(budget, unit)
    if isinstance(budget, Approx):
        return 1 + reach(law, Fraction(budget.delta))
    # At least 2, so that the chance of an empty bucket is at most one half.
    size = 1 if universe is None else _size(universe)
    return reach(law, Fraction(1, max(size, 2)))


def largest_bucket(
    counts: Mapping[int, int], budget: Budget, *, low: int, high: int, unit: Unit
) -> int | None:
    """Choose a key of low, ..., high whose count is close to the largest one.

    Pure: the exponential mechanism with score = count. Concentrated: the exponential mechanism,
    or the largest noisy count of the histogram, whichever promises the smaller error for this
    number of keys. Approximate: the largest noisy count of the histogram. Where no noisy count
    reaches the threshold of the histogram the answer is None.

    Notes
    -----
    **Formal guarantee**: the choice satisfies ``budget`` for ``unit``. See
    ``docs/proofs/histograms.md``.

    Examples
    --------
    >>> from tametail.budget import pure
    >>> largest_bucket({3: 40, 5: 60}, pure(1000), low=-10**300, high=10**300, unit=Unit.ADD_REMOVE)
    5
    """
    universe = (low, high)
    by_histogram = isinstance(budget, Approx) or (
        isinstance(budget, Zcdp) and not _selection_is_better(_size(universe), budget, unit)
    )
    if by_histogram:
        return noisy_histogram(counts, budget, unit, universe).largest()
    occupied = _occupied(counts, universe)
    empty = _size(universe) - len(occupied)
    scores = [*(counts[key] for key in occupied), 0]
    weights = [*(1 for _ in occupied), empty]
    # Under add-remove all counts move the same way.
    rate = exponential_rate(budget, monotone=unit is Unit.ADD_REMOVE)
    index = select(scores, weights, rate)
    if index < len(occupied):
        return occupied[index]
    return _empty_key(occupied, low, uniform_integer(0, empty - 1))


def pure_error_bound(
    universe_size: int, epsilon: float, beta: float, unit: Unit | str = "replace-one"
) -> float:
    """Bound the error of all counts of a pure histogram, with probability at least 1 - beta.

    With s = 2 / epsilon (add-remove: 1 / epsilon) this is at most s (2 ln U + ln(2 / beta)) + 1.

    Examples
    --------
    >>> pure_error_bound(10**6, epsilon=1.0, beta=0.05)
    61.0
    """
    return _error_bound(Pure(epsilon), Unit.parse(unit), universe_size, beta)


def zcdp_error_bound(
    universe_size: int, rho: float, beta: float, unit: Unit | str = "replace-one"
) -> float:
    """Bound the error of all counts of a zCDP histogram, with probability at least 1 - beta.

    About sigma (sqrt(2 ln U) + sqrt(2 ln(2 U / beta))) with sigma^2 = 1 / rho (add-remove:
    1 / (2 rho)).

    Examples
    --------
    >>> zcdp_error_bound(10**6, rho=0.01, beta=0.05)
    1024.0
    """
    return _error_bound(Zcdp(rho), Unit.parse(unit), universe_size, beta)


def approx_error_bound(
    epsilon: float,
    delta: float,
    beta: float,
    unit: Unit | str = "replace-one",
    *,
    buckets: int = 1,
) -> float:
    """Bound the error of a histogram by stability, with probability at least 1 - beta.

    Holds for all empty buckets, which are never released, and for any ``buckets`` others at once;
    n records have at most n of them. With s = 2 / epsilon (add-remove: 1 / epsilon) this is at
    most s (ln(1 / delta) + ln(2 buckets / beta)) + 2.

    Examples
    --------
    >>> approx_error_bound(1.0, 1e-6, 0.05)
    33.0
    """
    return _error_bound(Approx(epsilon, delta), Unit.parse(unit), buckets, beta)


def count_keys(keys: Iterable[Any]) -> dict[int, int]:
    """Count how often each integer occurs; cells that are not whole numbers are left out.

    Examples
    --------
    >>> count_keys([5, 5.0, None, float("nan"), "5", 10**30])
    {5: 2, 1000000000000000000000000000000: 1}
    """
    if isinstance(keys, str | bytes) or not isinstance(keys, Iterable):
        raise ParameterError("keys must be a sequence or an array with one integer per record.")
    if isinstance(keys, np.ma.MaskedArray):
        keys = keys.compressed()
    if isinstance(keys, np.ndarray):
        if keys.ndim != 1:
            raise ParameterError(f"keys has {keys.ndim} dimensions: write an array with one.")
        if keys.dtype.kind in "biuf":
            # NaN is unequal to itself, and an infinity has no remainder.
            with np.errstate(invalid="ignore"):
                whole = keys[keys % 1 == 0] if keys.dtype.kind == "f" else keys
            found, frequencies = np.unique(whole, return_counts=True)
            return {int(key): int(n) for key, n in zip(found, frequencies, strict=True)}
    # Arrow arrays would give cells of their own types.
    cells = keys.to_pylist() if hasattr(keys, "to_pylist") else keys
    integers = map(_as_integer, cells)
    return dict(Counter(key for key in integers if key is not None))


def _as_integer(cell: object) -> int | None:
    if isinstance(cell, int | np.integer | np.bool_) and not isinstance(cell, np.timedelta64):
        return int(cell)
    if isinstance(cell, float | np.floating) and cell.is_integer():
        return int(cell)
    return None
