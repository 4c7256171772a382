"""What methods are told of a plan, and what they promise of it: plain data.

:class:`tametail.planning.Plan` is what people get: it knows the table of methods. Methods, words
and pictures know what is here, and no method knows the table.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Self

from tametail._json import Json
from tametail.columns import Range
from tametail.errors import InternalError
from tametail.notes import Note
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import (
    Approx,
    Budget,
    Pure,
    Zcdp,
    approx_to_zcdp,
    compose,
    noise_for,
)
from tametail.purposes import PURPOSES
from tametail.request import Request
from tametail.tail import Tail

#: Format of the JSON text.
FORMAT = 3

#: What is asked first if the number of records is unknown, and what is left for all that follows.
COUNT, REST = "count", "rest"

#: The private choice of keys, which comes before all else.
KEYS = "keys"

#: The private count of add-remove, when the caller gives no n: a better plan against less budget
#: (halved and doubled: -0.1% and +0.4% of the error, decision 0159).
COUNT_SHARE: Final = 0.015

#: The private count beside a guess of n, which may be wrong by any factor: it decides how many
#: records are sampled, and nothing else (decision 0040).
GUESS_COUNT_SHARE: Final = 0.002

#: A noisy count is that unlikely to be as far off as it is doubted to be.
_UNUSUAL = 0.001

#: Laws of bounded records for which half-widths are predicted: ends of the bounds, and uniform.
WORST, REFERENCE = "worst", "reference"


@dataclass(frozen=True, slots=True)
class Step:
    """One question to the data and what it costs; some are asked in more than one round."""

    name: str
    cost: Budget
    round: int = 1

    def to_dict(self) -> Json:
        """Return plain values, ready for JSON."""
        return {"name": self.name, "round": self.round, "cost": self.cost.to_dict()}


Steps = tuple[Step, ...]

#: Divides a budget, in the definition in which the steps are paid, for so many records; None if it
#: does not reach.
Divide = Callable[[Request, int, Budget], Steps | None]


@dataclass(frozen=True, slots=True)
class PricedRequest:
    """A request with the number of records, the name of a method and its priced steps.

    ``n`` is the public number of records (replace-one) or the caller's guess (add-remove). If it
    is None, a small private count comes first.
    """

    request: Request
    n: int | None
    method: str
    steps: Steps
    reading: str | None = None
    """How the records are read, where that was a choice: in a database, or streamed from one."""

    @property
    def budget(self) -> Budget:
        """The whole budget that was asked for."""
        return self.request.budget

    @property
    def adjacency(self) -> Adjacency:
        """The neighboring relation, and whether records or persons are protected."""
        return self.request.adjacency

    @property
    def missing(self) -> str:
        """What happens to missing records: "skip", or the promise that there are "none"."""
        return self.request.missing

    @property
    def confidence(self) -> float | None:
        """The confidence that was asked for; None if no interval was."""
        return self.request.confidence

    @property
    def target(self) -> str:
        """Whose mean the interval is for: "population" or "data"."""
        return self.request.target

    @property
    def neighbors(self) -> str:
        """The neighboring datasets: ``"add-remove"`` or ``"replace-one"``."""
        return self.request.adjacency.value

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.request.n_columns

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns; their numbers, before there are data."""
        return tuple(column.name for column in self.request.columns)

    @property
    def tails(self) -> tuple[Tail, ...]:
        """What is assumed about each column."""
        return tuple(column.tail for column in self.request.columns)

    @property
    def answer_ranges(self) -> tuple[Range, ...]:
        """Where the mean of each column can be."""
        return tuple(column.answer_range for column in self.request.columns)

    def cost(self, name: str, round: int = 1) -> Budget:  # noqa: A002 - as the field is called
        """Return what a step may spend."""
        found = (step.cost for step in self.steps if (step.name, step.round) == (name, round))
        return next(found)

    def has(self, name: str) -> bool:
        """Say whether there is a step called ``name``."""
        return any(step.name == name for step in self.steps)

    @property
    def definition(self) -> type[Budget]:
        """The definition in which the steps are paid; a choice of keys alone needs a delta."""
        return type(self.steps[-1].cost)

    @property
    def left(self) -> Budget:
        """What the steps may spend together, once the number of records has been paid for.

        In the definition in which the steps are paid.
        """
        whole = paid_in(self.budget.spendable(), self.definition)
        return counted(whole, self.request)[1] if self.has(COUNT) else whole

    @property
    def spending(self) -> Budget:
        """What all steps cost together, in the definition that was asked for.

        A release states it, whichever way its answers went.
        """
        return _total([step.cost for step in self.steps], self.budget.spendable())

    def shares(self) -> tuple[tuple[str, float, str], ...]:
        """Return each step's name, its part of the budget in percent, and what it is for.

        >>> import tametail as tt
        >>> [name for name, part, purpose in tt.plan(n=1000, epsilon=1).shares() if part > 30]
        ['sum']
        """
        purposes = PURPOSES[self.method]
        whole = paid_in(self.budget, self.definition).values()[0]
        asked = Counter(step.name for step in self.steps)
        return tuple(
            (
                f"{step.name} {step.round}" if asked[step.name] > 1 else step.name,
                100 * step.cost.values()[0] / whole,
                purposes[step.name],
            )
            for step in self.steps
        )

    def to_dict(self) -> Json:
        """Return plain values, ready for JSON."""
        found: Json = {
            "format": FORMAT,
            "request": self.request.to_dict(),
            "n": self.n,
            "method": self.method,
            "steps": [step.to_dict() for step in self.steps],
        }
        return found if self.reading is None else found | {"reading": self.reading}

    def recounted(self, noisy_count: int, divide: Divide) -> Self:
        """Return the same with the steps of a method, once the private count is known.

        A guess of n fixed them before; it is raised to what the count says at least.
        """
        if self.n is not None:
            doubt = noise_for(self.cost(COUNT), 1, 1).quantile(_UNUSUAL)
            return replace(self, n=max(self.n, math.floor(noisy_count - doubt)))
        n = max(noisy_count, 1)
        before = tuple(step for step in self.steps if step.name in (KEYS, COUNT))
        steps = divide(self.request, n, self.cost(REST))
        if steps is None:
            raise InternalError(f"{self.method} has no steps.")
        return replace(self, n=n, steps=before + steps)


