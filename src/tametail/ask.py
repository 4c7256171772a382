"""Where data, noise and budget meet, and nowhere else.

An estimator holds an :class:`Ask`. It names a query and a cost and gets a noisy answer; it never
sees a record or an exact answer. What it asked adds up in an account that refuses to go beyond
the budget *before* any record is read, and every answer goes into a transcript. Since a release
is a function of public numbers and these answers, replaying the transcript gives it again, bit
for bit (:class:`Replay`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Protocol, Self, TypeVar

import numpy as np

from tametail.engines import ByKey, ByPerson, Engine, Groupable
from tametail.errors import DataError, InternalError
from tametail.keys import Key
from tametail.mechanisms.dispatch import mechanism_for
from tametail.privacy.budget import Approx, Budget, Pure, Zcdp, compose, fits, in_parallel
from tametail.privacy.unit import Unit
from tametail.queries.persons import View
from tametail.queries.query import Exact, Query

Answer = TypeVar("Answer")

Way = tuple[Callable[[Query[Answer]], Exact], Callable[[Exact], Answer]]
"""How a query is read, and how what was read becomes its private answer."""


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
    """Says how a question is answered."""

    def prepare(self, query: Query[Answer], cost: Budget, unit: Unit) -> Way[Answer]:
        """Return how the query is read and made private; nothing is read yet."""

    def rows(self, start: int, stop: int) -> Self:
        """Return a responder for these rows only."""

    def column(self, index: int) -> Responder:
        """Return a responder for this column only."""

    def view(self, view: View) -> Responder:
        """Return a responder for one number of each person."""

    def grouped(self, keys: Sequence[Key], *, other: bool) -> Responder:
        """Return a responder for the records of these keys, which may be asked by key."""

    def keys(self, places: Sequence[int]) -> Responder:
        """Return a responder for some of the keys."""


class Data:
    """Answers from records: exact integers from the engine, then a mechanism at its cost."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def prepare(self, query: Query[Answer], cost: Budget, unit: Unit) -> Way[Answer]:
        """Return the engine's answer, and the mechanism that the query's type names."""
        return self._engine.answer, mechanism_for(query, cost, unit)

    def rows(self, start: int, stop: int) -> Data:
        """Return the same for these rows only."""
        return Data(self._engine.rows(start, stop))

    def column(self, index: int) -> Data:
        """Return the same for this column of a matrix only."""
        return Data(self._engine.column(index))

    def view(self, view: View) -> Data:
        """Return the same for one number of each person."""
        if not isinstance(self._engine, ByPerson):
            raise InternalError("the records are not known by person.")
        return Data(self._engine.view(view))

    def grouped(self, keys: Sequence[Key], *, other: bool) -> Data:
        """Return the same for the records of these keys."""
        if not isinstance(self._engine, Groupable):
            raise InternalError("the records have no keys.")
        return Data(self._engine.grouped(keys, other=other))

    def keys(self, places: Sequence[int]) -> Data:
        """Return the same for the records of some of the keys."""
        if not isinstance(self._engine, ByKey):
            raise InternalError("the records are not known by key.")
        return Data(self._engine.keys(places))


class Replay:
    """Answers from a transcript: no records, no noise."""

    def __init__(self, answers: Iterable[object]) -> None:
        self._answers = iter(answers)

    def prepare(self, query: Query[Answer], cost: Budget, unit: Unit) -> Way[Answer]:  # noqa: ARG002
        """Return the next recorded answer, which is private already."""
        return self._next, _as_it_is

    def rows(self, start: int, stop: int) -> Replay:  # noqa: ARG002 - answers come in order
        """Return itself: a transcript is one sequence."""
        return self

    def column(self, index: int) -> Replay:  # noqa: ARG002 - answers come in order
        """Return itself: a transcript is one sequence."""
        return self

    def view(self, view: View) -> Replay:  # noqa: ARG002 - answers come in order
        """Return itself: a transcript is one sequence."""
        return self

    def grouped(self, keys: Sequence[Key], *, other: bool) -> Replay:  # noqa: ARG002
        """Return itself: a transcript is one sequence."""
        return self

    def keys(self, places: Sequence[int]) -> Replay:  # noqa: ARG002 - answers come in order
        """Return itself: a transcript is one sequence."""
        return self

    def _next(self, query: Query[object]) -> Exact:  # noqa: ARG002 - answers come in order
        answer = next(self._answers, _NOTHING)
        if answer is _NOTHING:
            raise InternalError("the transcript has fewer answers than the estimator asks for.")
        return tuple(answer) if isinstance(answer, list) else answer


