"""Private histograms of integer keys, and their largest bucket (Lemma `priv-hist`).

Pure and concentrated privacy need a public universe of keys, of any size. In principle every key
of the universe gets noise, and those whose noisy count reaches a public threshold are released.
In practice only the noises of empty keys that reach it are drawn, with the same law
(:mod:`tametail.mechanisms.sparse`). Approximate privacy needs no universe: keys that do not occur
are never released, and the threshold hides a key that occurs once.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from tametail._shown import shown
from tametail._validate import probability
from tametail.errors import InternalError, ParameterError
from tametail.mechanisms import sparse
from tametail.mechanisms.noise import add_gaussian, add_laplace, gaussian_scale, laplace_scale
from tametail.mechanisms.select import select
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Approx, Budget, Pure, Zcdp, exponential_rate

Universe = tuple[int, int]  # the least and the greatest key that can occur

CHOICE_BETA = Fraction(1, 20)
"""The failure probability at which two ways to the largest bucket are compared."""


@dataclass(frozen=True, repr=False)
class Histogram:
    """The buckets whose noisy count reached the threshold.

    ``counts`` holds the noisy counts by key, keys ascending. The threshold, the budget, the unit
    and the universe (None if there is none) are public.
    """

    counts: dict[int, int]
    threshold: int
    budget: Budget
    adjacency: Adjacency
    universe: Universe | None

    def __repr__(self) -> str:
        found = f"{len(self.counts)} buckets with noisy counts >= {self.threshold}"
        return f"<Histogram: {found}; {self.budget}, {self.adjacency}>"

    def largest(self) -> int | None:
        """Return the key with the largest noisy count, the least one of several; None if empty."""
        return max(self.counts, key=lambda key: self.counts[key], default=None)

    def error_bound(self, beta: float, *, buckets: int = 1) -> float:
        """Bound the error of the counts, with probability at least 1 - beta.

        A bucket that is not released counts as 0. With a pure or a concentrated budget the bound
        holds for all keys of the universe at once; with an approximate one it holds for all empty
        buckets and for any ``buckets`` others, chosen without looking at the noise.
        """
        if self.universe is not None and not isinstance(self.budget, Approx):
            buckets = _size(self.universe)
        return _error_bound(self.budget, self.adjacency, buckets, beta)


def noisy_histogram(
    counts: Mapping[int, int], budget: Budget, adjacency: Adjacency, universe: Universe | None
) -> Histogram:
    """Release a private histogram from exact counts; see :func:`histogram`.

    A record must add 1 to at most one count. Counts of 0, and of keys outside the universe, are
    left out.
    """
    add_noise, distribution = _noise(budget, adjacency)
    universe = checked_universe(budget, universe)
    occupied = _occupied(counts, universe)
    noisy = dict(zip(occupied, add_noise([counts[key] for key in occupied]), strict=True))
    if universe is None or isinstance(budget, Approx):
        least = threshold(budget, adjacency)
    else:
        least = threshold(budget, adjacency, _size(universe))
        noises = sparse.draw_exceedances(distribution, _size(universe) - len(occupied), least)
        keys = sparse.draw_empty_keys(occupied, *universe, len(noises))
        noisy |= zip(keys, noises, strict=True)
    released = {key: noisy[key] for key in sorted(noisy) if noisy[key] >= least}
    return Histogram(released, least, budget, adjacency, universe)


def threshold(budget: Budget, adjacency: Adjacency, universe_size: int = 1) -> int:
    """Return the least noisy count that a histogram releases; a function of public numbers.

    Pure or concentrated: the least t >= 1 that the noise of one bucket is bound to reach with
    probability at most 1 / U, for U keys, so that about one empty bucket is released. Approximate:
    1 + m for the least m >= 1 with P(Z >= m) = g^m / (1 + g) <= delta, g = exp(-1 / scale), so
    that a key that occurs once is released with probability at most delta.

    >>> from tametail.privacy.budget import approx, pure
    >>> threshold(approx(1.0, 1e-6), Adjacency.REPLACE_ONE)  # 1 + 2 ln(10^6 / (1 + e^-0.5))
    28
    >>> threshold(pure(1.0), Adjacency.REPLACE_ONE, 10**300)
    1381
    """
    _, distribution = _noise(budget, adjacency)
    if isinstance(budget, Approx):
        return 1 + sparse.reach(distribution, Fraction(budget.delta))
    # At least 2, so that an empty bucket is released with probability at most one half.
    return sparse.reach(distribution, Fraction(1, max(universe_size, 2)))


def largest_bucket(
    counts: Mapping[int, int], budget: Budget, *, low: int, high: int, adjacency: Adjacency
) -> int | None:
    """Choose a key of low, ..., high whose count is close to the largest one.

    Pure: the exponential mechanism with score = count. Concentrated: the exponential mechanism,
    or the largest noisy count of the histogram, whichever promises the smaller error for this
    number of keys. Approximate: the largest noisy count of the histogram. Where no noisy count
    reaches the threshold of the histogram the answer is None.

    **Formal guarantee**: the choice satisfies ``budget`` for ``adjacency``. See
    ``docs/proofs/histograms.md``.

    >>> from tametail.privacy.budget import pure
    >>> ends = {"low": -10**300, "high": 10**300}
    >>> largest_bucket({3: 40, 5: 60}, pure(1000), **ends, adjacency=Adjacency.ADD_REMOVE)
    5
    """
    universe = (low, high)
    if not _selection_is_better(budget, adjacency, _size(universe)):
        return noisy_histogram(counts, budget, adjacency, universe).largest()
    occupied = _occupied(counts, universe)
    scores = [*(counts[key] for key in occupied), 0]
    weights = [1] * len(occupied) + [_size(universe) - len(occupied)]
    # Under add-remove all counts move the same way.
    rate = exponential_rate(budget, monotone=adjacency.one_way)
    index = select(scores, weights, rate)
    if index < len(occupied):
        return occupied[index]
    return sparse.draw_empty_keys(occupied, low, high, 1)[0]


def count_keys(keys: Iterable[object]) -> dict[int, int]:
    """Count how often each integer occurs; cells that are not whole numbers are left out.

    >>> count_keys([5, 5.0, None, float("nan"), "5", 10**30])
    {5: 2, 1000000000000000000000000000000: 1}
    """
    check_keys(keys)
    if isinstance(keys, np.ma.MaskedArray):
        keys = keys.compressed()
    if isinstance(keys, np.ndarray) and keys.dtype.kind in "biuf":
        # NaN is unequal to itself, and an infinity has no remainder.
        with np.errstate(invalid="ignore"):
            whole = keys[keys % 1 == 0] if keys.dtype.kind == "f" else keys
        found, frequencies = np.unique(whole, return_counts=True)
        return {int(key): int(n) for key, n in zip(found, frequencies, strict=True)}
    # Arrow arrays would give cells of their own types.
    cells = keys.to_pylist() if hasattr(keys, "to_pylist") else keys
    return dict(Counter(key for key in map(_as_integer, cells) if key is not None))


def check_keys(keys: object) -> None:
    """Refuse what cannot be keys by its type; no key is looked at."""
    if isinstance(keys, str | bytes) or not isinstance(keys, Iterable):
        raise ParameterError("keys must be a sequence or an array with one integer per record.")
    if isinstance(keys, np.ndarray) and keys.ndim != 1:
        raise ParameterError(f"keys has {keys.ndim} dimensions. Use a one-dimensional array.")


def _as_integer(cell: Any) -> int | None:
    kind = type(cell)  # no code of the cell's own runs: it could raise, or stop the program
    if issubclass(kind, int):
        return int.__int__(cell)
    if issubclass(kind, np.integer | np.bool_) and not issubclass(kind, np.timedelta64):
        return int(np.generic.item(cell))
    if issubclass(kind, float | np.floating):
        convert = float.__float__ if issubclass(kind, float) else np.generic.__float__
        number: float = convert(cell)
        return int(number) if number.is_integer() else None
    return None


def checked_universe(budget: Budget, universe: Universe | None) -> Universe | None:
    """Return the universe as integers, if the budget needs one."""
    if not isinstance(budget, Budget):
        raise ParameterError(
            f"Invalid budget={shown(budget)}. Use pure(epsilon), zcdp(rho) or approx(epsilon, "
            "delta)."
        )
    if universe is None and isinstance(budget, Approx):
        return None
    if universe is None:
        raise ParameterError(
            "A pure or zCDP budget needs a universe. Use universe=(low, high), the smallest and "
            "largest possible key, chosen independently of the data. Or use budget=approx(epsilon, "
            "delta), which needs none."
        )
    try:
        low, high = map(operator.index, universe)
    except (TypeError, ValueError):
        low, high = 1, 0
    if low > high:
        raise ParameterError(
            f"Invalid universe={shown(universe)}. Use universe=(low, high) with integers low <= "
            "high."
        )
    return low, high


def _size(universe: Universe) -> int:
    return universe[1] - universe[0] + 1


def _occupied(counts: Mapping[int, int], universe: Universe | None) -> list[int]:
    """Return the keys with a count, ascending."""
    low, high = universe or (-math.inf, math.inf)
    return sorted(key for key, count in counts.items() if count > 0 and low <= key <= high)


def _noise(
    budget: Budget, adjacency: Adjacency
) -> tuple[Callable[[Sequence[int]], tuple[int, ...]], sparse.NoiseDistribution]:
    """Return the function that adds noise to counts, and the law of what it adds."""
    moved = adjacency.changes  # so many counts, each by 1: the L1 and the squared L2 sensitivity
    match budget:
        case Zcdp(rho):
            gaussian = sparse.DiscreteGaussian(Fraction(gaussian_scale(moved, rho)))
            return partial(add_gaussian, l2_squared=moved, rho=rho), gaussian
        case Pure(epsilon) | Approx(epsilon, _):
            laplace = sparse.DiscreteLaplace(Fraction(laplace_scale(moved, epsilon)))
            return partial(add_laplace, l1=moved, epsilon=epsilon), laplace
    raise InternalError(f"There is no noise for {shown(budget)}.")


def _error_bound(budget: Budget, adjacency: Adjacency, buckets: int, beta: float) -> float:
    """Bound the error of ``buckets`` buckets: no noise exceeds a, and what is hidden is below t.

    With U buckets and s = 2 / epsilon (add-remove: 1 / epsilon) this is at most
    s (2 ln U + ln(2 / beta)) + 1 for a pure budget, s (ln(1 / delta) + ln(2 U / beta)) + 2 for an
    approximate one, and about sigma (sqrt(2 ln U) + sqrt(2 ln(2 U / beta))) for a concentrated one,
    with sigma^2 = 1 / rho (add-remove: 1 / (2 rho)).

    >>> from tametail.privacy.budget import approx, pure, zcdp
    >>> [_error_bound(x, Adjacency.REPLACE_ONE, 10**6, 0.05) for x in (pure(1.0), zcdp(0.01))]
    [60.0, 103.0]
    >>> _error_bound(approx(1.0, 1e-6), Adjacency.REPLACE_ONE, 1, 0.05)
    33.0
    """
    level = Fraction(probability(beta=beta))
    if buckets < 1:
        raise ParameterError(f"An error bound needs at least one bucket, not {shown(buckets)}.")
    _, distribution = _noise(budget, adjacency)
    greatest_noise = sparse.reach(distribution, level / (2 * buckets)) - 1
    return float(threshold(budget, adjacency, buckets) - 1 + greatest_noise)


def _selection_is_better(budget: Budget, adjacency: Adjacency, size: int) -> bool:
    """Say whether the exponential mechanism finds smaller buckets than the noisy histogram does.

    By how much may the count of the chosen bucket fall short of the largest, except with
    probability beta? Exponential mechanism: ln(U / beta) / rate. Histogram: the noise of the
    largest bucket is above -a and that of all buckets below b, each except with beta / 2: a + b.
    """
    if not isinstance(budget, Zcdp):
        return isinstance(budget, Pure)
    rate = exponential_rate(budget, monotone=adjacency.one_way)
    _, distribution = _noise(budget, adjacency)
    shortfall = sparse.reach(distribution, CHOICE_BETA / 2) + sparse.reach(
        distribution, CHOICE_BETA / (2 * size)
    )
    return math.log(size) - math.log(CHOICE_BETA) <= rate * shortfall
