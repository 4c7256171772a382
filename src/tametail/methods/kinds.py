"""The methods, each with its steps, predictions and words, and the choice between them.

Only public numbers decide: how many columns and records there are, the budget, the unit, and what
is assumed.
"""

from __future__ import annotations

from tametail.errors import InternalError
from tametail.methods.apart.estimate import column_plans, columns_apart
from tametail.methods.ball import predict as ball_prediction
from tametail.methods.ball import rows
from tametail.methods.ball.estimate import vector_mean
from tametail.methods.ball.shares import common_shares
from tametail.methods.ball.shares import working as ball_working
from tametail.methods.groups.kind import GROUPS, PERSONS_BY_GROUP, ByGroup
from tametail.methods.located.method import LOCATED, Located
from tametail.methods.persons.kind import RECORDS_OF_PERSONS, RecordsOfPersons
from tametail.methods.pooled.estimate import pooled_means
from tametail.methods.pooled.pool import LEAST_COLUMNS
from tametail.methods.textbook.method import TEXTBOOK, Textbook
from tametail.methods.winsorised import column
from tametail.methods.winsorised import predict as prediction
from tametail.methods.winsorised.dividing import divide
from tametail.methods.winsorised.estimate import winsorised_mean
from tametail.methods.winsorised.expected import half_width
from tametail.notes import TOO_FEW, Note, few_records, hint, shared_scale
from tametail.plans import Plan, Step
from tametail.privacy.budget import Approx, Budget, Pure, noise_for
from tametail.request import Request
from tametail.tail import Moment

#: A bounded moment of this order makes a tail light. Bounds alone do not: they may be far out.
LIGHT = 4.0

#: Records to plan with as long as their number is unknown: so many that looks cost next to nothing.
PLENTY = 10**7

_EXCEEDS = (
    "the error is expected to exceed the standard deviation of the records: more records, more "
    "budget or fewer columns help"
)


def _as_it_is(plan: Plan) -> Plan:
    return plan


class Winsorised:
    """One column: winsorise around a private median."""

    name = "winsorised mean"
    purposes = column.PURPOSES
    view = staticmethod(column.ColumnPlan.of)
    estimate = staticmethod(winsorised_mean)

    def working(self, budget: Budget) -> Budget:
        """Return the budget in the notion in which the steps are paid."""
        return column.working(budget)

    def names(self, request: Request) -> tuple[tuple[str, int], ...]:
        """Return the names and rounds of the steps."""
        return column.names(needs_spread=column.needs_spread(request))

    def divide(self, request: Request, n: int, budget: Budget) -> tuple[Step, ...] | None:
        """Return the steps, paid from ``budget``."""
        (told,) = column.told_parts(request, n, self.working(budget))
        return divide(told)

    def rmse(self, plan: Plan) -> float | tuple[float, ...] | None:
        """Bound the error by the tail assumption; None without one."""
        return prediction.rmse(column.ColumnPlan.of(plan))

    def relative_rmse(self, plan: Plan) -> float | None:
        """Predict the error for the reference law, in its standard deviations."""
        return prediction.reference_rmse(column.ColumnPlan.of(plan))

    def half_width(self, plan: Plan, confidence: float, law: str) -> float | None:
        """Predict the half-width of the interval."""
        return half_width(column.ColumnPlan.of(plan), confidence, law)

    def foresee(self, plan: Plan) -> tuple[Note, ...]:
        """Say what a release would carry for a note, and what cannot be foreseen."""
        return prediction.advise(column.ColumnPlan.of(plan))

    def reasons(self, plan: Plan) -> tuple[str, ...]:  # noqa: ARG002 - there is no choice
        """Nothing: one column is always winsorised."""
        return ()


