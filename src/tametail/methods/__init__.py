"""How means are estimated, and which way is taken: a registry that public numbers choose from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from tametail._shown import shown
from tametail.errors import ParameterError
from tametail.methods import kinds
from tametail.methods.groups.kind import GROUPS, PERSONS_BY_GROUP
from tametail.methods.groups.plan import keys_step
from tametail.methods.located.method import LOCATED
from tametail.methods.persons.kind import RECORDS_OF_PERSONS
from tametail.methods.textbook.method import TEXTBOOK
from tametail.methods.winsorised.constants import COUNT_SHARE, GUESS_COUNT_SHARE
from tametail.plans import COUNT, KEYS, REST, Method, Plan, Step
from tametail.privacy.budget import Budget
from tametail.request import Request

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.means import Estimate


class Estimator(Method, Protocol):
    """A method with all that it can do: divide a budget, predict, and estimate."""

    @property
    def name(self) -> str:
        """The name that plans and releases know it by."""

    def divide(self, request: Request, n: int, budget: Budget) -> tuple[Step, ...] | None:
        """Return the steps, paid from ``budget``; None if it does not reach."""

    def view(self, plan: Plan, /) -> Any:
        """Return what :meth:`estimate` needs to know of a plan."""

    def estimate(self, view: Any, ask: Ask, /) -> Estimate | tuple[Estimate, ...]:
        """Ask, and conclude from the answers: an estimate, or one for every column."""


class Registry:
    """All methods, and the choice between them.

    >>> [method.name for method in REGISTRY]
    ['winsorised mean', 'mean in a weighted ball', 'mean in a ball, one scale for all columns', \
'winsorised means, columns apart', 'winsorised means, one sum', 'mean of the records of persons', \
'clamped mean', 'clamped mean around a crowd', 'means by group', 'means by group, of persons']
    """

    def __init__(self, *methods: Estimator) -> None:
        self._methods = {method.name: method for method in methods}

    def __iter__(self) -> Iterator[Estimator]:
        return iter(self._methods.values())

    def find(self, name: str) -> Estimator:
        """Return the method of this name."""
        if name not in self._methods:
            raise ParameterError(
                f"method={shown(name)} is not known: there are {list(self._methods)}."
            )
        return self._methods[name]

    def plan(self, request: Request, n: int | None) -> Plan:
        """Choose a method, and divide the budget between its steps.

        If n is unknown a private count comes first, and the method is chosen when it is there. If
        it is a guess, a smaller one comes first, which decides how many records are sampled.
        """
        if request.unit.size_is_public and n is not None:
            return self.certain(request, n)
        method = kinds.usual(request)
        before, budget = keys_step(request)
        first, rest = _counted(method.working(budget), request)
        before = (*before, Step(COUNT, first))
        if n is None:
            return Plan(request, n, method.name, (*before, Step(REST, rest)))
        return self._divide(request, n, rest, before)

    def certain(self, request: Request, n: int) -> Plan:
        """Return the plan for n records, if there is no doubt how many there are."""
        return self._divide(request, n, request.budget.spendable(), ())

    def continued(self, plan: Plan, n: int) -> Plan:
        """Return the plan for what is left, once the private count is known."""
        before = tuple(step for step in plan.steps if step.name in (KEYS, COUNT))
        return self._divide(plan.request, n, plan.cost(REST), before)

    def left(self, plan: Plan) -> Budget:
        """Return what the steps may spend together, besides a private count."""
        whole = self.find(plan.method).working(plan.budget.spendable())
        return _counted(whole, plan.request)[1] if plan.has(COUNT) else whole

    def _divide(self, request: Request, n: int, budget: Budget, before: tuple[Step, ...]) -> Plan:
        method, steps = kinds.choose(request, n, budget)
        return Plan(request, n, method.name, before + steps)


def _counted(whole: Budget, request: Request) -> tuple[Budget, Budget]:
    """Return what a private count costs, and what it leaves; beside a guess it may be rougher."""
    share = COUNT_SHARE if request.n is None else GUESS_COUNT_SHARE
    first, rest = whole.split(share, 1 - share)
    return first, rest


REGISTRY = Registry(
    kinds.WINSORISED,
    kinds.BALL,
    kinds.COMMON_BALL,
    kinds.APART,
    kinds.POOLED,
    RECORDS_OF_PERSONS,
    TEXTBOOK,
    LOCATED,
    GROUPS,
    PERSONS_BY_GROUP,
)
