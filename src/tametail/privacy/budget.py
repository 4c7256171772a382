"""Privacy budgets: what may be spent, how it splits and adds up, and what is then guaranteed.

Three definitions, each a frozen value with one constructor: :func:`pure`, :func:`zcdp` and
:func:`approx`. Costs are added in exact fractions, and a float is rounded to the side that
claims less privacy. The rules are proved in ``docs/proofs/composition.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from html import escape
from typing import Self, cast

from tametail._shown import shown
from tametail._validate import probability
from tametail.errors import BudgetError, InternalError, ParameterError
from tametail.privacy.accounting import (
    Noise,
    analytic_gaussian_sigma,
    approx_to_zcdp,
    gaussian_delta,
    round_down,
    round_up,
    square_root_down,
    square_root_up,
    zcdp_to_approx,
)
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.definitions import SMALLEST, Approx, Budget, Pure, Zcdp

__all__ = [
    "Approx",
    "Budget",
    "Guarantee",
    "Noise",
    "Pure",
    "Zcdp",
    "analytic_gaussian_sigma",
    "approx",
    "approx_to_zcdp",
    "compose",
    "exponential_rate",
    "fits",
    "gaussian_delta",
    "in_parallel",
    "noise_for",
    "on_sample",
    "parse_budget",
    "pure",
    "zcdp",
    "zcdp_to_approx",
]

#: Results of exact arithmetic that are kept: releases of one plan ask for the same ones.
_KEPT = 1024


def pure(epsilon: float) -> Pure:
    """Return a budget of pure differential privacy.

    >>> print(pure(1))
    epsilon = 1 (pure)
    """
    return Pure(epsilon)


def zcdp(rho: float) -> Zcdp:
    """Return a budget of zero-concentrated differential privacy.

    >>> print(zcdp(0.5))
    rho = 0.5 (zCDP)
    """
    return Zcdp(rho)


def approx(epsilon: float, delta: float) -> Approx:
    """Return a budget of approximate differential privacy.

    >>> print(approx(1, 1e-6))
    epsilon = 1, delta = 1e-06 (approximate)
    """
    return Approx(epsilon, delta)


def parse_budget(
    budget: object = None, *, epsilon: object = None, delta: object = None, rho: object = None
) -> Budget:
    """Return the one budget that the arguments describe.

    >>> parse_budget(epsilon=1, delta=1e-6)
    Approx(epsilon=1.0, delta=1e-06)
    """
    advice = "Use epsilon=1, or epsilon=1 with delta=1e-6, or rho=0.5, or budget=pure(1)"
    given = [
        name
        for name, value in (("budget", budget), ("epsilon", epsilon), ("rho", rho))
        if value is not None
    ]
    if not given:
        raise ParameterError(f"Missing privacy budget. {advice}.")
    if len(given) > 1 or (delta is not None and given != ["epsilon"]):
        names = " and ".join([*given, "delta"] if delta is not None else given)
        raise ParameterError(f"{names} cannot be combined. {advice}.")
    if rho is not None:
        return Zcdp(cast("float", rho))  # which checks it
    if epsilon is not None:
        strength = cast("float", epsilon)
        return Pure(strength) if delta is None else Approx(strength, cast("float", delta))
    if not isinstance(budget, Budget):
        raise ParameterError(f"Invalid budget={shown(budget)}. {advice}.")
    return budget


def compose(
    costs: Iterable[Budget], kind: type[Budget], delta: float | None = None
) -> Budget | None:
    """Return what all ``costs`` on the same records cost together, as a guarantee of ``kind``.

    Pure costs add up. In zCDP rhos add up and a pure cost counts epsilon^2 / 2. For an
    approximate guarantee with the total ``delta`` the better of two valid sums is taken:

    * basic: epsilons and deltas add up, the zCDP part is converted at the delta that is left;
    * concentrated: (epsilon, delta) counts as delta-approximate epsilon^2 / 2-zCDP, rhos add up
      and the sum is converted at the delta that is left.

    Sums are exact; only the result is rounded, upwards. No costs: None.

    >>> compose([pure(0.5), pure(0.25)], Pure)
    Pure(epsilon=0.75)
    >>> compose([zcdp(0.5), pure(1.0)], Zcdp)
    Zcdp(rho=1.0)
    >>> compose([pure(0.01)] * 1000, Approx, delta=1e-6).epsilon < 2  # pure: 10
    True
    """
    return _composed(tuple(costs), kind, delta)


@lru_cache(maxsize=_KEPT)
def _composed(costs: tuple[Budget, ...], kind: type[Budget], delta: float | None) -> Budget | None:
    if not costs:
        return None
    if kind is Approx:
        return _compose_approx(costs, delta)
    if delta is not None or not all(isinstance(cost, (Pure, kind)) for cost in costs):
        names = sorted({type(cost).__name__ for cost in costs})
        raise InternalError(
            f"{names} with delta={delta!r} cannot make a {kind.__name__} guarantee."
        )
    if kind is Pure:
        return Pure.trusted(round_up(sum(map(_epsilon, costs), Fraction(0))))
    return Zcdp.trusted(max(round_up(sum(map(_rho, costs), Fraction(0))), SMALLEST))


def _compose_approx(costs: Sequence[Budget], delta: float | None) -> Approx:
    if delta is None:
        raise InternalError("An approximate guarantee needs the total delta. Add delta=.")
    deltas = sum((Fraction(cost.delta) for cost in costs if isinstance(cost, Approx)), Fraction(0))
    left = Fraction(probability(delta=delta)) - deltas
    concentrated = [cost for cost in costs if isinstance(cost, Zcdp)]
    basic = sum((_epsilon(cost) for cost in costs if not isinstance(cost, Zcdp)), Fraction(0))
    best: Fraction | float = min(basic + _converted(concentrated, left), _converted(costs, left))
    if left < 0 or best == math.inf:
        raise BudgetError(
            f"The costs already use delta = {float(deltas):.12g} of the total delta = "
            f"{delta:.12g}, which leaves too little. Use a larger total delta, or smaller deltas "
            "for the costs."
        )
    return Approx(max(round_up(Fraction(best)), SMALLEST), delta)


def _converted(costs: Sequence[Budget], delta: Fraction) -> Fraction | float:
    """Return the epsilon of all costs together at ``delta``, by way of zCDP."""
    if not costs:
        return Fraction(0)
    if delta <= 0:
        return math.inf
    rho = round_up(sum(map(_rho, costs), Fraction(0)))
    return Fraction(zcdp_to_approx(rho, round_down(delta)))


def _epsilon(cost: Budget) -> Fraction:
    if isinstance(cost, (Pure, Approx)):
        return Fraction(cost.epsilon)
    raise InternalError(f"{cost!r} has no epsilon without a delta.")


def _rho(cost: Budget) -> Fraction:
    return Fraction(cost.rho) if isinstance(cost, Zcdp) else _epsilon(cost) ** 2 / 2


def in_parallel(costs: Iterable[Budget]) -> Budget:
    """Return what ``costs`` on disjoint parts of the records cost together: the largest.

    A record lies in one part only, and a later part may use the answers of an earlier one.
    Which record lies in which part must not depend on the values of other records.

    >>> in_parallel([pure(0.5), pure(1.0)])
    Pure(epsilon=1.0)
    """
    costs = list(costs)
    kinds = {type(cost) for cost in costs}
    if len(kinds) != 1:
        raise InternalError(f"disjoint costs of one kind are needed, not {costs!r}.")
    numbers = zip(*(cost.values() for cost in costs), strict=True)
    return kinds.pop().trusted(*map(max, numbers))


@lru_cache(maxsize=_KEPT)
def fits(spent: Budget, budget: Budget) -> bool:
    """Say whether a guarantee of ``spent`` implies one of ``budget``; compared exactly.

    >>> fits(pure(1.0), zcdp(0.5)), fits(zcdp(0.5), pure(1.0)), fits(zcdp(0.02), approx(1, 1e-6))
    (True, False, True)
    """
    match spent, budget:
        case (Pure(), Pure() | Approx()):
            return _epsilon(spent) <= _epsilon(budget)
        case (Approx(), Approx()):
            return spent.epsilon <= budget.epsilon and spent.delta <= budget.delta
        case (Pure() | Zcdp(), Zcdp()):
            return _rho(spent) <= _rho(budget)
        case (Zcdp(rho), Approx(epsilon, delta)):
            return zcdp_to_approx(rho, delta) <= epsilon
    return False  # neither zCDP nor a delta above 0 implies anything stronger than itself


@lru_cache(maxsize=_KEPT)
def exponential_rate(cost: Budget, *, monotone: bool = False) -> Fraction:
    """Return the exponent per unit of score of an exponential mechanism that costs ``cost``.

    The scores have sensitivity 1; ``monotone`` says that a neighbor moves all of them the same
    way. A rate r bounds the range of the log-ratio of probabilities by epsilon = 2r (monotone: r),
    which is epsilon-DP and epsilon^2 / 8-zCDP. The rate is rounded down.

    Formal guarantee: P(i) proportional to base_i e^(rate score_i) costs at most ``cost``.

    >>> exponential_rate(pure(1.0)), exponential_rate(zcdp(0.5)), exponential_rate(zcdp(2.0))
    (Fraction(1, 2), Fraction(1, 1), Fraction(2, 1))
    """
    if isinstance(cost, Zcdp):
        half_range = Fraction(square_root_down(2 * _rho(cost)))
    else:
        half_range = _epsilon(cost) / 2
    return 2 * half_range if monotone else half_range


@lru_cache(maxsize=_KEPT)
def on_sample(cost: Budget, halvings: int) -> Budget:
    """Return what may be spent on a secret sample, if it is to cost ``cost`` on all records.

    Every record is in the sample with probability ``p = 2**-halvings``, by a coin of its own. A
    mechanism that is epsilon-DP on the sample is then ln(1 + p (e^epsilon - 1))-DP on all
    records (docs/proofs/sampling.md). A zCDP cost is first read as pure: rho = epsilon^2 / 2.

    >>> on_sample(pure(0.1), 0), round(on_sample(pure(0.001), 10).epsilon, 4)
    (Pure(epsilon=0.1), 0.7053)
    """
    if halvings == 0:
        return cost
    epsilon = cost.epsilon if isinstance(cost, (Pure, Approx)) else square_root_down(2 * _rho(cost))
    if epsilon > 30:  # e^epsilon dwarfs 1: the sample may spend epsilon + halvings ln 2, and less
        return Pure(epsilon)
    exact = math.log1p(math.ldexp(math.expm1(epsilon), halvings))
    return Pure(exact * (1 - 1e-14))  # both functions are good to a few units in the last place


@lru_cache(maxsize=_KEPT)
def noise_for(cost: Budget, l1: int, l2_squared: int) -> Noise:
    """Return the integer noise that makes a vector query cost at most ``cost``.

    Laplace of scale l1 / epsilon for pure and approximate costs, Gaussian of scale
    sqrt(l2_squared / (2 rho)) for zCDP; the scale is rounded up.

    Formal guarantee: discrete noise of this kind and scale on each entry of an integer query
    that a neighbor moves by at most l1 in L1 norm and sqrt(l2_squared) in L2 norm costs at
    most ``cost``.

    >>> noise_for(pure(0.5), l1=1, l2_squared=1)
    Noise(kind='laplace', scale=2.0)
    >>> noise_for(zcdp(0.5), l1=2, l2_squared=4)
    Noise(kind='gaussian', scale=2.0)
    """
    if l1 < 1 or l2_squared < 1:
        raise InternalError(f"sensitivities are at least 1, not l1={l1}, l2_squared={l2_squared}.")
    if isinstance(cost, Zcdp):
        return Noise("gaussian", square_root_up(l2_squared / (2 * _rho(cost))))
    return Noise("laplace", round_up(l1 / _epsilon(cost)))


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What a release guarantees, and against which change of the records.

    Pure: epsilon, and delta = 0. zCDP: rho alone. Approximate: epsilon and delta.

    >>> print(Guarantee.from_budget(pure(1), Adjacency.REPLACE_ONE))
    epsilon = 1 (pure DP) for replacing any one record.
    """

    epsilon: float | None
    delta: float | None
    rho: float | None
    protects: Adjacency

    @classmethod
    def from_budget(cls, spent: Budget, adjacency: Adjacency) -> Self:
        """Return the guarantee of having spent this much."""
        if isinstance(spent, Zcdp):
            return cls(None, None, spent.rho, adjacency)
        delta = spent.delta if isinstance(spent, Approx) else 0.0
        return cls(float(_epsilon(spent)), delta, None, adjacency)

    def at_delta(self, delta: float) -> float:
        """Return the epsilon of this guarantee at ``delta``.

        >>> Guarantee.from_budget(zcdp(0.02), Adjacency.REPLACE_ONE).at_delta(1e-6) < 1
        True
        """
        delta = probability(delta=delta)
        if self.rho is not None:
            return zcdp_to_approx(self.rho, delta)
        epsilon, own_delta = self._pair()
        if delta < own_delta:
            raise ParameterError(
                f"delta={delta!r} is smaller than the delta of the guarantee. Use "
                f"delta={own_delta!r} or more."
            )
        return epsilon

    def for_replacement(self) -> Guarantee:
        """Return what this implies when one thing is replaced: one removal and one addition.

        epsilon becomes 2 epsilon, delta becomes (1 + e^epsilon) delta, rho becomes 4 rho.

        >>> Guarantee.from_budget(zcdp(0.5), Adjacency.ADD_REMOVE).for_replacement().rho
        2.0
        """
        return self if self.protects.size_is_public else self._twice(self.protects.replaced())

    def for_one_record(self) -> Guarantee:
        """Return what a guarantee for persons implies for one record of a person.

        Under add-remove, for one record more or less: the person goes and comes back with it or
        without it, so the numbers are those of :meth:`for_replacement`. Under replace-one, for a
        record that is replaced: that is one replacement of the person.

        >>> adjacency = Adjacency.parse("add-remove", person="patient")
        >>> Guarantee.from_budget(pure(1), adjacency).for_one_record().epsilon
        2.0
        """
        if self.protects.person is None:
            return self
        if self.protects.size_is_public:
            return replace(self, protects=Adjacency.REPLACE_ONE)
        return self._twice(Adjacency.ADD_REMOVE)

    def _twice(self, adjacency: Adjacency) -> Guarantee:
        """Return what two changes of this kind in a row cost, as a guarantee for ``adjacency``."""
        if self.rho is not None:
            return Guarantee(None, None, 4 * self.rho, adjacency)
        epsilon, delta = self._pair()
        if delta == 0:
            doubled = 0.0
        elif epsilon > 700:  # e^epsilon is close to the largest float: claim nothing
            doubled = 1.0
        else:
            growth = 1 + Fraction(math.nextafter(math.exp(epsilon), math.inf))
            doubled = min(round_up(growth * Fraction(delta)), 1.0)
        return Guarantee(2 * epsilon, doubled, None, adjacency)

    def to_dict(self) -> dict[str, object]:
        """Return the guarantee as plain values, for JSON."""
        person = [*self.person] if isinstance(self.person, tuple) else self.person
        numbers = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}
        return {**numbers, "neighbors": self.protects.value, "person": person}

    @property
    def neighbors(self) -> str:
        """The neighboring datasets: ``"add-remove"`` or ``"replace-one"``."""
        return self.protects.value

    @property
    def person(self) -> str | tuple[str, ...] | None:
        """The column or columns that name a person; None if records are protected."""
        return self.protects.person

    def _pair(self) -> tuple[float, float]:
        if self.epsilon is None or self.delta is None:
            raise InternalError(f"{self!r} states neither rho nor epsilon and delta.")
        return self.epsilon, self.delta

    @property
    def numbers(self) -> str:
        """The numbers in words, such as "epsilon = 1"."""
        shown = {"epsilon": self.epsilon, "delta": self.delta or None, "rho": self.rho}
        return ", ".join(f"{name} = {x:.12g}" for name, x in shown.items() if x is not None)

    def __repr__(self) -> str:
        return f"<Guarantee: {self.numbers}, {self.protects}>"

    def _repr_html_(self) -> str:
        return f"<p><b>{escape(self.numbers)}</b></p><p>{escape(str(self))}</p>"

    def __str__(self) -> str:
        found = f"{self.short} for {self.protects.description}."
        return f"{found} This implies {self.implied}." if self.implied else found

    @property
    def short(self) -> str:
        """The numbers and the privacy definition, such as "epsilon = 1 (pure DP)"."""
        definition = "pure DP" if not self.delta else "approximate DP"
        return f"{self.numbers} ({'zCDP' if self.rho is not None else definition})"

    @property
    def implied(self) -> str:
        """What else follows: for a replacement, and for one record of a person; "" if nothing."""
        if not self.protects.size_is_public:
            found = f"{self.for_replacement().numbers} for replacing one {self.protects.thing}"
            if self.person is None:
                return found
            return f"{found}, or for adding or removing one of their records"
        if self.person is None:
            return ""
        return f"{self.numbers} for replacing one record of a person"
