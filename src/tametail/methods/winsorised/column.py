"""What the winsorised mean needs to know: the part of a plan that is about one column."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tametail.errors import InternalError
from tametail.methods.winsorised import constants as tuned
from tametail.methods.winsorised.shares import is_hopeless, shares, spread_share
from tametail.plans import REST, Plan, Step
from tametail.privacy.budget import Approx, Budget, Pure, compose
from tametail.privacy.unit import Unit
from tametail.request import Range, Request
from tametail.tail import Bounded, Tail

#: What each step is for, in the words of the printed plan.
PURPOSES = {
    "count": "roughly how many records there are",
    "centre": "a private median",
    "tail": "how the records spread around it, by octaves",
    "spread": "second moment of the clipped records, for the interval",
    "sum": "sum and count of the clipped records",
    "rest": "the other steps; their shares follow from the count",
}


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """How the mean of one column will be released.

    ``budget`` is what its steps may spend together: all, or what a private count has left.
    """

    unit: Unit
    n: int | None
    tail: Tail
    within: Range
    possible: Range
    missing: str
    confidence: float | None
    target: str
    budget: Budget
    steps: tuple[Step, ...]

    @classmethod
    def of(cls, plan: Plan) -> ColumnPlan:
        """Return what a plan for one column says."""
        (column,) = plan.request.columns
        return cls(
            unit=plan.unit,
            n=plan.n,
            tail=column.tail,
            within=column.within,
            possible=column.possible,
            missing=plan.missing,
            confidence=plan.confidence,
            target=plan.target,
            budget=plan.left,
            steps=plan.steps,
        )

    def cost(self, name: str) -> Budget:
        """Return what the step called ``name`` may spend."""
        return next(step.cost for step in self.steps if step.name == name)

    def has(self, name: str) -> bool:
        """Say whether there is a step called ``name``."""
        return any(step.name == name for step in self.steps)

    @property
    def spending(self) -> Budget:
        """What all steps cost together."""
        total = compose([step.cost for step in self.steps], type(self.steps[0].cost))
        if total is None:
            raise InternalError("a plan without a step")
        return total

    def with_count(self, noisy_count: int) -> ColumnPlan:
        """Return the plan for the other steps, once the private count is known.

        If the records are bounded and too few to look at, one sum is all that is left.
        """
        left, n = self.cost(REST), max(noisy_count, 1)
        bounded = isinstance(self.tail, Bounded)
        if bounded and is_hopeless(left, self.unit, n):
            return replace(self, n=n, budget=left, steps=(Step("sum", left),))
        needs_spread = self.confidence is not None and self.target == "population"
        steps = divide(left, self.unit, n, needs_spread=needs_spread, bounded=bounded)
        return replace(self, n=n, budget=left, steps=steps)

    def with_new_centre(self) -> ColumnPlan:
        """Return the plan that divides the sum's budget anew, if the centre was misplaced."""
        costs = self.cost("sum").split(*tuned.NEW_CENTRE.values())
        anew = dict(zip(tuned.NEW_CENTRE, costs, strict=True))
        steps = (Step(step.name, anew.get(step.name, step.cost)) for step in self.steps)
        return replace(self, steps=tuple(steps))


def working(budget: Budget) -> Budget:
    """Return the notion in which the steps are paid: pure in place of approximate DP.

    In one dimension pure composition is the better one for the same epsilon.
    """
    return Pure(budget.epsilon) if isinstance(budget, Approx) else budget


def names(*, needs_spread: bool) -> tuple[tuple[str, int], ...]:
    """Return the names of the steps, and their rounds."""
    found = ["centre", "tail", "sum", *(["spread"] if needs_spread else [])]
    return tuple((name, 1) for name in found)


def divide(
    budget: Budget, unit: Unit, n: int, *, needs_spread: bool, bounded: bool = False
) -> tuple[Step, ...]:
    """Divide the budget between the steps, so that the predicted error is small.

    If the records are ``bounded``, a sum of all of them would have done. So that no more is lost
    against that than there is to be gained, the counts by octaves must not cost too much.
    """
    parts = shares(budget, unit, n)
    spread = spread_share(budget, n) if needs_spread else 0.0
    parts = {name: share * (1 - spread) for name, share in parts.items()}
    if bounded and (missing := tuned.BOUNDED_SUM - parts["sum"]) > 0:
        taken = min(missing, (1 - tuned.BOUNDED_TAIL) * parts["tail"])
        parts |= {"tail": parts["tail"] - taken, "sum": parts["sum"] + taken}
    if needs_spread:
        parts["spread"] = spread
    costs = budget.split(*parts.values())
    return tuple(Step(name, cost) for name, cost in zip(parts, costs, strict=True))


def are_bounded(request: Request) -> bool:
    """Say whether all records are told to lie between bounds."""
    return all(isinstance(column.tail, Bounded) for column in request.columns)
