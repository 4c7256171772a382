"""What the winsorized mean needs to know: the part of a plan that is about one column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tametail.columns import Column, Range
from tametail.errors import InternalError
from tametail.inequalities.truncation import best_reach
from tametail.means import MEAN, Interval
from tametail.methods.winsorized import constants as tuned
from tametail.plans import COUNT, PricedRequest, Step, Steps
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Budget, compose, noise_for
from tametail.queries.column import edge_above
from tametail.request import Request
from tametail.tail import Bounded, Moment, Tail

#: The part of a cost that is kept for rounding, where it is put together or divided anew.
ROUNDING = 2.0**-40


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """How the mean of one column will be released.

    ``budget`` is what its steps may spend together: all, or what a private count has left.
    """

    adjacency: Adjacency
    n: int | None
    tail: Tail
    within: Range
    possible: Range
    missing: str
    confidence: float | None
    target: str
    budget: Budget
    steps: Steps
    half: Bounded | None = None

    @classmethod
    def of(cls, plan: PricedRequest) -> ColumnPlan:
        """Return what a plan for one column says."""
        (column,) = plan.request.columns
        return cls.from_request(plan.request, column, plan.n, plan.left, plan.steps)

    @classmethod
    def from_request(
        cls,
        request: Request,
        column: Column,
        n: int | None,
        budget: Budget,
        steps: Steps = (),
    ) -> ColumnPlan:
        """Return what is known of one column, perhaps before its steps are."""
        return cls(
            adjacency=request.adjacency,
            n=n,
            tail=column.tail,
            within=column.within,
            possible=column.answer_range,
            missing=request.missing,
            confidence=request.confidence,
            target=request.target,
            budget=budget,
            steps=steps,
            half=column.half,
        )

    @classmethod
    def untold(cls, request: Request, n: int, budget: Budget, steps: Steps) -> ColumnPlan:
        """Return a plan about n numbers of which nothing is told, without an interval."""
        found = cls.from_request(request, Column(""), n, budget, steps)
        return replace(found, confidence=None)

    @property
    def size(self) -> int:
        """The number of records, as far as the plan knows it."""
        return max(self.n or 1, 1)

    @property
    def ends(self) -> Range:
        """Between which numbers records are told to lie, if only on one side."""
        return (-math.inf, math.inf) if self.half is None else (self.half.low, self.half.high)

    def cost(self, name: str) -> Budget:
        """Return what the step called ``name`` may spend."""
        return next(step.cost for step in self.steps if step.name == name)

    def has(self, name: str) -> bool:
        """Say whether there is a step called ``name``."""
        return any(step.name == name for step in self.steps)

    @property
    def spending(self) -> Budget:
        """What all steps cost together."""
        return together([step.cost for step in self.steps])

    @property
    def needs_spread(self) -> bool:
        """Whether an interval needs the second moment of the records: a proved one does."""
        wanted = self.confidence is not None and self.target == "population"
        return wanted and self.tail is not None

    def without_squares(self) -> ColumnPlan:
        """Return the plan that spends on the sum what the second moment would have cost."""
        both = all_but_rounding(together([self.cost("sum"), self.cost("spread")]))
        steps = tuple(step for step in self.steps if step.name != "spread")
        return replace(self, steps=steps).with_costs(sum=both)

    def with_costs(self, **costs: Budget) -> ColumnPlan:
        """Return the plan in which the steps of these names have other costs."""
        steps = (Step(step.name, costs.get(step.name, step.cost)) for step in self.steps)
        return replace(self, steps=tuple(steps))

    def with_second_spread_estimate(self) -> tuple[ColumnPlan, Budget]:
        """Return the plan with a smaller sum, and what is left for the octave counts once more."""
        look, total = self.cost("sum").split(tuned.TAIL_SHARE, 1 - tuned.TAIL_SHARE)
        return self.with_costs(sum=total), look

    def with_new_center(self) -> ColumnPlan:
        """Return the plan that divides the sum's budget anew, if the center was misplaced."""
        center, tail = tuned.TAIL_SHARE, tuned.TAIL_SHARE * (1 - tuned.TAIL_SHARE)
        costs = self.cost("sum").split(center, tail, 1 - center - tail)
        return self.with_costs(**dict(zip(("center", "tail", "sum"), costs, strict=True)))