class Prediction:
    """What a method promises of a plan before any record is read; None where it cannot say.

    Every method has its own, and computes what it is asked for.
    """

    __slots__ = ("plan",)

    def __init__(self, plan: PricedRequest) -> None:
        self.plan = plan

    @property
    def rmse(self) -> float | tuple[float, ...] | None:
        """The error in the units of the records, where a scale was told."""
        return None

    @property
    def relative_rmse(self) -> float | None:
        """The error in standard deviations of the reference distribution."""
        return None

    def half_width(self, confidence: float, distribution: str = WORST) -> float | None:  # noqa: ARG002
        """Return the half-width of the interval."""
        return None

    @property
    def in_units(self) -> bool:
        """Whether half-widths are in the units of the records, not in standard deviations."""
        return all(tail is not None for tail in self.plan.tails)

    @property
    def notes(self) -> tuple[Note, ...]:
        """The notes that a release would carry, by public numbers alone."""
        return ()

    @property
    def scale(self) -> str | None:
        """What errors are measured in, in words, if not in those of a mean."""
        return None


def paid_in(budget: Budget, definition: type[Budget]) -> Budget:
    """Return the budget in which steps are paid: of an approximate one, by this definition.

    >>> paid_in(Approx(1.0, 1e-6), Pure), paid_in(Zcdp(0.5), Pure)
    (Pure(epsilon=1.0), Zcdp(rho=0.5))
    """
    if not isinstance(budget, Approx):
        return budget
    if definition is Zcdp:
        return Zcdp(approx_to_zcdp(budget.epsilon, budget.delta))
    return Pure(budget.epsilon)


def counted(whole: Budget, request: Request) -> tuple[Budget, Budget]:
    """Return what a private count costs, and what it leaves."""
    share = COUNT_SHARE if request.n is None else GUESS_COUNT_SHARE
    first, rest = whole.split(share, 1 - share)
    return first, rest


def _total(costs: list[Budget], budget: Budget) -> Budget:
    """Return what costs add up to, in the definition of ``budget``.

    Pure costs are added as such, even if they would fit an approximate budget by way of zCDP.
    """
    plain = all(isinstance(cost, Pure) for cost in costs)
    delta = budget.delta if isinstance(budget, Approx) else None
    if delta is None or not plain:
        total = compose(costs, type(budget), delta)
    else:
        total = compose(costs, Pure)
        if isinstance(total, Pure):
            total = Approx(total.epsilon, delta)
    if total is None:
        raise InternalError("a plan without a step")
    return total