def _as_it_is(answer: Answer) -> Answer:
    return answer


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
        transcript: list[object] | None = None,
    ) -> None:
        self.unit = unit
        self._responder = responder
        self._budget = budget
        self._account = Account(budget) if account is None else account
        self._transcript: list[object] = [] if transcript is None else transcript

    def __call__(self, query: Query[Answer], cost: Budget) -> Answer:
        """Return a private answer to ``query`` that costs ``cost``.

        The query's type names the mechanism and the answer's type; see
        :mod:`tametail.mechanisms.dispatch`.
        """
        self._account.charge(cost)
        read, make_private = self._responder.prepare(query, cost, self.unit)
        # Whoever calls may have told NumPy to warn or to raise, which would depend on records.
        with np.errstate(all="ignore"):
            try:
                exact = read(query)
            except DataError as error:
                raise DataError(f"{error} The budget of this release counts as spent.") from None
            answer = make_private(exact)
        self._transcript.append(answer)
        return answer

    def column(self, index: int, budget: Budget) -> Ask:
        """Return an ask about one column of a matrix, which may spend ``budget``.

        Columns hold parts of the same records, so what is spent on each of them adds up.
        """
        return self._about(self._responder.column(index), budget)

    def view(self, view: View, budget: Budget) -> Ask:
        """Return an ask about one number of each person, which may spend ``budget``.

        A view may hold earlier answers. All views are of the same persons, so what is spent on
        each of them adds up.
        """
        return self._about(self._responder.view(view), budget)

    def _about(self, responder: Responder, budget: Budget) -> Ask:
        (account,) = self._account.open_parts(1, budget)
        return Ask(responder, budget, self.unit, account=account, transcript=self._transcript)

    def grouped(self, keys: Sequence[Key], *, other: bool) -> Ask:
        """Return an ask about the records of these keys, and of all other rows if wanted.

        It spends from the same account: these are the same records.
        """
        self._check_groups()
        try:
            responder = self._responder.grouped(keys, other=other)
        except DataError as error:
            raise DataError(f"{error} The budget of this release counts as spent.") from None
        account, transcript = self._account, self._transcript
        return Ask(responder, self._budget, self.unit, account=account, transcript=transcript)

    def keys(self, sets: Sequence[Sequence[int]], budget: Budget) -> list[Ask]:
        """Return one ask per set of keys, by their places; the sets must be disjoint.

        A record has one key, its own, so together they cost what one of them may: ``budget``. A
        person may have many: sets of keys are for records.
        """
        self._check_groups()
        if self.unit.person is not None:
            raise InternalError("a person may be in many groups: they are no parallel parts.")
        places = [place for places in sets for place in places]
        if len(set(places)) < len(places):
            raise InternalError("sets of keys overlap: they would have to share the budget.")
        accounts = self._account.open_parts(len(sets), budget)
        return [
            Ask(
                self._responder.keys(places),
                budget,
                self.unit,
                account=account,
                transcript=self._transcript,
            )
            for account, places in zip(accounts, sets, strict=True)
        ]

    def _check_groups(self) -> None:
        if self.unit.size_is_public:
            raise InternalError("a replaced record may change its key: groups are for add-remove.")

    def parts(self, ranges: Sequence[tuple[int, int]]) -> list[Ask]:
        """Return one ask per range of rows; the ranges must be disjoint, so they cost one.

        The rows of a part depend on their positions alone, never on values (replace-one only:
        adding a record would shift all later positions).
        """
        if not self.unit.size_is_public:
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
    def answers(self) -> tuple[object, ...]:
        """All noisy answers so far, in order."""
        return tuple(self._transcript)

    @property
    def spent(self) -> Budget | None:
        """What was asked so far composes to this."""
        return self._account.spent()
