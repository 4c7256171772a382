"""When a method suits, and the words that say why it was chosen.

Only public numbers decide: how many columns and records there are, the budget, the unit, and what
is assumed. The table is searched from its top, so that each rule supposes those above it to have
failed. ``n`` is None as long as the number of records is unknown: then nothing is looked at that
few records could decide.
"""

from __future__ import annotations

from tametail.methods.by_column import neediest_steps
from tametail.methods.joint.settings import own_steps as joint_steps
from tametail.methods.joint_sum.pool import LEAST_COLUMNS
from tametail.methods.winsorized.budget_split import divide, is_spread_undetectable
from tametail.methods.winsorized.column import column_settings
from tametail.plans import PricedRequest, Steps, paid_in
from tametail.privacy.budget import Approx, Budget, Pure, Zcdp, noise_for
from tametail.request import Request
from tametail.tail import Bounded, Moment

#: A bounded moment of this order makes a tail light. Bounds alone do not: they may be far out.
LIGHT = 4.0

#: Records to plan with as long as their number is unknown: so many that looks cost next to nothing.
PLENTY = 10**7


def persons_in_one_group(request: Request, n: int | None, budget: Budget) -> bool:  # noqa: ARG001
    """Say whether means are asked by group, and each person is kept to one of these."""
    return request.groups is not None and request.groups.groups_per_person == 1


def persons_in_groups(request: Request, n: int | None, budget: Budget) -> bool:  # noqa: ARG001
    """Say whether means are asked by group, and persons are protected."""
    return request.groups is not None and request.adjacency.person is not None


def groups(request: Request, n: int | None, budget: Budget) -> bool:  # noqa: ARG001
    """Say whether means are asked by group."""
    return request.groups is not None


def records_of_persons(request: Request, n: int | None, budget: Budget) -> bool:  # noqa: ARG001
    """Say whether persons are protected, and every record counts."""
    return request.weighs_records


def bounded(request: Request, n: int | None, budget: Budget) -> bool:
    """Say whether all records are bounded, and looking for closer bounds would show nothing."""
    given = all(isinstance(column.tail, Bounded) for column in request.columns)
    return given and _in_vain(request, n, budget)


def scaled(request: Request, n: int | None, budget: Budget) -> bool:
    """Say whether all scales are known, and a spread estimate would show nothing."""
    if request.n_columns > 1 and isinstance(budget, Zcdp):  # one noise for all columns does better
        return False
    given = all(isinstance(column.tail, Moment) for column in request.columns)
    return given and _in_vain(request, n, budget)


def _in_vain(request: Request, n: int | None, budget: Budget) -> bool:
    """Say whether a spread estimate would show nothing in any column; unknown without n."""
    if n is None:
        return False
    each = paid_in(budget, Pure).share(1 / request.n_columns)
    return all(is_spread_undetectable(part, each, n) for part in column_settings(request, n, each))


def joint(request: Request, n: int | None, budget: Budget) -> bool:
    """Say whether columns are taken together, each with a center and a scale of its own."""
    if request.n_columns == 1 or request.same_scale:
        return False
    if n is None:
        return _jointly(request, n, budget)
    together = _jointly(request, n, budget) or _is_light(request)
    return together and joint_steps(request, n, paid_in(budget, Zcdp)) is not None


def joint_in_common(request: Request, n: int | None, budget: Budget) -> bool:
    """Say whether columns are taken together with one scale: by request, or as n pays no other."""
    return request.n_columns > 1 and (request.same_scale or _jointly(request, n, budget))


def one_column(request: Request, n: int | None, budget: Budget) -> bool:  # noqa: ARG001
    """Say whether there is one column."""
    return request.n_columns == 1


def one_sum(request: Request, n: int | None, budget: Budget) -> bool:  # noqa: ARG001
    """Say whether there are enough columns, of which nothing is assumed.

    What is assumed of a column bounds what clipping it costs, not what shrinking rows does.
    """
    return _is_free(request) and request.n_columns >= LEAST_COLUMNS


def always(request: Request, n: int | None, budget: Budget) -> bool:  # noqa: ARG001
    """Say yes: nothing else is left."""
    return True


