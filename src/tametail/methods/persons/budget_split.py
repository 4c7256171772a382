"""How a budget is divided where persons are protected, and what each part is for.

None of these numbers touches privacy.
"""

from __future__ import annotations

from typing import Final

from tametail.plans import Step
from tametail.privacy.budget import Budget
from tametail.request import Request

#: The pilot's share: it has to be near enough that persons with many records do not stand out by
#: their number alone. Where there is plenty, less will do.
PILOT, PILOT_IF_PLENTY, PLENTY = 0.25, 0.15, 1e4

#: The share of the number of records. It divides a difference, so its noise matters only as far as
#: the pilot is off, which it is where persons with many records have other values.
ROWS, ROWS_IF_PLENTY = 0.15, 0.10

#: The part of that which finds how many records of a person count.
ROWS_TAIL: Final = 0.3

#: The part of what is left that finds the clip points of the differences. The interval for the mean
#: is as wide as these counts are noisy; the error is as large with 0.3 to 0.5 (decision 0269).
TAIL: Final = 0.45

#: Below so many persons times epsilon the plan warns.
FEASIBLE: Final = 2000.0


def names(request: Request) -> tuple[tuple[str, int], ...]:  # noqa: ARG001 - always four
    """Return the names of the steps, and their rounds."""
    return tuple((name, 1) for name in ("pilot", "rows", "tail", "sum"))


def divide(budget: Budget, n: int) -> tuple[Step, ...]:
    """Divide the budget between the steps.

    >>> from tametail.privacy.budget import pure
    >>> steps = divide(pure(1), 3000)
    >>> {step.name: round(step.cost.epsilon, 3) for step in steps}
    {'pilot': 0.25, 'rows': 0.15, 'tail': 0.27, 'sum': 0.33}
    """
    is_plenty = n * budget.strength >= PLENTY
    pilot, rows = (PILOT_IF_PLENTY, ROWS_IF_PLENTY) if is_plenty else (PILOT, ROWS)
    *before, around = budget.split(pilot, rows, 1 - pilot - rows)
    # Both are asked in one view, which composes them to a double: no larger one than this.
    costs = (*before, *around.split(TAIL, 1 - TAIL))
    return tuple(map(Step, ("pilot", "rows", "tail", "sum"), costs))