class InBall:
    """Several columns: pull the rows into a ball, and add noise once."""

    view = staticmethod(rows.RowsPlan.of)
    estimate = staticmethod(vector_mean)

    def __init__(self, name: str, *, common: bool) -> None:
        self.name = name
        self.purposes = rows.PURPOSES
        self._common = common

    def working(self, budget: Budget) -> Budget:
        """Return the budget in the notion in which the steps are paid."""
        return ball_working(budget)

    def names(self, request: Request) -> tuple[tuple[str, int], ...]:
        """Return the names and rounds of the steps."""
        return rows.names(request, common=self._common)

    def divide(self, request: Request, n: int, budget: Budget) -> tuple[Step, ...] | None:
        """Return the steps; None if n records cannot pay for scales of their own."""
        whole = self.working(budget)
        if self._common:
            parts: dict[tuple[str, int], float] | None = common_shares(whole, n)
        else:
            parts = rows.own_shares(request, n, whole)
        if parts is None:
            return None
        return rows.divide(parts, whole, needs_spread=rows.needs_spread(request))

    def rmse(self, plan: Plan) -> float | tuple[float, ...] | None:
        """Return what the relative error is in the scales that were told."""
        relative, scales = self.relative_rmse(plan), rows.RowsPlan.of(plan).scales
        if scales is None or relative is None:
            return None
        return tuple(relative * scale for scale in scales)

    def relative_rmse(self, plan: Plan) -> float | None:
        """Predict the error of a column, in standard deviations of the reference law."""
        return None if plan.n is None else ball_prediction.reference_rmse(rows.RowsPlan.of(plan))

    def half_width(self, plan: Plan, confidence: float, law: str) -> float | None:  # noqa: ARG002
        """Predict the half-width of the intervals, in standard deviations."""
        if plan.n is None:
            return None
        return ball_prediction.half_width(rows.RowsPlan.of(plan), confidence)

    def foresee(self, plan: Plan) -> tuple[Note, ...]:
        """Say what the plan had to give up, and what would help."""
        found = []
        if self._common and not plan.request.common:
            text = (
                f"{plan.n} records and this budget cannot pay for a centre and a scale of each of "
                f"{plan.dim} columns, so all share the centre 0 and one scale: columns of small "
                "numbers drown in the noise of large ones. More records or budget, fewer columns, "
                "within= and tail=Moment(2, scale) for every column, or columns in one unit help"
            )
            found.append(shared_scale(text))
        if plan.n is not None and plan.n < rows.RowsPlan.of(plan).least_cells:
            found.append(TOO_FEW)
        if (self.relative_rmse(plan) or 0.0) > 1:
            found.append(few_records(_EXCEEDS))
        return tuple(found)

    def reasons(self, plan: Plan) -> tuple[str, ...]:
        """Say why the columns are taken together, where they could be taken apart."""
        if isinstance(plan.budget, Pure):
            return _reasons(plan, "columns together: all are known to have light tails")
        return _reasons(plan, "columns together: with the delta, one noise for all is smaller")


class Apart:
    """Several columns: a winsorised mean of each, with its part of the budget."""

    name = "winsorised means, columns apart"
    purposes = column.PURPOSES | {"centre": "a private median of every column"}
    view = staticmethod(_as_it_is)
    estimate = staticmethod(columns_apart)

    def working(self, budget: Budget) -> Budget:
        """Return the budget in the notion in which the steps are paid."""
        return column.working(budget)

    def names(self, request: Request) -> tuple[tuple[str, int], ...]:
        """Return the names and rounds of the steps."""
        return column.names(needs_spread=column.needs_spread(request))

    def divide(self, request: Request, n: int, budget: Budget) -> tuple[Step, ...]:
        """Return the steps with what they cost in all columns; shares are those of one column."""
        whole = self.working(budget)
        each = whole.share(1 / request.dim)
        found = map(divide, column.told_parts(request, n, each))
        # The neediest centre decides, of columns with a tail if there are any.
        steps = max(found, key=lambda one: (len(one), one[0].cost.strength))
        parts = [step.cost.values()[0] / each.values()[0] for step in steps]
        costs = whole.split(*[part / sum(parts) for part in parts])
        return tuple(Step(step.name, cost) for step, cost in zip(steps, costs, strict=True))

    def rmse(self, plan: Plan) -> float | tuple[float, ...] | None:
        """Bound the error of each column by its tail assumption; None if one has none."""
        if plan.n is None:
            return None
        found = [prediction.rmse(part) for part in column_plans(plan)]
        errors = tuple(error for error in found if error is not None)
        return errors if len(errors) == plan.dim else None

    def relative_rmse(self, plan: Plan) -> float | None:
        """Predict the error of a column, in standard deviations of the reference law."""
        return None if plan.n is None else prediction.reference_rmse(column_plans(plan)[0])

    def half_width(self, plan: Plan, confidence: float, law: str) -> float | None:
        """Predict the half-width of the widest interval, all holding together."""
        if plan.n is None:
            return None
        each = 1 - (1 - confidence) / plan.dim
        found = [half_width(part, each, law) for part in dict.fromkeys(column_plans(plan))]
        return max(width for width in found if width is not None)

    def foresee(self, plan: Plan) -> tuple[Note, ...]:
        """Say what a release would carry for a note."""
        if plan.n is None:
            return ()
        found = prediction.foresee(column_plans(plan)[0], columns=plan.dim)
        if found:
            found = (*found, hint("if the columns share a unit and a size, common=True helps"))
        exceeds = (self.relative_rmse(plan) or 0.0) > 1
        return (*found, few_records(_EXCEEDS)) if exceeds else found

    def reasons(self, plan: Plan) -> tuple[str, ...]:
        """Say why the columns are taken apart."""
        if isinstance(plan.budget, Approx):
            words = "columns apart: for so few, noise that needs no delta is smaller"
        elif _is_light(plan.request):
            words = "columns apart: a ball takes more records or budget"
        else:
            words = "columns apart: with heavy tails, a part of a pure budget each does better"
        return _reasons(plan, words)


class Pooled(Apart):
    """Several columns: looked at one by one, and summed together where rows are short."""

    name = "winsorised means, one sum"
    purposes = Apart.purposes | {
        "sum": "how long records are, then sum and count of the clipped records, all columns in one"
    }
    estimate = staticmethod(pooled_means)

    def suits(self, request: Request) -> bool:
        """Say whether there are enough columns, of which nothing is assumed.

        What is assumed of a column bounds what clipping it costs, not what shrinking rows does.
        """
        return _is_free(request) and request.dim >= LEAST_COLUMNS

    def reasons(self, plan: Plan) -> tuple[str, ...]:
        """Say how the columns are taken together."""
        words = "columns looked at one by one, and summed together if that is expected to err less"
        if isinstance(plan.budget, Approx):
            words += "; for so few, noise that needs no delta is smaller"
        return _reasons(plan, words)


