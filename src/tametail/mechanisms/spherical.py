"""Noise with a length and a direction: pure privacy for vectors that move in Euclidean norm.

The real vector Z has the density ``c e^(-|z|/scale)`` on R^d: a direction that is uniform on the
sphere, and a length with the gamma law of order d. What is added to a vector of integers is Z
rounded to the nearest integers, which is as private as Z itself, since ``nearest(x + Z) = x +
nearest(Z)``. Z is never computed. Its ingredients are uniform numbers of which secret decimal
digits are drawn; Z is enclosed between decimals that are rounded down and up, and if that leaves an
integer open, more digits are appended *to the same draws*. So the law of the integers is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import count

from tametail._validate import positive
from tametail.errors import InternalError
from tametail.mechanisms.sparse import ONE, Enclosure, Rounded
from tametail.privacy.accounting import square_root_up
from tametail.randomness import random_below

FIRST_DIGITS = 40
"""Digits drawn at first: below a scale of 10^15 an integer stays open once in 10^20 draws."""

GUARD_DIGITS = 10
"""Digits beyond those of the draws, for what rounding takes away."""

HALF = Decimal("0.5")


def add_spherical(values: Sequence[int], l2_squared: int, epsilon: float) -> tuple[int, ...]:
    r"""Add noise of density proportional to exp(-\|z\| / scale), rounded, to some integers.

    The Euclidean length of the noise has mean d times the scale of :func:`spherical_scale`, for d
    integers; Laplace noise that hides as much is longer by the order of the square root of d. One
    record can move ``values`` by ``l2_squared`` in the sum of squared differences; where that is 0
    they come back unchanged.

    **Formal guarantee**: epsilon-DP for the relation under which ``l2_squared`` holds.
    See ``docs/proofs/spherical.md``.

    >>> add_spherical([10**30, -7], l2_squared=2, epsilon=1e6)
    (1000000000000000000000000000000, -7)
    """
    scale = spherical_scale(l2_squared, epsilon)
    if scale == 0.0 or len(values) == 0:
        return tuple(int(value) for value in values)
    noise = draw_spherical(len(values), Fraction(scale))
    return tuple(int(value) + z for value, z in zip(values, noise, strict=True))


@lru_cache(maxsize=1024)
def spherical_scale(l2_squared: int, epsilon: float) -> float:
    """Return the scale sqrt(l2_squared) / epsilon, rounded up.

    >>> spherical_scale(4, 0.5), spherical_scale(0, 0.5)
    (4.0, 0.0)
    """
    if l2_squared < 0:
        raise InternalError("A sensitivity must be at least 0.")
    return square_root_up(l2_squared / Fraction(positive(epsilon=epsilon)) ** 2)


def draw_spherical(n_columns: int, scale: Fraction) -> tuple[int, ...]:
    """Draw a vector of density ``c e^(-|z|/scale)``, rounded to the nearest integers."""
    pairs = [_Pair() for _ in range(-(-n_columns // 2))]
    lengths = [_Uniform() for _ in range(n_columns)]
    for digits in count(FIRST_DIGITS, FIRST_DIGITS):  # pragma: no branch - there is no last number
        rounded = Rounded(digits + GUARD_DIGITS)
        sizes = _sizes(n_columns, scale, pairs, lengths, digits, rounded)
        nearest = [_nearest(size, rounded) for size in sizes]
        if None not in nearest:
            break
    signs = [sign for pair in pairs for sign in pair.signs]
    return tuple(sign * (size or 0) for sign, size in zip(signs, nearest, strict=False))


def _sizes(
    n_columns: int,
    scale: Fraction,
    pairs: Sequence[_Pair],
    lengths: Sequence[_Uniform],
    digits: int,
    rounded: Rounded,
) -> Iterator[Enclosure]:
    """Enclose the absolute values of the coordinates.

    Half of the squares of two independent normal numbers are ``E c`` and ``E (1 - c)``, where E is
    exponential and c the squared cosine of a uniform angle; a vector of normal numbers has a
    uniform direction. A sum of d exponential numbers, ``-ln`` of a product, has the gamma law.
    """
    squares = [square for pair in pairs for square in pair.squares(digits, rounded)][:n_columns]
    norm = reduce(rounded.plus, squares)
    product = reduce(rounded.times, (length.enclosure(digits) for length in lengths), ONE)
    length = rounded.times(rounded.exact(scale), _minus_log(product, rounded))
    for square in squares:
        yield rounded.times(length, rounded.sqrt(rounded.over(square, norm)))


def _nearest(size: Enclosure, rounded: Rounded) -> int | None:
    """Return the nearest integer, or None if the enclosure leaves it open."""
    low = rounded.down.add(size.low, HALF)
    high = rounded.up.add(size.high, HALF)
    floor = low.to_integral_value(ROUND_FLOOR)
    return int(floor) if floor == high.to_integral_value(ROUND_FLOOR) else None


def _minus_log(a: Enclosure, rounded: Rounded) -> Enclosure:
    """Enclose -ln(a) for 0 < a <= 1. Decimal rounds ln correctly, but always to nearest."""
    low = rounded.up.next_plus(rounded.up.ln(a.high)).copy_negate()
    high = rounded.down.next_minus(rounded.down.ln(a.low)).copy_negate()
    return Enclosure(max(low, Decimal(0)), high)


class _Uniform:
    """A uniform number between 0 and 1, of which as many digits are drawn as were asked for."""

    def __init__(self) -> None:
        self._drawn, self._digits = 0, 0

    def enclosure(self, digits: int) -> Enclosure:
        """Enclose it by so many digits, or more: both ends are above 0 and below 1."""
        while self._digits < digits or self._drawn in (0, 10**self._digits - 1):
            self._drawn = self._drawn * 10**FIRST_DIGITS + random_below(10**FIRST_DIGITS)
            self._digits += FIRST_DIGITS
        low, high = self._drawn, self._drawn + 1
        return Enclosure(Decimal(f"{low}e-{self._digits}"), Decimal(f"{high}e-{self._digits}"))


class _Pair:
    """Two independent normal numbers, in the making."""

    def __init__(self) -> None:
        self.signs = tuple(1 - 2 * random_below(2) for _ in range(2))
        self._exponential = _Uniform()
        while not self._inside():
            pass

    def _inside(self) -> bool:
        """Draw a point of a square, and say whether it is in the disc: then its angle is kept."""
        self._point = _Uniform(), _Uniform()
        for digits in count(FIRST_DIGITS, FIRST_DIGITS):  # pragma: no branch
            first, second = self._coordinates(digits, rounded := Rounded(digits + GUARD_DIGITS))
            norm = rounded.plus(first, second)
            if norm.high <= 1 or norm.low > 1:
                break
        return norm.high <= 1

    def _coordinates(self, digits: int, rounded: Rounded) -> tuple[Enclosure, Enclosure]:
        first, second = (one.enclosure(digits) for one in self._point)
        return rounded.times(first, first), rounded.times(second, second)

    def squares(self, digits: int, rounded: Rounded) -> tuple[Enclosure, Enclosure]:
        """Enclose half of the squares of both."""
        first, second = self._coordinates(digits, rounded)
        exponential = _minus_log(self._exponential.enclosure(digits), rounded)
        factor = rounded.over(exponential, rounded.plus(first, second))
        return rounded.times(factor, first), rounded.times(factor, second)
