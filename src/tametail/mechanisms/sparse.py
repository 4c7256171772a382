"""The noises of very many empty buckets, of which only those that reach a threshold are seen.

Adding noise to 10^300 empty buckets one by one is out of the question, and not needed: how many
of the noises reach a threshold is binomial, and those that do follow the upper tail of the noise.
Both are drawn here exactly. Irrational numbers such as exp(-1/3) are enclosed between decimals
that are rounded down and up. A draw is a row of secret decimal digits; if the enclosures leave
two answers open, more digits are appended *to the same draw* and the enclosures are computed anew
with more digits. A fresh draw instead would change the distribution; a longer one does not.

The laws take their scale as an exact fraction. Given the scale that OpenDP was given for the other
buckets, empty and non-empty buckets get noise of one and the same law.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import count
from typing import NamedTuple, TypeVar

from tametail.randomness import random_below

Answer = TypeVar("Answer")

DRAW_DIGITS = 40
"""Digits drawn at a time: a first draw stays open about once in 10^35 draws."""

GUARD_DIGITS = 25
"""Digits beyond those of the draw, for what rounding and cancellation take away."""


class Enclosure(NamedTuple):
    """A real number that is at least ``low`` and at most ``high``; both are at least 0."""

    low: Decimal
    high: Decimal


@dataclass(frozen=True)
class DiscreteLaplace:
    r"""P(Z = z) = (1 - p) / (1 + p) p^\|z\|, with p = exp(-1 / scale)."""

    scale: Fraction

    def envelope(self, point: int, digits: int) -> Enclosure:
        """Enclose P(Z >= point) = p^point / (1 + p) itself.

        >>> DiscreteLaplace(Fraction(1)).envelope(1, 4)  # e^-1 / (1 + e^-1) = 0.26894...
        Enclosure(low=Decimal('0.2688'), high=Decimal('0.2693'))
        """
        rounded = Rounded(digits)
        one_plus_p = rounded.plus(ONE, rounded.exp_negative(rounded.exact(1 / self.scale)))
        return rounded.over(rounded.exp_negative(rounded.exact(point / self.scale)), one_plus_p)

    def draw_tail(self, point: int) -> int:
        """Return point + G with P(G >= j) = p^j: the law has no memory, so none is refused."""
        return point + draw_geometric(1 / self.scale)


@dataclass(frozen=True)
class DiscreteGaussian:
    """P(Z = z) = exp(-z^2 / (2 sigma^2)) / M, with M the sum of these over all integers."""

    sigma: Fraction

    def envelope(self, point: int, digits: int) -> Enclosure:
        """Enclose exp(-point^2 / (2 sigma^2)) / (M (1 - g)), with g = exp(-point / sigma^2).

        This is the sum over j >= 0 of P(Z = point) g^j, and P(Z = point + j) is
        P(Z = point) g^j exp(-j^2 / (2 sigma^2)).
        """
        rounded = Rounded(digits)
        variance = self.sigma**2
        at_point = rounded.exp_negative(rounded.exact(point**2 / (2 * variance)))
        g = rounded.exp_negative(rounded.exact(point / variance))
        mass = gaussian_mass(self.sigma, digits)
        return rounded.over(at_point, rounded.times(mass, rounded.one_minus(g)))

    def draw_tail(self, point: int) -> int | None:
        """Draw j with probability (1 - g) g^j and keep it with exp(-j^2 / (2 sigma^2))."""
        variance = self.sigma**2
        j = draw_geometric(point / variance)
        kept = j == 0 or draw_geometric(j**2 / (2 * variance)) > 0
        return point + j if kept else None


NoiseDistribution = DiscreteLaplace | DiscreteGaussian
"""A law on the integers. For point >= 1 ``envelope(point, digits)`` encloses a number that is at
least P(Z >= point) and falls with the point, and ``draw_tail(point)`` returns each z >= point with
probability P(Z = z) / envelope, and otherwise None."""


def draw_exceedances(distribution: NoiseDistribution, number: int, point: int) -> list[int]:
    """Draw ``number`` independent noises and return those that are at least ``point``.

    The candidates are binomial with the chance of the envelope, and each is then drawn or refused
    by the law, so that every noise comes out as z >= point with probability P(Z = z), exactly.
    The time depends on the expected number of candidates, ``number`` times the envelope, and not
    on ``number`` itself. The envelope must be at most 1/2.

    >>> draw_exceedances(DiscreteLaplace(Fraction(1)), number=10**300, point=2000)
    []
    """
    tails = (
        distribution.draw_tail(point) for _ in range(_draw_binomial(distribution, number, point))
    )
    return [noise for noise in tails if noise is not None]


def draw_empty_keys(occupied: Sequence[int], low: int, high: int, number: int) -> list[int]:
    """Draw ``number`` different keys of low, ..., high that are not among ``occupied`` (ascending).

    All sets of unoccupied keys of this size are equally likely.

    >>> sorted(draw_empty_keys([2, 4], low=1, high=5, number=3))
    [1, 3, 5]
    """
    empty_before = [key - low - index for index, key in enumerate(occupied)]
    ranks: dict[int, None] = {}  # a set in the order of drawing
    while len(ranks) < number:
        ranks[random_below(high - low + 1 - len(occupied))] = None
    return [low + rank + bisect_right(empty_before, rank) for rank in ranks]


@lru_cache(maxsize=1024)
def reach(distribution: NoiseDistribution, probability: Fraction) -> int:
    """Return the least point >= 1 at which the envelope is at most ``probability``.

    No noise of the law reaches the point with a greater probability.

    >>> reach(DiscreteLaplace(Fraction(2)), Fraction(1, 10**6))  # 2 ln(10^6 / (1 + e^-0.5))
    27
    """

    def is_enough(point: int) -> bool:
        return distribution.envelope(point, DRAW_DIGITS).high <= probability

    high = 1
    while not is_enough(high):
        high *= 2
    low = high // 2  # not enough, or 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def draw_geometric(rate: Fraction) -> int:
    """Draw G >= 0 with P(G >= j) = exp(-rate j), for rate > 0: the floor of -ln(u) / rate.

    >>> draw_geometric(Fraction(1000))
    0
    """

    def decide(low: Decimal, high: Decimal, digits: int) -> int | None:
        if not low or high == 1:  # ln 0, or a neighbor of ln 1 = 0 with 10^18 digits
            return None
        context = Context(prec=digits + GUARD_DIGITS, Emin=MIN_EMIN, Emax=MAX_EMAX)
        # Decimal rounds ln correctly, so the neighbors of its answers enclose it.
        least = -Fraction(context.next_plus(context.ln(high)))
        greatest = -Fraction(context.next_minus(context.ln(low)))
        answer = math.floor(least / rate)
        return answer if answer == math.floor(greatest / rate) else None

    return _draw(decide)


def _draw_binomial(distribution: NoiseDistribution, number: int, point: int) -> int:
    """Draw from Binomial(number, envelope) by inverting its distribution function."""

    def decide(low: Decimal, high: Decimal, digits: int) -> int | None:
        chance = distribution.envelope(point, digits + GUARD_DIGITS)
        rounded = Rounded(digits + GUARD_DIGITS)
        total = Enclosure(Decimal(0), Decimal(0))
        terms = _binomial_terms(number, chance, rounded)
        for successes, term in enumerate(terms):  # pragma: no branch - there is no last term
            total = rounded.plus(total, term)
            if high <= total.low:
                return successes
            if low < total.high:
                break
        return None

    return _draw(decide)


def _binomial_terms(number: int, chance: Enclosure, rounded: Rounded) -> Iterator[Enclosure]:
    """Enclose the probabilities of 0, 1, 2, ... successes."""
    odds = rounded.over(chance, rounded.one_minus(chance))
    exponent = rounded.times(rounded.exact(Fraction(number)), _minus_log_failure(chance, rounded))
    term = rounded.exp_negative(exponent)
    for successes in count():  # pragma: no branch - there is no last number
        yield term
        ways = rounded.exact(Fraction(number - successes, successes + 1))
        term = rounded.times(term, rounded.times(odds, ways))


def _minus_log_failure(chance: Enclosure, rounded: Rounded) -> Enclosure:
    """Enclose -ln(1 - q) = q + q^2 / 2 + q^3 / 3 + ..., for q <= 1/2.

    A tiny q keeps all its digits this way, and would lose them in 1 - q.
    """
    total, power, order = chance, chance, 1
    while power.high > rounded.down.scaleb(total.low, -rounded.down.prec):
        order += 1
        power = rounded.times(power, chance)
        total = rounded.plus(total, rounded.over(power, rounded.exact(Fraction(order))))
    # What follows is at most the last power times q / (1 - q) <= 1.
    return Enclosure(total.low, rounded.up.add(total.high, power.high))


def _draw(decide: Callable[[Decimal, Decimal, int], Answer | None]) -> Answer:
    """Show ``decide`` more and more digits of one uniform draw, low <= u <= high, until it can."""
    drawn, digits = 0, 0
    while True:
        drawn = drawn * 10**DRAW_DIGITS + random_below(10**DRAW_DIGITS)
        digits += DRAW_DIGITS
        answer = decide(Decimal(f"{drawn}e-{digits}"), Decimal(f"{drawn + 1}e-{digits}"), digits)
        if answer is not None:
            return answer


ONE = Enclosure(Decimal(1), Decimal(1))


class Rounded:
    """Arithmetic on enclosures of numbers >= 0, rounded outwards to ``digits`` digits."""

    def __init__(self, digits: int) -> None:
        self.down = Context(prec=digits, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)
        self.up = Context(prec=digits, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)

    def exact(self, value: Fraction) -> Enclosure:
        """Enclose a fraction."""
        top, bottom = Decimal(value.numerator), Decimal(value.denominator)
        return Enclosure(self.down.divide(top, bottom), self.up.divide(top, bottom))

    def plus(self, a: Enclosure, b: Enclosure) -> Enclosure:
        """Enclose a + b."""
        return Enclosure(self.down.add(a.low, b.low), self.up.add(a.high, b.high))

    def one_minus(self, a: Enclosure) -> Enclosure:
        """Enclose 1 - a, for a <= 1."""
        low = max(self.down.subtract(Decimal(1), a.high), Decimal(0))
        return Enclosure(low, self.up.subtract(Decimal(1), a.low))

    def times(self, a: Enclosure, b: Enclosure) -> Enclosure:
        """Enclose a b."""
        return Enclosure(self.down.multiply(a.low, b.low), self.up.multiply(a.high, b.high))

    def over(self, a: Enclosure, b: Enclosure) -> Enclosure:
        """Enclose a / b."""
        return Enclosure(self.down.divide(a.low, b.high), self.up.divide(a.high, b.low))

    # Decimal rounds exp and sqrt correctly, but always to nearest: the bounds are the neighbors.
    # A minus sign would round to the precision of the caller's context; copy_negate does not.

    def exp_negative(self, a: Enclosure) -> Enclosure:
        """Enclose exp(-a)."""
        low = self.down.next_minus(self.down.exp(a.high.copy_negate()))
        high = self.up.next_plus(self.up.exp(a.low.copy_negate()))
        return Enclosure(max(low, Decimal(0)), high)

    def sqrt(self, a: Enclosure) -> Enclosure:
        """Enclose the square root of a > 0."""
        low = self.down.next_minus(self.down.sqrt(a.low))
        return Enclosure(low, self.up.next_plus(self.up.sqrt(a.high)))


@lru_cache(maxsize=1024)
def gaussian_mass(sigma: Fraction, digits: int) -> Enclosure:
    """Enclose the sum of exp(-z^2 / (2 sigma^2)) over all integers z.

    By Poisson's summation formula it is also sigma sqrt(2 pi) times the sum of
    exp(-2 pi^2 sigma^2 z^2); the one that converges faster is used.
    """
    rounded = Rounded(digits)
    if sigma < 1:
        return _theta(rounded.exact(1 / (2 * sigma**2)), digits)
    two_pi = rounded.times(rounded.exact(Fraction(2)), _pi(digits))
    width = rounded.times(rounded.exact(sigma), rounded.sqrt(two_pi))
    exponent = rounded.times(rounded.times(two_pi, two_pi), rounded.exact(sigma**2 / 2))
    return rounded.times(width, _theta(exponent, digits))


def _theta(c: Enclosure, digits: int) -> Enclosure:
    """Enclose the sum of exp(-c z^2) over all integers z, for c >= 1/2."""
    rounded = Rounded(digits)
    total, z = ONE, 0
    pair = ONE
    while pair.high >= Decimal(f"1e-{digits}"):
        z += 1
        term = rounded.exp_negative(rounded.times(c, rounded.exact(Fraction(z**2))))
        pair = rounded.plus(term, term)
        total = rounded.plus(total, pair)
    # What follows is less than the last pair: exp(-c ((z + 1)^2 - z^2)) <= exp(-3/2) < 1/4.
    return Enclosure(total.low, rounded.up.add(total.high, pair.high))


def _pi(digits: int) -> Enclosure:
    """Enclose pi = 16 arctan(1/5) - 4 arctan(1/239)."""
    # Each series has fewer than 2 digits + 20 terms, each off by at most 2 units before it is
    # multiplied by at most 16, so ten more digits hold the errors.
    unit = 10 ** (digits + 10)
    pi = 16 * _arctan_of_inverse(5, unit) - 4 * _arctan_of_inverse(239, unit)
    low = pi // 10**10 - 1
    return Enclosure(Decimal(f"{low}e-{digits}"), Decimal(f"{low + 3}e-{digits}"))


def _arctan_of_inverse(x: int, unit: int) -> int:
    """Approximate unit times arctan(1/x) = 1/x - 1/(3 x^3) + 1/(5 x^5) - ..."""
    total, power, order = 0, unit // x, 0
    while power:
        total += (-1) ** order * (power // (2 * order + 1))
        power //= x**2
        order += 1
    return total
