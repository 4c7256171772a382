"""What the mean in a ball needs to know: the part of a plan that is about rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tametail.methods.ball.shares import SPREAD_SHARE, least_cells, shares
from tametail.methods.cells import count_margin
from tametail.plans import Plan, Step
from tametail.privacy.budget import Budget
from tametail.privacy.unit import Unit
from tametail.request import Range, Request
from tametail.tail import Moment, Tail

#: What each step is for, in the words of the printed plan.
PURPOSES = {
    "count": "roughly how many records there are",
    "centre": "a private median of every column",
    "scale": "beyond which distance from it there are few records",
    "radius": "how long a record is, over all columns",
    "spread": "second moments of the records in the ball, for the intervals",
    "sum": "sum of the records, pulled into the ball",
    "rest": "the other steps; their shares follow from the count",
}


@dataclass(frozen=True, slots=True)
class RowsPlan:
    """How the means of all columns will be released together, once n is known."""

    unit: Unit
    n: int
    most: float
    """How many records there may be, by a private count; n where that is public."""
    tails: tuple[Tail, ...]
    possible: tuple[Range, ...]
    ends: tuple[Range, ...]
    """Half lines to which records were clipped before; infinite where none was told."""
    missing: str
    confidence: float | None
    target: str
    budget: Budget
    steps: tuple[Step, ...]

    @classmethod
    def of(cls, plan: Plan) -> RowsPlan:
        """Return what a plan for several columns says."""
        return cls(
            unit=plan.unit,
            n=max(plan.n or 0, 1),
            most=_most(plan),
            tails=plan.tails,
            possible=plan.possible,
            ends=tuple(plan.request.half_lines or [(-math.inf, math.inf)] * plan.dim),
            missing=plan.missing,
            confidence=plan.confidence,
            target=plan.target,
            budget=plan.budget,
            steps=tuple(step for step in plan.steps if step.name != "count"),
        )

    @property
    def dim(self) -> int:
        """The number of columns."""
        return len(self.tails)

    @property
    def scales(self) -> tuple[float, ...] | None:
        """The scales of the columns, if all of them were told by a ``Moment``."""
        found = tuple(tail.scale for tail in self.tails if isinstance(tail, Moment))
        return found if len(found) == self.dim else None

    @property
    def rounds(self) -> int:
        """How many rounds of scale, radius and sum there are: two around one common centre."""
        return max(step.round for step in self.steps)

    def cost(self, name: str, number: int = 1) -> Budget:
        """Return what a step may spend."""
        found = (step.cost for step in self.steps if (step.name, step.round) == (name, number))
        return next(found)

    @property
    def assumed(self) -> bool:
        """Whether something was assumed about every column, so that intervals can be proved."""
        return all(tail is not None for tail in self.tails)

    @property
    def least_cells(self) -> float:
        """Below how many cells, or rows, an interval would rest on noise; 0 if it is proved."""
        if self.assumed or not self.has("scale"):
            return 0.0
        choices = self.dim if self.has("centre") else 1
        return least_cells(self.cost("scale", self.rounds), choices)

    def has(self, name: str) -> bool:
        """Say whether there is a step called ``name``."""
        return any(step.name == name for step in self.steps)


def _most(plan: Plan) -> float:
    """Return how many records there may be.

    n is at least the private count less its doubt, which bounds the noise on either side.
    """
    doubt = count_margin(plan.cost("count"), plan.unit) if plan.has("count") else 0.0
    return max(plan.n or 0, 1) + 2 * doubt


def own_shares(request: Request, n: int, budget: Budget) -> dict[tuple[str, int], float] | None:
    """Return the shares of the steps; None if n records cannot pay for scales of their own."""
    columns = request.columns
    found = shares(
        budget,
        n,
        request.dim,
        scale_known=all(isinstance(column.tail, Moment) for column in columns),
        ranges_known=all(math.isfinite(end) for column in columns for end in column.within),
    )
    return None if found is None else {(name, 1): share for name, share in found.items()}


def divide(
    parts: dict[tuple[str, int], float], budget: Budget, *, needs_spread: bool
) -> tuple[Step, ...]:
    """Divide the budget between the steps; second moments come before the last sum."""
    if needs_spread:
        last = list(parts)[-1]
        parts = {name: part * (1 - SPREAD_SHARE) for name, part in parts.items()}
        final = parts.pop(last)
        parts = parts | {("spread", last[1]): SPREAD_SHARE, last: final}
    costs = budget.split(*parts.values())
    return tuple(
        Step(name, cost, number) for (name, number), cost in zip(parts, costs, strict=True)
    )


def names(request: Request, *, common: bool) -> tuple[tuple[str, int], ...]:
    """Return the names of the steps, and their rounds."""
    if common:
        found = [(name, number) for number in (1, 2) for name in ("scale", "radius", "sum")]
    else:
        told = all(isinstance(column.tail, Moment) for column in request.columns)
        found = [(name, 1) for name in ("centre", "scale", "radius", "sum")]
        found = [step for step in found if not (told and step[0] == "scale")]
    if needs_spread(request):
        found.insert(-1, ("spread", found[-1][1]))
    return tuple(found)


def needs_spread(request: Request) -> bool:
    """Say whether the intervals need second moments, or the number of rows outside of the ball."""
    assumed = all(column.tail is not None for column in request.columns)
    return request.confidence is not None and (request.target == "population" or assumed)
