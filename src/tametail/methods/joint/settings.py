"""What the joint mean reads from its plan, and how it divides its budget."""

from __future__ import annotations

import math

from tametail.columns import Range
from tametail.methods.cells import count_margin
from tametail.methods.joint.budget_split import SPREAD_SHARE, common_shares, shares
from tametail.methods.joint.budget_split import least_cells as cells_of_noise
from tametail.plans import COUNT, PricedRequest, Step, Steps
from tametail.privacy.budget import Budget
from tametail.request import Request
from tametail.tail import Moment


def size(plan: PricedRequest) -> int:
    """Return the number of records to plan with: one at least."""
    return max(plan.n or 0, 1)


def most(plan: PricedRequest) -> float:
    """Return how many records there may be; n where that is public.

    n is at least the private count less its doubt, which bounds the noise on either side.
    """
    doubt = count_margin(plan.cost(COUNT), plan.adjacency) if plan.has(COUNT) else 0.0
    return size(plan) + 2 * doubt


def ends(plan: PricedRequest) -> list[Range]:
    """Return one-sided bounds to which records were clipped before; infinite without any."""
    return plan.request.one_sided_bounds or [(-math.inf, math.inf)] * plan.n_columns


def scales(plan: PricedRequest) -> tuple[float, ...] | None:
    """Return the scales of the columns, if all of them were told by a ``Moment``."""
    found = tuple(tail.scale for tail in plan.tails if isinstance(tail, Moment))
    return found if len(found) == plan.n_columns else None


def rounds(plan: PricedRequest) -> int:
    """Return how many rounds of scale, radius and sum there are: two around one common center."""
    return max(step.round for step in plan.steps)


def weakest(plan: PricedRequest) -> float:
    """Return the strength of the cheapest step besides the count."""
    return min(step.cost.strength for step in plan.steps if step.name != COUNT)


def are_assumed(plan: PricedRequest) -> bool:
    """Say whether something was assumed about every column, so that intervals can be proved."""
    return all(tail is not None for tail in plan.tails)


def least_cells(plan: PricedRequest) -> float:
    """Return below how many cells, or rows, an interval would rest on noise; 0 if it is proved."""
    if are_assumed(plan) or not plan.has("scale"):
        return 0.0
    choices = plan.n_columns if plan.has("center") else 1
    return cells_of_noise(plan.cost("scale", rounds(plan)), choices)


def common_steps(request: Request, n: int, budget: Budget) -> Steps:
    """Return the steps around one center with one scale, paid from ``budget``."""
    return _divide(common_shares(budget, n), budget, needs_spread=needs_spread(request))


def own_steps(request: Request, n: int, budget: Budget) -> Steps | None:
    """Return the steps; None if n records cannot pay for scales of their own."""
    parts = _own_shares(request, n, budget)
    if parts is None:
        return None
    return _divide(parts, budget, needs_spread=needs_spread(request))


def _own_shares(request: Request, n: int, budget: Budget) -> dict[tuple[str, int], float] | None:
    """Return the shares of the steps; None if n records cannot pay for scales of their own."""
    columns = request.columns
    found = shares(
        budget,
        n,
        request.n_columns,
        scale_known=all(isinstance(column.tail, Moment) for column in columns),
        ranges_known=all(math.isfinite(end) for column in columns for end in column.within),
    )
    return None if found is None else {(name, 1): share for name, share in found.items()}


def _divide(parts: dict[tuple[str, int], float], budget: Budget, *, needs_spread: bool) -> Steps:
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


def common_names(request: Request) -> tuple[tuple[str, int], ...]:
    """Return the names and rounds of the steps around one center with one scale."""
    rounds_of = [(name, number) for number in (1, 2) for name in ("scale", "radius", "sum")]
    return _with_spread(rounds_of, request)


def own_names(request: Request) -> tuple[tuple[str, int], ...]:
    """Return the names and rounds of the steps with a center and a scale of every column."""
    given = all(isinstance(column.tail, Moment) for column in request.columns)
    asked = ("center", "radius", "sum") if given else ("center", "scale", "radius", "sum")
    return _with_spread([(name, 1) for name in asked], request)


def _with_spread(found: list[tuple[str, int]], request: Request) -> tuple[tuple[str, int], ...]:
    if needs_spread(request):
        found.insert(-1, ("spread", found[-1][1]))
    return tuple(found)


def needs_spread(request: Request) -> bool:
    """Say whether the intervals need second moments, or the number of rows outside of the ball."""
    assumed = all(column.tail is not None for column in request.columns)
    return request.confidence is not None and (request.target == "population" or assumed)
