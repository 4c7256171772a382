"""Where data, noise and budget meet, and nowhere else.

An estimator holds an :class:`Ask`. It names a query and a cost and gets a noisy answer; it never
sees a record or an exact answer. What it asked adds up in an account that refuses to go beyond
the budget *before* any record is read, and every answer goes into a transcript. Since a release
is a function of public numbers and these answers, replaying the transcript gives it again
(:class:`Replay`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

import numpy as np

from tametail.data import Backend
from tametail.data.relation import Relation, are_disjoint
from tametail.errors import DataError, InternalError
from tametail.in_step import Round, run_in_step
from tametail.mechanisms.dispatch import mechanism_for
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Approx, Budget, Pure, Zcdp, compose, fits, in_parallel
from tametail.queries.query import Exact, Query

Answer = TypeVar("Answer")
Result = TypeVar("Result")

Way = tuple[Callable[[Query[Answer]], Exact], Callable[[Exact], Answer]]
"""How a query is read, and how what was read becomes its private answer."""

ReadTogether = Callable[[list[Relation], list[Query[object]]], list[object]]
"""How one question for each of several groups is read at once."""


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

    @property
    def relation(self) -> Relation:
        """What is asked about."""

    def prepare(self, query: Query[Answer], cost: Budget, adjacency: Adjacency) -> Way[Answer]:
        """Return how the query is read and made private; nothing is read yet."""

    def on(self, relation: Relation) -> Responder:
        """Return a responder for another relation over the same rows."""

    def read_together(self) -> ReadTogether | None:
        """Return what reads one question for each of several groups at once, if that pays."""


class Data:
    """Answers from records: exact integers from the backend, then a mechanism at its cost."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @property
    def relation(self) -> Relation:
        """What is asked about."""
        return self._backend.relation

    def prepare(self, query: Query[Answer], cost: Budget, adjacency: Adjacency) -> Way[Answer]:
        """Return the backend's answer, and the mechanism that the query's type names."""
        return self._backend.answer, mechanism_for(query, cost, adjacency)

    def on(self, relation: Relation) -> Data:
        """Return the same for another relation over the same rows."""
        return Data(self._backend.on(relation))

    def read_together(self) -> ReadTogether | None:
        """Return one reading for several groups, where each reading is a journey.

        Persons, or weighed records, of each group have numbers of their own view, so that each
        group is asked alone.
        """
        relation = self._backend.relation
        if not self._backend.is_remote or relation.person or relation.weights is not None:
            return None

        def read(relations: list[Relation], queries: list[Query[object]]) -> list[object]:
            codes = [code for relation in relations for code in relation.codes]
            return self._backend.on(relations[0].of(codes)).answer_each(queries)

        return read


#: Numbers without a name.
_NUMBERS = Relation(("0",))


class Replay:
    """Answers from a transcript: no records, no noise."""

    def __init__(self, answers: Iterable[object], relation: Relation = _NUMBERS) -> None:
        self._answers, self.relation = iter(answers), relation

    def prepare(self, query: Query[Answer], cost: Budget, adjacency: Adjacency) -> Way[Answer]:  # noqa: ARG002
        """Return the next recorded answer, which is private already."""
        return self._next, _as_it_is

    def on(self, relation: Relation) -> Replay:
        """Return the same answers: a transcript is one sequence."""
        return Replay(self._answers, relation)

    def read_together(self) -> None:
        """Return None: a transcript is one sequence."""

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
        adjacency: Adjacency,
        *,
        account: Account | None = None,
        transcript: list[object] | None = None,
    ) -> None:
        self.adjacency = adjacency
        self._responder = responder
        self._budget = budget
        self._account = Account(budget) if account is None else account
        self._transcript: list[object] = [] if transcript is None else transcript
        self._round: Round | None = None

    @property
    def relation(self) -> Relation:
        """What is asked about, in public terms."""
        return self._responder.relation

    def __call__(self, query: Query[Answer], cost: Budget) -> Answer:
        """Return a private answer to ``query`` that costs ``cost``.

        The query's type names the mechanism and the answer's type; see
        :mod:`tametail.mechanisms.dispatch`.
        """
        self._account.charge(cost)
        read, make_private = self._responder.prepare(query, cost, self.adjacency)
        # Whoever calls may have told NumPy to warn or to raise, which would depend on records.
        with np.errstate(all="ignore"):
            try:
                exact = read(query) if self._round is None else self._round.read(query)
            except DataError as error:
                raise DataError(f"{error} The budget of this release is spent.") from None
            answer = make_private(exact)
        self._transcript.append(answer)
        return answer

    def on(self, relation: Relation, budget: Budget | None = None) -> Ask:
        """Return an ask about another relation over the same records, which may spend ``budget``.

        What is spent there adds up with all that is spent here: a column, a view or a choice of
        groups is made of the same records. Without a budget it spends from this account.
        """
        if relation.groups is not None and self.adjacency.size_is_public:
            raise InternalError("a replaced record may change its key: groups are for add-remove.")
        if relation.span is not None and not self.adjacency.keeps_positions:
            raise InternalError("rows by position stay where they are if records are replaced.")
        try:
            responder = self._responder.on(relation)
        except DataError as error:
            raise DataError(f"{error} The budget of this release is spent.") from None
        account = self._account
        if budget is not None:
            (account,) = self._account.open_parts(1, budget)
        return self._part(responder, budget, account)

    def disjoint(self, relations: Sequence[Relation], budget: Budget | None = None) -> list[Ask]:
        """Return an ask about each of some relations, of which one record is in one at most.

        Together they cost what one of them may: ``budget``, or all that is left here.
        """
        if not are_disjoint(relations, self.adjacency):
            raise InternalError("parts that may overlap would have to share the budget.")
        accounts = self._account.open_parts(len(relations), budget)
        return [
            self._part(self._responder.on(relation), budget, account)
            for account, relation in zip(accounts, relations, strict=True)
        ]

    def _part(self, responder: Responder, budget: Budget | None, account: Account) -> Ask:
        whole, transcript = budget or self._budget, self._transcript
        part = Ask(responder, whole, self.adjacency, account=account, transcript=transcript)
        part._round = self._round
        return part

    def for_each(self, asks: Sequence[Ask], estimate: Callable[[int, Ask], Result]) -> list[Result]:
        """Return what an estimator concludes from each of some disjoint asks, in their order.

        Where data are far away, the estimators go on in step, and the questions of all of them are
        read at once, round by round. Answers stand in the transcript as if each had asked alone.
        """
        read = self._responder.read_together()
        if read is None or len(asks) < 2:
            return [estimate(place, ask) for place, ask in enumerate(asks)]
        for ask in asks:
            ask._transcript = []

        def work(place: int, round_: Round) -> Result:
            asks[place]._round = round_
            return estimate(place, asks[place])

        def read_round(places: list[int], queries: list[Query[object]]) -> list[object]:
            return read([asks[place].relation for place in places], queries)

        results = run_in_step(len(asks), work, read_round)
        for ask in asks:
            self._transcript.extend(ask._transcript)
        return results

    @property
    def answers(self) -> tuple[object, ...]:
        """All noisy answers so far, in order."""
        return tuple(self._transcript)

    @property
    def spent(self) -> Budget | None:
        """What was asked so far composes to this."""
        return self._account.spent()
