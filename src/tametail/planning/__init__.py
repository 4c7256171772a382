"""Planning: everything that is decided before any record is read.

A :class:`Plan` turns a request into priced steps. It is made from public numbers alone, prints
itself, goes to JSON and back, and predicts the error of the release that follows it. What a step
is, and how good the outcome will be, its *method* knows: a row of ``table``, which takes the first
one that suits by ``choice``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tametail._json import Json, not_as_written, read_json
from tametail._shown import shown
from tametail._validate import count, one_of, probability
from tametail.columns import columns_told
from tametail.errors import BudgetError, ParameterError, TametailError
from tametail.methods.groups.keys import keys_step
from tametail.notes import Note
from tametail.planning.table import choose, find
from tametail.plans import (
    COUNT,
    FORMAT,
    KEYS,
    REFERENCE,
    REST,
    WORST,
    Prediction,
    PricedRequest,
    Step,
    counted,
    paid_in,
)
from tametail.privacy.budget import Approx, Budget, fits
from tametail.privacy.odds import weak_budget
from tametail.request import Request

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tametail.pictures.planning import Curve

__all__ = ["COUNT", "Plan", "Step"]

#: Noise for a step that may spend less than this does not fit in 64 bits.
_LEAST_STEP = 1e-9

#: A longer text does not say how data are read.
_LONGEST_READING = 300

_REFUSAL = "This is not a plan. Use the output of Plan.to_json() or Plan.to_dict()."
_OTHER = (
    "This plan was written by another version, whose fields have other names: it has format {}, "
    f"and this version reads format {FORMAT}. Make the plan again; that costs nothing."
)


@dataclass(frozen=True, slots=True)
class Plan(PricedRequest):
    """How the means of a request will be released.

    ``n`` is the public number of records (replace-one) or the caller's guess (add-remove). If it
    is None, a small private count comes first, and :meth:`with_count` fixes the other steps. Beside
    a guess an even smaller one comes first: a guess may cost accuracy, but never memory.

    >>> import tametail as tt
    >>> plan = tt.plan(n=10_000, epsilon=1, neighbors="replace-one", confidence=None)
    >>> [step.name for step in plan.steps]
    ['center', 'tail', 'sum']
    >>> Plan.from_json(plan.to_json()) == plan
    True
    """

    @classmethod
    def of(cls, request: Request) -> Plan:
        """Plan a request."""
        return cls._for(request, request.n)

    @classmethod
    def _for(cls, request: Request, n: int | None) -> Plan:
        """Choose a method, and divide the budget between its steps.

        If n is unknown a private count comes first, and the method is chosen when it is there. If
        it is a guess, a smaller one comes first, which decides how many records are sampled.
        """
        before, budget = keys_step(request)
        usual = choose(request, None, request.budget)
        if usual.counts_itself:
            return cls(request, n, usual.name, before + usual.divide(request, n or 1, budget))
        if n is None or not request.adjacency.size_is_public:
            first, budget = counted(paid_in(budget, usual.definition), request)
            before = (*before, Step(COUNT, first))
            if n is None:
                return cls(request, n, usual.name, (*before, Step(REST, budget)))
        method = choose(request, n, budget)
        return cls(request, n, method.name, before + method.divide(request, n, budget))

    @property
    def passes(self) -> int:
        """How often a file or a Spark frame is read: once for count and sample, once for distances.

        That is for one column: nothing else reads the data, as sum, spread and a second look come
        out of the distances. Only the public number of rows, under replace-one, takes one more pass
        over a CSV file, and a center that has to be looked for again takes two.
        """
        return 2

    def with_names(self, names: Sequence[str]) -> Plan:
        """Return the plan for columns of these names."""
        if len(names) != self.n_columns:
            planned, there = columns_told(self.n_columns), columns_told(len(names))
            raise ParameterError(
                f"The plan is for {planned}, but the data have {there}. Use a plan with "
                f"n_columns={len(names)}, or name {planned} of the data."
            )
        return replace(self, request=self.request.with_names(names))

    def about(
        self,
        person: str | Sequence[str] | None,
        where: str | None,
        parse: object = None,
        **groups: object,
    ) -> Plan:
        """Return the plan for these persons, records and groups; None leaves what it says."""
        request = self.request.about(person, where, parse, **groups)
        return self if request is self.request else replace(self, request=request)

    def with_count(self, noisy_count: int) -> Plan:
        """Return the plan for the other steps, once the private count is known.

        A guess of n fixed them before; it is raised to what the count says at least.
        """
        if self.n is not None:
            return self.recounted(noisy_count, find(self.method).divide)
        method = choose(self.request, max(noisy_count, 1), self.cost(REST))
        return replace(self.recounted(noisy_count, method.divide), method=method.name)

    def with_size(self, size: int) -> Plan:
        """Return the plan for data of this public size; steps that were fixed stay as they are."""
        if self.n is not None:
            return replace(self, n=size)
        return replace(self._for(self.request, size), reading=self.reading)

    def for_size(self, size: int) -> Plan:
        """Return the plan that would have been made for data of this size."""
        return replace(self, n=None).with_size(size)

    @property
    def prediction(self) -> Prediction:
        """What the method promises."""
        return find(self.method).predict(self)

    @property
    def rmse(self) -> float | tuple[float, ...] | None:
        """The root mean squared error, from the tail's scale; None without one.

        For one column it is a bound. For several there is one number for each, if every scale was
        told: what ``relative_rmse`` is in these scales.
        """
        return self.prediction.rmse

    @property
    def relative_rmse(self) -> float | None:
        """The root mean squared error of a column, in standard deviations of the reference data.

        The reference is a lognormal law with sigma = 1, a usual shape of charges and claims, in
        independent columns; None if n is unknown.
        """
        return self.prediction.relative_rmse

    def half_width(self, confidence: float = 0.95, *, distribution: str = WORST) -> float | None:
        """The expected half-width of the interval that ``low`` and ``high`` will show.

        With ``Bounded`` it is that of the worst distribution within the bounds, half of the records
        at each end, or with ``distribution="reference"`` that of uniform records. With a ``Moment``
        it is for records with that moment. Without a tail, and for columns with joint clipping, it
        is in standard deviations of the reference distribution, lognormal with sigma = 1. It is
        infinite if no signal above the noise is expected, and None if n is unknown or columns that
        are estimated one by one have a tail in part only.

        >>> import tametail as tt
        >>> plan = tt.plan(n=10_000, epsilon=1, tail=tt.Bounded(0, 120))
        >>> plan.half_width(0.95) > plan.half_width(0.95, distribution="reference") > 0.5
        True
        """
        one_of((WORST, REFERENCE), distribution=distribution)
        return self.prediction.half_width(probability(confidence=confidence), distribution)

    @property
    def advice(self) -> tuple[str, ...]:
        """What would help, if the plan expects trouble; ``notes`` has it as notes."""
        return tuple(note.text for note in self.notes)

    @property
    def notes(self) -> tuple[Note, ...]:
        """The notes that a release of this plan would carry, as public numbers tell."""
        return (*weak_budget(self.budget, self.adjacency), *self.prediction.notes)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the predicted error against n, with what no algorithm can beat below it."""
        from tametail.plots import plot_plan

        return plot_plan(self, self.curve(), ax)

    def curve(self, steps: int = 4) -> Curve:
        """Return what a picture of the plan shows, with so many points in a factor of ten."""
        from tametail.pictures.planning import curve_of

        return curve_of(self, lambda size: self.for_size(size).prediction, steps)

    def __str__(self) -> str:
        from tametail.show.plan import describe_plan

        reasons = find(self.method).reasons(self)
        reasons = (*reasons, *([self.reading] if self.reading else []))
        return describe_plan(self, self.prediction, reasons)

    def __repr__(self) -> str:
        size = "unknown" if self.n is None else f"{self.n:,}"
        return f"<Plan: {self.method}, n = {size}, {self.budget}, {self.adjacency}>"

    def _repr_html_(self) -> str:
        from tametail.report.cells import plan_cell

        return plan_cell(self, self.prediction, None if self.n is None else self.curve())

    @classmethod
    def from_dict(cls, record: Json) -> Plan:
        """Undo :meth:`to_dict`; a plan that was changed to cost more than its budget is refused."""
        if not isinstance(record, dict) or "format" not in record:
            raise ParameterError(_REFUSAL)
        if not isinstance(record["format"], int) or record["format"] != FORMAT:
            raise ParameterError(_OTHER.format(shown(record["format"])))
        try:
            steps = [
                Step(step["name"], Budget.from_dict(step["cost"]), step["round"])
                for step in record["steps"]
            ]
            n = None if record["n"] is None else count(n=record["n"])
            request, said = Request.from_dict(record["request"]), record.get("reading")
            reading = None if said is None else str(said)[:_LONGEST_READING]
            made = cls(request, n, record["method"], tuple(steps), reading)
        except TametailError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise not_as_written(_REFUSAL, error) from None
        made._check_steps()
        return made

    def to_json(self, indent: int | None = None) -> str:
        """Return the plan as JSON; :meth:`from_json` gives it back."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Undo :meth:`to_json`."""
        return cls.from_dict(read_json(text, _REFUSAL))

    def _check_steps(self) -> None:
        """Refuse steps that are not the method's, or cost more than the budget together."""
        method = find(self.method)
        names: tuple[tuple[str, int], ...] = ((COUNT, 1), (REST, 1))
        if self.n is not None or method.counts_itself:  # perhaps a private count
            names = names[:1] * self.has(COUNT) + method.names(self.request)
        groups = self.request.groups
        names = ((KEYS, 1),) * (groups is not None and groups.keys is None) + names
        # Beside a private count the whole is in the definition of the method expected first.
        first = choose(self.request, None, self.budget) if self.has(COUNT) else method
        definition = type(paid_in(self.budget, first.definition))
        if [(step.name, step.round) for step in self.steps] != list(names) or not all(
            isinstance(step.cost, Approx if step.name == KEYS else definition)
            for step in self.steps
        ):
            words = [name for name, _ in names]
            raise ParameterError(f"The steps of the plan were changed. They must be {words}.")
        if any(step.cost.strength < _LEAST_STEP for step in self.steps):
            raise ParameterError("A step of the plan has almost no budget. Give it more.")
        if not fits(self.spending, self.budget.spendable()):
            raise BudgetError(
                f"The steps of the plan cost {self.spending}, which exceeds its budget of "
                f"{self.budget}."
            )