WINSORISED = Winsorised()
BALL = InBall("mean in a weighted ball", common=False)
COMMON_BALL = InBall("mean in a ball, one scale for all columns", common=True)
APART = Apart()
POOLED = Pooled()

Kind = Winsorised | InBall | Apart | RecordsOfPersons | Textbook | Located | ByGroup
Chosen = tuple[Kind, tuple[Step, ...]]


def usual(request: Request) -> Kind:
    """Return the method that is expected as long as n is unknown."""
    if request.groups is not None:
        return GROUPS if request.unit.person is None else PERSONS_BY_GROUP
    if request.weighs_records:
        return RECORDS_OF_PERSONS
    if request.dim == 1:
        return WINSORISED
    if request.common:
        return COMMON_BALL
    return BALL if _in_a_ball(request, request.n or PLENTY) else _without_a_ball(request)


def choose(request: Request, n: int, budget: Budget) -> Chosen:
    """Choose a method that may spend ``budget`` on n records, and return its steps."""
    asked_for = usual(request)
    if asked_for in (GROUPS, PERSONS_BY_GROUP, RECORDS_OF_PERSONS):
        return _with_steps(asked_for, request, n, budget)
    if TEXTBOOK.suits(request, n, budget):
        return TEXTBOOK, TEXTBOOK.divide(request, n, budget)
    if request.dim == 1 and LOCATED.suits(request, n, budget):
        return LOCATED, LOCATED.divide(request, n, budget)
    if asked_for in (WINSORISED, COMMON_BALL):
        return _with_steps(asked_for, request, n, budget)
    if _in_a_ball(request, n, budget):
        return _together(request, n, budget)
    return _one_by_one(request, n, budget)


def _in_a_ball(request: Request, n: int, budget: Budget | None = None) -> bool:
    """Say whether several columns are taken together, if n records may cost ``budget``.

    A delta does not pay in a few columns (docs/decisions/0224). For d sums of cells of size 1 the
    variance of Gaussian noise is d / (2 rho), and that of Laplace noise 2 d^2 / epsilon^2, each
    paid from what the looks before it leave. Where n records cannot pay for those of a ball, the
    whole budgets are compared. What is assumed of a column spares a ball more than it spares a
    column alone, so then it is taken as before.
    """
    budget = request.budget if budget is None else budget
    if not isinstance(budget, Approx) or not _is_free(request):
        return not isinstance(budget, Pure)
    together, apart = BALL.working(budget), APART.working(budget)
    steps = BALL.divide(request, n, together)
    if steps is not None:
        together, apart = _for_sums(steps), _for_sums(APART.divide(request, n, apart))
    one, each = (noise_for(cost, request.dim, request.dim) for cost in (together, apart))
    return one.variance < each.variance


def _for_sums(steps: tuple[Step, ...]) -> Budget:
    return next(step.cost for step in steps if step.name == "sum")


def _is_free(request: Request) -> bool:
    """Say whether nothing is assumed of any column."""
    return all(column.tail is None for column in request.columns)


def _is_light(request: Request) -> bool:
    """Say whether every column is known to have light tails: then rows are of similar length.

    Laplace noise for a ball pays for its longest rows. Where tails are heavy that costs more than
    a budget of 1/d does; where they are light it costs less (docs/decisions/0013).
    """
    tails = [column.tail for column in request.columns]
    return all(isinstance(tail, Moment) and tail.k >= LIGHT for tail in tails)


def _together(request: Request, n: int, budget: Budget) -> Chosen:
    steps = BALL.divide(request, n, budget)
    return _with_steps(COMMON_BALL, request, n, budget) if steps is None else (BALL, steps)


def _one_by_one(request: Request, n: int, budget: Budget) -> Chosen:
    """Choose for several columns if noise is Laplace's: together only if all tails are light."""
    steps = BALL.divide(request, n, budget) if _is_light(request) else None
    if steps is not None:
        return BALL, steps
    few = LOCATED.suits(request, n, budget)
    return _with_steps(LOCATED if few else _without_a_ball(request), request, n, budget)


def _without_a_ball(request: Request) -> Kind:
    return POOLED if POOLED.suits(request) else APART


def _with_steps(method: Kind, request: Request, n: int, budget: Budget) -> Chosen:
    steps = method.divide(request, n, budget)
    if steps is None:
        raise InternalError(f"{method.name} has no steps.")
    return method, steps


def _reasons(plan: Plan, words: str) -> tuple[str, ...]:
    """Return the words if there was a choice: under zCDP, or with a delta and a tail, is none."""
    chosen = isinstance(plan.budget, Pure) or (
        isinstance(plan.budget, Approx) and _is_free(plan.request)
    )
    return (words,) if chosen and not plan.request.common else ()