def together(costs: Sequence[Budget]) -> Budget:
    """Return what these cost one after the other."""
    total = compose(costs, type(costs[0]))
    if total is None:
        raise InternalError("a plan without a step")
    return total


def all_but_rounding(cost: Budget) -> Budget:
    """Return a cost that is less by what rounding upwards, some thousand times, may add."""
    return cost.share(1 - ROUNDING)


def deviation(cost: Budget) -> float:
    """Return the standard deviation of the noise on a query of sensitivity 1."""
    return math.sqrt(noise_for(cost, 1, 1).variance)


def max_distances(plan: ColumnPlan, center: float) -> Range:
    """Return the largest useful distances below and above the center, each on an edge."""
    tail = plan.tail
    if isinstance(tail, Bounded):
        return edge_above(max(center - tail.low, 0.0)), edge_above(max(tail.high - center, 0.0))
    if isinstance(tail, Moment):
        # At this distance from the mean the worst squared bias and the noise are least; the
        # median is within one scale of the mean.
        reach = best_reach(tail.k, plan.n or 1, deviation(plan.cost("sum")))
        return edge_above(tail.scale * (1 + reach)), edge_above(tail.scale * (1 + reach))
    below, above = (max(center - plan.ends[0], 0.0), max(plan.ends[1] - center, 0.0))
    return (
        edge_above(below) if math.isfinite(below) else math.inf,
        edge_above(above) if math.isfinite(above) else math.inf,
    )


def names(request: Request) -> tuple[tuple[str, int], ...]:
    """Return the names of the steps, and their rounds.

    An interval needs second moments if it is proved, so with a tail alone.
    """
    given = any(one.tail is not None for one in request.columns)
    found = ["center", "tail", "sum", *(["spread"] if request.wants_spread and given else [])]
    return tuple((name, 1) for name in found)


def column_settings(request: Request, n: int, budget: Budget) -> list[ColumnPlan]:
    """Return what is known of every column, if each may spend ``budget``."""
    return [ColumnPlan.from_request(request, column, n, budget) for column in request.columns]


def nothing_known(plan: ColumnPlan) -> Interval:
    """Return where the mean can be: nothing was seen."""
    parts = dict.fromkeys(("privacy", "sampling", "clipping", "rounding"))
    return Interval(*plan.possible, *MEAN, True, parts, plan.confidence or 0.0)


# --- several columns of one plan ------------------------------------------------------------------


def own_plans(plan: PricedRequest) -> tuple[ColumnPlan, ...]:
    """Return the plan of every column; a single one may spend all."""
    return (ColumnPlan.of(plan),) if plan.n_columns == 1 else column_plans(plan)


def column_plans(plan: PricedRequest) -> tuple[ColumnPlan, ...]:
    """Return the plan of every column."""
    n_columns = plan.n_columns
    risk = None if plan.confidence is None else (1 - plan.confidence) / n_columns
    costs = {step.name: divided(step.cost, n_columns) for step in plan.steps if step.name != COUNT}
    confidence = None if risk is None else 1 - risk
    found = []
    for index, (column, budget) in enumerate(
        zip(plan.request.columns, divided(plan.left, n_columns), strict=True)
    ):
        steps = tuple(Step(name, cost[index]) for name, cost in costs.items())
        one = ColumnPlan.from_request(plan.request, column, plan.n, budget, steps)
        found.append(replace(one, confidence=confidence))
    return tuple(found)


def divided(cost: Budget, n_columns: int) -> tuple[Budget, ...]:
    """Divide a cost evenly; the exact sum of the parts never exceeds it.

    >>> from tametail.privacy.budget import pure
    >>> round(divided(pure(1.0), 4)[0].epsilon, 9)
    0.25
    """
    return all_but_rounding(cost).split(*[1 / n_columns] * n_columns)
