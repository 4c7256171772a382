"""A plan: everything that is decided before any record is read.

It is made from public numbers alone, prints itself, goes to JSON and back, and predicts the
error of the release that follows it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tametail._validate import count, one_of, probability
from tametail.errors import ParameterError
from tametail.methods.winsorised import predict as prediction
from tametail.methods.winsorised.shares import COUNT_SHARE, NEW_CENTRE, shares, spread_share
from tametail.privacy.budget import Approx, Budget, Pure
from tametail.privacy.unit import Unit
from tametail.steps import Step, Stepped
from tametail.tail import Bounded, Tail, parse_tail, parse_within, tail_from_dict

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: What each step is for, in the words of the printed plan.
PURPOSES = {
    "count": "roughly how many records there are",
    "centre": "a private median",
    "tail": "how the records spread around it, by octaves",
    "spread": "second moment of the clipped records, for the interval",
    "sum": "sum and count of the clipped records",
    "rest": "the other steps; their shares follow from the count",
}

#: More records than anyone has.
MOST_RECORDS = 10**15

#: Weaker budgets cannot answer anything: a billion records would still be below the noise.
LEAST_STRENGTH = 1e-6

#: Stronger budgets protect nothing.
GREATEST_STRENGTH = 1e6


@dataclass(frozen=True, slots=True)
class Plan(Stepped):
    """How a mean will be released.

    ``n`` is the public number of records (replace-one) or the caller's guess (add-remove). If it
    is None, a small private count comes first, and :meth:`with_count` fixes the other steps.

    >>> import tametail as tt
    >>> plan = tt.plan(n=10_000, epsilon=1, unit="replace-one", confidence=None)
    >>> [step.name for step in plan.steps]
    ['centre', 'tail', 'sum']
    >>> Plan.from_json(plan.to_json()) == plan
    True
    """

    budget: Budget
    unit: Unit
    n: int | None
    tail: Tail
    within: tuple[float, float]
    missing: str
    confidence: float | None
    target: str
    steps: tuple[Step, ...]
    method: str = "winsorised mean"

    @classmethod
    def parse(
        cls,
        *,
        budget: Budget,
        unit: Any,
        n: Any,
        tail: Any,
        within: Any,
        missing: Any,
        confidence: Any,
        target: Any,
    ) -> Plan:
        """Check the public arguments of a request, and plan it."""
        check_strength(budget)
        made = cls.make(
            budget=budget,
            unit=Unit.parse(unit),
            n=None if n is None else _size(n),
            tail=parse_tail(tail),
            within=parse_within(within),
            missing=one_of(("skip", "none"), missing=missing),
            confidence=None if confidence is None else probability(confidence=confidence),
            target=one_of(("population", "data"), target=target),
        )
        low, high = made.possible
        if low > high:
            raise ParameterError(
                f"within={within!r} and tail={tail!r} exclude each other: a mean lies between the "
                "bounds of its records."
            )
        return made

    @classmethod
    def make(
        cls,
        *,
        budget: Budget,
        unit: Unit,
        n: int | None,
        tail: Tail,
        within: tuple[float, float],
        missing: str,
        confidence: float | None,
        target: str,
    ) -> Plan:
        """Divide the budget between the steps, so that the predicted error is small."""
        # Approximate DP in one dimension: pure composition is the better one for the same epsilon.
        whole = Pure(budget.epsilon) if isinstance(budget, Approx) else budget
        if n is None:
            first, rest = whole.split(COUNT_SHARE, 1 - COUNT_SHARE)
            steps: tuple[Step, ...] = (Step("count", first), Step("rest", rest))
        else:
            needs_spread = confidence is not None and target == "population"
            steps = _divide(whole, unit, n, needs_spread=needs_spread)
        return cls(budget, unit, n, tail, within, missing, confidence, target, steps)

    def with_count(self, noisy_count: int) -> Plan:
        """Return the plan for the other steps, once the private count is known."""
        return self._again(self.cost("rest"), max(noisy_count, 1))

    def with_size(self, size: int) -> Plan:
        """Return the plan for data of this public size; steps that were fixed stay as they are."""
        return self._again(self.budget, size) if self.n is None else replace(self, n=size)

    def with_new_centre(self) -> Plan:
        """Return the plan that divides the sum's budget anew, if the centre was misplaced."""
        costs = self.cost("sum").split(*NEW_CENTRE.values())
        anew = dict(zip(NEW_CENTRE, costs, strict=True))
        return replace(
            self,
            steps=tuple(Step(step.name, anew.get(step.name, step.cost)) for step in self.steps),
        )

    def _again(self, budget: Budget, n: int) -> Plan:
        return Plan.make(
            budget=budget,
            unit=self.unit,
            n=n,
            tail=self.tail,
            within=self.within,
            missing=self.missing,
            confidence=self.confidence,
            target=self.target,
        )

    @property
    def possible(self) -> tuple[float, float]:
        """Where the mean can be, by ``within`` and by bounds on the records."""
        low, high = self.within
        if isinstance(self.tail, Bounded):
            return max(low, self.tail.low), min(high, self.tail.high)
        return low, high

    @property
    def passes(self) -> int:
        """How often a file or a Spark frame is read: once for count and sample, once for distances.

        Nothing else reads the data: sum, spread and a second look come out of the distances. Only
        the public number of rows, under replace-one, takes one more pass over a CSV file, and a
        centre that has to be looked for again takes two.
        """
        return 2

    @property
    def rmse(self) -> float | None:
        """A bound on the root mean squared error, from the tail's scale; None without one."""
        return prediction.rmse(self)

    @property
    def relative_rmse(self) -> float | None:
        """The root mean squared error in standard deviations of the reference law.

        The reference is a lognormal law with sigma = 1, a usual shape of charges and claims.
        """
        return prediction.reference_rmse(self)

    def half_width(self, confidence: float = 0.95) -> float | None:
        """The interval's expected half-width, from the tail's scale.

        Without a scale it is in standard deviations of the reference law.
        """
        return prediction.half_width(self, probability(confidence=confidence))

    @property
    def advice(self) -> tuple[str, ...]:
        """What would help, if the plan expects trouble."""
        return prediction.advice(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the predicted error against n, with what no algorithm can beat below it."""
        from tametail.plots import plot_plan

        return plot_plan(self, ax)

    def __str__(self) -> str:
        size = "unknown" if self.n is None else f"{self.n:,}"
        lines = [f"{self.method}, n = {size}, {self.budget}, {self.unit}"]
        for step in self.steps:
            part = step.cost.values()[0] / self.budget.values()[0]
            lines.append(f"  {step.name:<7} {100 * part:5.1f}%  {PURPOSES[step.name]}")
        if self.rmse is not None:
            lines.append(f"  root mean squared error at most {self.rmse:.4g}")
        if self.relative_rmse is not None:
            lines.append(
                f"  error about {self.relative_rmse:.3g} standard deviations "
                "(if the records were lognormal with sigma 1)"
            )
        return "\n".join([*lines, *(f"  advice: {text}" for text in self.advice)])

    def _request(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "budget": self.budget.to_dict(),
            "unit": self.unit.value,
            "n": self.n,
            "tail": None if self.tail is None else self.tail.to_dict(),
            "within": [str(end) for end in self.within],
            "missing": self.missing,
            "confidence": self.confidence,
            "target": self.target,
        }

    @classmethod
    def _planned(cls, record: dict[str, Any]) -> Plan:
        return cls.parse(
            budget=Budget.from_dict(record["budget"]),
            unit=record["unit"],
            n=record["n"],
            tail=tail_from_dict(record["tail"]),
            within=tuple(map(float, record["within"])),
            missing=record["missing"],
            confidence=record["confidence"],
            target=record["target"],
        )

    def _with_steps(self, steps: tuple[Step, ...]) -> Plan:
        return replace(self, steps=steps)


def check_strength(budget: Budget) -> None:
    """Refuse a budget that cannot answer anything, or protects nothing."""
    if not LEAST_STRENGTH <= budget.strength <= GREATEST_STRENGTH:
        weak = budget.strength < LEAST_STRENGTH
        raise ParameterError(
            f"{budget} is too {'small to answer anything' if weak else 'large to protect anything'}"
            f": write epsilon (or sqrt(2 rho)) between {LEAST_STRENGTH:g} and "
            f"{GREATEST_STRENGTH:g}; 0.01 to 10 is usual."
        )


def _size(n: Any) -> int:
    size = count(n=n)
    if size > MOST_RECORDS:
        raise ParameterError(f"n={n!r} is beyond any data: write n <= {MOST_RECORDS:g}.")
    return size


def _divide(budget: Budget, unit: Unit, n: int, *, needs_spread: bool) -> tuple[Step, ...]:
    parts = shares(budget, unit, n)
    if needs_spread:
        spread = spread_share(budget, n)
        parts = {name: share * (1 - spread) for name, share in parts.items()}
        parts["spread"] = spread
    return tuple(
        Step(name, cost) for name, cost in zip(parts, budget.split(*parts.values()), strict=True)
    )
