"""How the budget of means by group is divided, and what each step is for.

Steps before "groups" are about all records; "sizes" and "groups" are asked of every group, at what
one group costs: a record is in one group only. A small group divides the latter once more.
"""

from __future__ import annotations

from dataclasses import replace

from tametail.methods.groups import constants as tuned
from tametail.methods.groups.keys import asked
from tametail.methods.winsorized.budget_split import divide
from tametail.methods.winsorized.column import ROUNDING, ColumnPlan, divided, together
from tametail.plans import COUNT, COUNT_SHARE, REST, PricedRequest, Step, Steps
from tametail.privacy.budget import Budget, Zcdp
from tametail.request import Request

POOLED = ("total", "sizes", "center", "tail", "groups")
_SEPARATE = ("kept", "sizes", "pool", "groups")


def names(request: Request) -> tuple[tuple[str, int], ...]:
    """Return the names of the steps, and their rounds."""
    if asked(request).groups_per_person == 1:
        found: tuple[str, ...] = _SEPARATE
    elif request.adjacency.person is not None:
        found = (*tuned.OF_PERSONS, *(("spread",) if request.wants_spread else ()))
    else:
        found = ("groups",) if asked(request).pooling is None else POOLED
    return tuple((name, 1) for name in found)


def steps_of_persons(request: Request, n: int, budget: Budget) -> Steps:  # noqa: ARG001
    """Return the steps where persons are protected, however many they are."""
    shares, spread = tuned.OF_PERSONS, tuned.SPREAD
    if isinstance(budget, Zcdp):
        shares, spread = tuned.OF_PERSONS_SQUARED, tuned.SPREAD_SQUARED
    parts = dict(shares)
    if request.wants_spread:
        parts = {name: share * (1 - spread) for name, share in shares.items()} | {"spread": spread}
    return tuple(map(Step, parts, budget.split(*parts.values())))


def steps_of_separate_persons(request: Request, n: int, budget: Budget) -> Steps:  # noqa: ARG001
    """Return the steps where each person is in one group."""
    wanted = tuned.POOL_PERSONS / (max(n, 1) * budget.strength)
    pool = min(max(wanted, tuned.LEAST_POOL_OF_PERSONS), tuned.MOST_POOL_OF_PERSONS)
    shares = (tuned.KEPT, tuned.SIZES, pool, 1 - tuned.KEPT - tuned.SIZES - pool)
    return tuple(map(Step, _SEPARATE, budget.split(*shares)))


def steps(request: Request, n: int, budget: Budget) -> Steps:
    """Return the steps once the number of records is known."""
    if asked(request).pooling is None:
        return (Step("groups", budget),)
    wanted = tuned.POOL_RECORDS / (max(n, 1) * budget.strength)
    pool = min(max(wanted, tuned.LEAST_POOL), tuned.MOST_POOL)
    total, center, tail = (pool * share for share in (tuned.TOTAL, tuned.CENTER, tuned.TAIL))
    sizes = tuned.RECORD_SIZES
    shares = total, sizes, center, tail, 1 - sizes - pool
    return tuple(map(Step, POOLED, budget.split(*shares)))


def cost_without_pool(part: ColumnPlan) -> Budget:
    """Return what every group may spend if all are large: then nothing shows their shape."""
    costs = [part.cost(name) for name in ("center", "tail", "groups")]
    return together(costs).share(1 - ROUNDING)


def plan_of_small(part: ColumnPlan) -> ColumnPlan:
    """Return the plan of small groups, which counts their cells before it asks for sums."""
    costs = part.cost("groups").split(tuned.CELLS, 1 - tuned.CELLS)
    return replace(part, steps=tuple(map(Step, ("cells", "groups"), costs)))


def pool_plan(part: ColumnPlan, n: int, budget: Budget) -> ColumnPlan:
    """Return the plan of the column of all records; a tail is said of groups, not of them."""
    return group_plan(replace(part, tail=None, half=None), n, budget, spread=False)


def group_plan(
    part: ColumnPlan, n: int | None, budget: Budget, *, spread: bool = True
) -> ColumnPlan:
    """Return the plan of the column of one group, which may spend ``budget``."""
    first, rest = budget.split(COUNT_SHARE, 1 - COUNT_SHARE)
    alone = replace(part, n=n, budget=budget, steps=(Step(COUNT, first), Step(REST, rest)))
    return alone if n is None else replace(alone, steps=divide(alone, spread=spread))


def group_plans(plan: PricedRequest, groups: int) -> tuple[ColumnPlan, ...]:
    """Return the plan of every column, for so many groups; their steps are those of all groups.

    The confidence is that of one interval, whatever holds together.
    """
    request, n_columns = plan.request, plan.n_columns
    at_once = {None: n_columns, True: n_columns * groups, False: 1}[asked(request).simultaneous]
    confidence = None if plan.confidence is None else 1 - (1 - plan.confidence) / at_once
    wanted = [name for name, _ in names(request)]
    costs = [_each(plan.cost(name), n_columns) for name in wanted]
    return tuple(
        replace(
            ColumnPlan.from_request(request, column, plan.n, together(own)),
            confidence=confidence,
            steps=tuple(map(Step, wanted, own)),
        )
        for column, *own in zip(request.columns, *costs, strict=True)
    )


def _each(cost: Budget, n_columns: int) -> tuple[Budget, ...]:
    return (cost,) if n_columns == 1 else divided(cost, n_columns)