def _jointly(request: Request, n: int | None, budget: Budget) -> bool:
    """Say whether several columns are taken together, if n records may cost ``budget``.

    A delta does not pay in a few columns (decision 0224). For d sums of cells of size 1 the
    variance of Gaussian noise is d / (2 rho), and that of Laplace noise 2 d^2 / epsilon^2, each
    paid from what the looks before it leave. Where n records cannot pay for those of a ball, the
    whole budgets are compared. What is assumed of a column spares a ball more than it spares a
    column alone, so then it is taken as before.
    """
    if not isinstance(budget, Approx) or not _is_free(request):
        return not isinstance(budget, Pure)
    n = (request.n or PLENTY) if n is None else n
    together, separate = paid_in(budget, Zcdp), paid_in(budget, Pure)
    steps = joint_steps(request, n, together)
    if steps is not None:
        needed = _for_sums(neediest_steps(request, n, separate, divide))
        together, separate = _for_sums(steps), needed
    one, each = (
        noise_for(cost, request.n_columns, request.n_columns) for cost in (together, separate)
    )
    return one.variance < each.variance


def _for_sums(steps: Steps) -> Budget:
    return next(step.cost for step in steps if step.name == "sum")


def _is_free(request: Request) -> bool:
    """Say whether nothing is assumed of any column."""
    return all(column.tail is None for column in request.columns)


def _is_light(request: Request) -> bool:
    """Say whether every column is known to have light tails: then rows are of similar length.

    Laplace noise for a ball pays for its longest rows. Where tails are heavy that costs more than
    a budget of 1/d does; where they are light it costs less (decision 0013).
    """
    tails = [column.tail for column in request.columns]
    return all(isinstance(tail, Moment) and tail.k >= LIGHT for tail in tails)


# --- the words


def no_words(plan: PricedRequest) -> tuple[str, ...]:  # noqa: ARG001
    """Say nothing: there was no choice."""
    return ()


def why_records(plan: PricedRequest) -> tuple[str, ...]:
    """Say what counts how much."""
    if plan.request.n_records is None:
        return ("average over all records, with any number per person",)
    return (f"average over all records, about {plan.request.n_records:,} as given",)


def why_bounded(plan: PricedRequest) -> tuple[str, ...]:  # noqa: ARG001
    """Say why nothing is looked at first."""
    return (
        "values are clipped to the given bounds: there are too few records to estimate closer "
        "ones. If the bounds are much wider than the data, the error may be smaller without them",
    )


def why_scaled(plan: PricedRequest) -> tuple[str, ...]:  # noqa: ARG001
    """Say why their spread is not looked at."""
    return (
        "values are clipped by the given scale: there are too few records to estimate closer "
        "bounds",
    )


def why_together(plan: PricedRequest) -> tuple[str, ...]:
    """Say why the columns are taken together, where they could be taken one by one."""
    if isinstance(plan.budget, Pure):
        return _if_chosen(plan, "columns are clipped jointly: all have light tails by assumption")
    return _if_chosen(plan, "columns are clipped jointly: with a delta, joint noise is smaller")


def why_separate(plan: PricedRequest) -> tuple[str, ...]:
    """Say why the columns are taken one by one."""
    if isinstance(plan.budget, Approx):
        words = (
            "columns are estimated one by one: for few columns, noise without a delta is smaller"
        )
    elif _is_light(plan.request):
        words = (
            "columns are estimated one by one: joint clipping needs more records or a larger "
            "epsilon"
        )
    else:
        words = "columns are estimated one by one: with heavy tails this has the smaller error"
    return _if_chosen(plan, words)


def why_one_sum(plan: PricedRequest) -> tuple[str, ...]:
    """Say how the columns are taken together."""
    words = (
        "clipping bounds are estimated per column; sums are released jointly where that lowers "
        "the error"
    )
    if isinstance(plan.budget, Approx):
        words += "; for few columns, noise without a delta is smaller"
    return _if_chosen(plan, words)


def _if_chosen(plan: PricedRequest, words: str) -> tuple[str, ...]:
    """Return the words if there was a choice: under zCDP, or with a delta and a tail, is none."""
    chosen = isinstance(plan.budget, Pure) or (
        isinstance(plan.budget, Approx) and _is_free(plan.request)
    )
    return (words,) if chosen and not plan.request.same_scale else ()
