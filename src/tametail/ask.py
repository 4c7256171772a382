"""Where data, noise and budget meet, and nowhere else.

An estimator holds an :class:`Ask`. It names a query and a cost and gets a noisy answer; it never
sees a record or an exact answer. What it asked adds up in an account that refuses to go beyond
the budget *before* any record is read, and every answer goes into a transcript. Since a release
is a function of public numbers and these answers, replaying the transcript gives it again, bit
for bit (:class:`Replay`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

import numpy as np

from tametail.engines import Engine
from tametail.errors import DataError, InternalError
from tametail.mechanisms.histograms import largest_bucket
from tametail.mechanisms.medians import choose_median
from tametail.mechanisms.noise import add_gaussian, add_laplace
from tametail.mechanisms.ranks import choose_medians, choose_ranks
from tametail.mechanisms.select import select
from tametail.privacy.accounting import round_down, square_root_up
from tametail.privacy.budget import (
    Approx,
    Budget,
    Pure,
    Zcdp,
    analytic_gaussian_sigma,
    compose,
    exponential_rate,
    fits,
    in_parallel,
    on_sample,
)
from tametail.privacy.unit import Unit

if TYPE_CHECKING:
    from tametail.engines.local import TableEngine
    from tametail.engines.tables.matrix import MatrixEngine
    from tametail.queries.column import Buckets, Median, SumQuery
    from tametail.queries.paper import BallMean, Scores
    from tametail.queries.rows import ChoiceQuery, ColumnMedians, ColumnSumQuery

Verb = Literal["noisy", "gaussian", "median", "largest", "winner", "medians", "choose"]


class Account:
    """Adds up what was asked: in sequence on the same records, in parallel on disjoint ones."""

    def __init__(self, budget: Budget, parent: tuple[Account, int] | None = None) -> None:
        self._budget = budget
        self._parent = parent
        self._costs: list[Budget] = []
        self._groups: list[Budget | None] = []

    def spent(self) -> Budget | None:
        """What all asks so far compose to; None before the first."""
        costs = self._costs + [group for group in self._groups if group is not None]
        if all(isinstance(cost, Pure) for cost in costs) and not isinstance(self._budget, Zcdp):
            plain = compose(costs, Pure)
            # Many pure costs may fit an approximate budget only by way of zCDP.
            if plain is None or isinstance(self._budget, Pure) or fits(plain, self._budget):
                return plain
        delta = self._budget.delta if isinstance(self._budget, Approx) else None
        return compose(costs, type(self._budget), delta)

    def charge(self, cost: Budget) -> None:
        """Take note of a cost, or refuse it."""
        self._costs.append(cost)
        self._check()

    def open_parts(self, count: int, budget: Budget | None = None) -> list[Account]:
        """Return accounts for parts of the records that are disjoint: together they cost one.

        Each may spend this account's budget, or a smaller ``budget`` if one is given.
        """
        self._groups.append(None)
        limit = self._budget if budget is None else budget
        return [Account(limit, (self, len(self._groups) - 1)) for _ in range(count)]

    def _check(self) -> None:
        spent = self.spent()
        if spent is None or not fits(spent, self._budget):
            raise InternalError(f"the asks compose to {spent}, beyond the budget {self._budget}.")
        if self._parent is not None:
            account, group = self._parent
            largest = account._groups[group]
            if spent != largest:  # else another part has cost as much: nothing adds up above
                account._groups[group] = _larger(spent, largest)
                account._check()


def _larger(spent: Budget, other: Budget | None) -> Budget:
    if other is None:
        return spent
    if type(spent) is not type(other):  # a part that spent no delta beside one that did
        pure, rest = (spent, other) if isinstance(spent, Pure) else (other, spent)
        if not (isinstance(pure, Pure) and isinstance(rest, Approx)):
            raise InternalError(f"parts cost {spent} and {other}, which are not comparable.")
        spent, other = Approx(pure.epsilon, rest.delta), rest
    return in_parallel([spent, other])


class Responder(Protocol):
    """Gives the answer to one ask."""

    def respond(self, verb: Verb, query: Any, cost: Budget, unit: Unit) -> Any:
        """Return a noisy answer."""

    def rows(self, start: int, stop: int) -> Self:
        """Return a responder for these rows only."""

    def column(self, index: int) -> Responder:
        """Return a responder for this column only."""


class Data:
    """Answers from records: exact integers from the engine, then a mechanism at its cost."""

    def __init__(self, engine: Engine | MatrixEngine | TableEngine) -> None:
        self._engine = engine

    # Whoever calls may have told NumPy to warn or to raise, which would depend on records.
    @np.errstate(all="ignore")
    def respond(self, verb: Verb, query: Any, cost: Budget, unit: Unit) -> Any:
        """Ask the engine, then make the answer private."""
        try:
            exact = self._engine.answer(query)
        except DataError as error:
            raise DataError(f"{error} The budget of this release counts as spent.") from None
        return _MECHANISMS[verb](exact, query, cost, unit)

    def rows(self, start: int, stop: int) -> Data:
        """Return the same for these rows only."""
        return Data(self._engine.rows(start, stop))

    def column(self, index: int) -> Data:
        """Return the same for this column of a matrix only."""
        column = getattr(self._engine, "column", None)
        if column is None:
            raise InternalError("only a matrix has columns.")
        return Data(column(index))


class Replay:
    """Answers from a transcript: no records, no noise."""

    def __init__(self, answers: Iterable[Any]) -> None:
        self._answers = iter(answers)

    def respond(self, verb: Verb, query: Any, cost: Budget, unit: Unit) -> Any:  # noqa: ARG002
        """Return the next recorded answer."""
        answer = next(self._answers, _NOTHING)
        if answer is _NOTHING:
            raise InternalError("the transcript has fewer answers than the estimator asks for.")
        return tuple(answer) if isinstance(answer, list) else answer

    def rows(self, start: int, stop: int) -> Replay:  # noqa: ARG002 - answers come in order
        """Return itself: a transcript is one sequence."""
        return self

    def column(self, index: int) -> Replay:  # noqa: ARG002 - answers come in order
        """Return itself: a transcript is one sequence."""
        return self


_NOTHING = object()


class Ask:
    """What an estimator may do: ask a query at a cost."""

    def __init__(
        self,
        responder: Responder,
        budget: Budget,
        unit: Unit,
        *,
        account: Account | None = None,
        transcript: list[Any] | None = None,
    ) -> None:
        self.unit = unit
        self._responder = responder
        self._budget = budget
        self._account = Account(budget) if account is None else account
        self._transcript: list[Any] = [] if transcript is None else transcript

    def noisy(self, query: SumQuery | BallMean | ColumnSumQuery, cost: Budget) -> tuple[int, ...]:
        """Return the answer plus discrete noise: Laplace, or Gaussian for a zCDP cost."""
        answer: tuple[int, ...] = self._respond("noisy", query, cost)
        return answer

    def gaussian(self, query: SumQuery | BallMean, cost: Approx) -> tuple[int, ...]:
        """Return the answer plus discrete Gaussian noise that by itself costs (epsilon, delta)."""
        answer: tuple[int, ...] = self._respond("gaussian", query, cost)
        return answer

    def median(self, query: Median, cost: Budget) -> float:
        """Return a private median, chosen among all doubles by the exponential mechanism."""
        answer: float = self._respond("median", query, cost)
        return answer

    def largest(self, query: Buckets, cost: Budget) -> int | None:
        """Return the key of a bucket that privately looks largest; None if none stands out."""
        answer: int | None = self._respond("largest", query, cost)
        return answer

    def winner(self, query: Scores, cost: Budget) -> int:
        """Return the index of a point with a high score, by the exponential mechanism."""
        answer: int = self._respond("winner", query, cost)
        return answer

    def medians(self, query: ColumnMedians, cost: Budget) -> tuple[float, ...]:
        """Return a private median of every column; together they cost ``cost``."""
        answer: tuple[float, ...] = self._respond("medians", query, cost)
        return answer

    def choose(self, query: ChoiceQuery, cost: Budget) -> tuple[int, ...]:
        """Return a private rank for every list of counts; together they cost ``cost``."""
        answer: tuple[int, ...] = self._respond("choose", query, cost)
        return answer

    def column(self, index: int, budget: Budget) -> Ask:
        """Return an ask about one column of a matrix, which may spend ``budget``.

        Columns hold parts of the same records, so what is spent on each of them adds up.
        """
        (account,) = self._account.open_parts(1, budget)
        responder = self._responder.column(index)
        return Ask(responder, budget, self.unit, account=account, transcript=self._transcript)

    def parts(self, ranges: Sequence[tuple[int, int]]) -> list[Ask]:
        """Return one ask per range of rows; the ranges must be disjoint, so they cost one.

        The rows of a part depend on their positions alone, never on values (replace-one only:
        adding a record would shift all later positions).
        """
        if self.unit is not Unit.REPLACE_ONE:
            raise InternalError("rows by position are stable under replace-one only.")
        ordered = sorted(span for span in ranges if span[0] < span[1])
        if any(left[1] > right[0] for left, right in pairwise(ordered)):
            raise InternalError("parts overlap: they would have to share the budget.")
        accounts = self._account.open_parts(len(ranges))
        return [
            Ask(
                self._responder.rows(start, stop),
                self._budget,
                self.unit,
                account=account,
                transcript=self._transcript,
            )
            for account, (start, stop) in zip(accounts, ranges, strict=True)
        ]

    @property
    def answers(self) -> tuple[Any, ...]:
        """All noisy answers so far, in order."""
        return tuple(self._transcript)

    @property
    def spent(self) -> Budget | None:
        """What was asked so far composes to this."""
        return self._account.spent()

    def _respond(self, verb: Verb, query: Any, cost: Budget) -> Any:
        self._account.charge(cost)
        answer = self._responder.respond(verb, query, cost, self.unit)
        self._transcript.append(answer)
        return answer


def _add_noise(exact: tuple[int, ...], query: SumQuery, cost: Budget, unit: Unit) -> Any:
    sensitivity = query.sensitivity(unit)
    if isinstance(cost, Zcdp):
        return tuple(add_gaussian(exact, sensitivity.l2_squared, cost.rho))
    return tuple(add_laplace(exact, sensitivity.l1, cost.strength))


def _add_lone_gaussian(exact: tuple[int, ...], query: Any, cost: Approx, unit: Unit) -> Any:
    l2_squared = query.sensitivity(unit).l2_squared
    return tuple(add_gaussian(exact, l2_squared, lone_gaussian_rho(max(l2_squared, 1), cost)))


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


def _choose_winner(exact: Any, query: Scores, cost: Budget, unit: Unit) -> int:
    rate = exponential_rate(cost) / query.score_sensitivity(unit)
    return select(exact, [1] * query.points, rate)


def _choose_median(exact: Any, query: Median, cost: Budget, unit: Unit) -> float:
    keys, counts = exact
    rate = exponential_rate(on_sample(cost, query.halvings))
    return choose_median(keys, counts, rate, unit=unit, low=query.low, high=query.high)


def _choose_bucket(exact: dict[int, int], query: Buckets, cost: Budget, unit: Unit) -> Any:
    return largest_bucket(exact, cost, low=query.low, high=query.high, unit=unit)


_MECHANISMS: dict[Verb, Any] = {
    "noisy": _add_noise,
    "gaussian": _add_lone_gaussian,
    "median": _choose_median,
    "largest": _choose_bucket,
    "winner": _choose_winner,
    "medians": choose_medians,
    "choose": choose_ranks,
}
