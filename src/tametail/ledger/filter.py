"""The privacy filter: which charge may still be made, when charges are chosen along the way.

Every charge may depend on the results of all earlier ones, so rules for plans that are fixed
beforehand do not apply. What is admitted here is proved in ``docs/proofs/ledger.md``. With the
exact sums e of epsilons, d of deltas and c of rho + epsilon^2 / 2 over all charges,

    pure(E)       all charges are pure, and e <= E
    zcdp(R)       no charge has a delta, and c <= R
    approx(E, D)  basic:         no zCDP charge, e <= E and d <= D/2, or
                  concentrated:  c <= R(E, D/4) and d <= D/4

where R-zCDP implies (E, D/4)-differential privacy. The deltas of the two alternatives add up to D.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Final

from tametail.ledger.cost import Cost
from tametail.privacy.decimals import rounded_down, to_text

_GOLDEN: Final = Decimal("0.6180339887498948482045868343656381")
_STEPS: Final = 64  # 75 units of log a become 3e-12: R is then off by 1e-22
_PRECISE: Final = Context(prec=60)
_MARGIN: Final = Decimal("1e-30")  # more than the rounding errors of terms with 60 digits


@dataclass(frozen=True, slots=True)
class TotalSpent:
    """Exact sums over the charges of a data set; they stand in every entry and never fall.

    >>> spent = TotalSpent().plus(Cost(epsilon=Fraction(1, 10)))
    >>> spent.to_dict()
    {'epsilon': '0.1', 'concentrated': '0.005', 'charges': 1}
    """

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    concentrated: Fraction = Fraction(0)
    charges: int = 0

    def plus(self, cost: Cost) -> TotalSpent:
        """Return the sums after one more charge."""
        return TotalSpent(
            self.epsilon + cost.epsilon,
            self.delta + cost.delta,
            self.rho + cost.rho,
            self.concentrated + cost.rho + cost.epsilon**2 / 2,
            self.charges + 1,
        )

    def to_dict(self) -> dict[str, str | int]:
        """Return the sums that are not 0, as exact text."""
        sums = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rho": self.rho,
            "concentrated": self.concentrated,
        }
        shown: dict[str, str | int] = {name: to_text(x) for name, x in sums.items() if x}
        return shown | {"charges": self.charges}

    @classmethod
    def from_dict(cls, values: Mapping[str, str | int]) -> TotalSpent:
        """Return the sums that :meth:`to_dict` described."""
        sums = {name: Fraction(text) for name, text in values.items() if name != "charges"}
        return cls(**sums, charges=int(values["charges"]))


@dataclass(frozen=True, slots=True)
class RemainingByRule:
    """What may still be spent by one rule of the filter; a rule that is closed gives None."""

    epsilon: Fraction
    delta: Fraction
    rho: Fraction
    share: Fraction
    """The part of the budget that is gone."""


def admits(budget: Cost, spent: TotalSpent) -> bool:
    """Say whether these sums are within the budget; once false, it stays false.

    >>> ten = TotalSpent(epsilon=Fraction(1), concentrated=Fraction(1, 20), charges=10)
    >>> admits(Cost(epsilon=Fraction(1)), ten)
    True
    """
    if budget.rho:
        return spent.delta == 0 and spent.concentrated <= budget.rho
    if not budget.delta:
        return spent.rho == 0 and spent.delta == 0 and spent.epsilon <= budget.epsilon
    return _basic(budget, spent) or _concentrated(budget, spent)


def _basic(budget: Cost, spent: TotalSpent) -> bool:
    within = spent.epsilon <= budget.epsilon and spent.delta <= budget.delta / 2
    return spent.rho == 0 and within


def _concentrated(budget: Cost, spent: TotalSpent) -> bool:
    limit = concentrated_limit(budget.epsilon, budget.delta / 4)
    return spent.concentrated <= limit and spent.delta <= budget.delta / 4


@lru_cache(maxsize=1024)
def concentrated_limit(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return an R such that R-zCDP implies (epsilon, delta)-differential privacy, rounded down.

    By the conversion of Canonne, Kamath and Steinke (2020), every a > 0 allows

        R(a) = (epsilon + ln(1 + 1/a) - (ln(1/delta) - ln(1 + a)) / a) / (1 + a).

    The best a is searched for with decimals, so that every machine finds the same R. R(a) has one
    peak, and any a is valid: an error of the search costs tightness, never privacy.

    >>> 0.0209 < float(concentrated_limit(Fraction(1), Fraction(1, 4 * 10**6))) < 0.022
    True
    """
    with localcontext(_PRECISE):
        target = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
        log_delta = (Decimal(delta.numerator) / Decimal(delta.denominator)).ln()
        low, high = Decimal(-60), 5 - log_delta
        for _ in range(_STEPS):
            step = _GOLDEN * (high - low)
            left, right = high - step, low + step
            if _allowed(target, log_delta, left.exp()) < _allowed(target, log_delta, right.exp()):
                low = left
            else:
                high = right
        best = _allowed(target, log_delta, ((low + high) / 2).exp())
    return max(rounded_down(best), Fraction(0))


def _allowed(epsilon: Decimal, log_delta: Decimal, a: Decimal) -> Decimal:
    """Return R(a) less a margin for rounding errors; to be called with many digits."""
    terms = epsilon, (1 + 1 / a).ln(), log_delta / a, (1 + a).ln() / a
    margin = _MARGIN * sum(map(abs, terms))
    return (sum(terms, Decimal(0)) - margin) / (1 + a)


def remaining_by_rule(budget: Cost, spent: TotalSpent) -> list[RemainingByRule]:
    """Return what each rule of the filter that is still open leaves."""
    zero = Fraction(0)
    if budget.rho:
        left = budget.rho - spent.concentrated
        return [RemainingByRule(_root(2 * left), zero, left, spent.concentrated / budget.rho)]
    found = []
    half, quarter = budget.delta / 2, budget.delta / 4
    if spent.rho == 0 and spent.epsilon <= budget.epsilon and spent.delta <= half:
        gone = max(spent.epsilon / budget.epsilon, spent.delta / half if half else zero)
        found.append(
            RemainingByRule(budget.epsilon - spent.epsilon, half - spent.delta, zero, gone)
        )
    if budget.delta and _concentrated(budget, spent):
        limit = concentrated_limit(budget.epsilon, quarter)
        left = limit - spent.concentrated
        gone = max(spent.concentrated / limit if limit else zero, spent.delta / quarter)
        found.append(RemainingByRule(_root(2 * left), quarter - spent.delta, left, gone))
    return found


def _root(square: Fraction) -> Fraction:
    """Return a square root, rounded down to 30 digits after the point of its leading digit."""
    if square <= 0:
        return Fraction(0)
    scale = 10 ** (30 + max(0, len(str(square.denominator)) - len(str(square.numerator))))
    return Fraction(isqrt(square.numerator * scale**2 // square.denominator), scale)
