"""A plan: everything that is decided before any record is read.

It is made from public numbers alone, prints itself, goes to JSON and back, and predicts the
error of the release that follows it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from tametail.budget import Approx, Budget, Pure, compose, fits
from tametail.errors import BudgetError, ParameterError
from tametail.estimators import prediction
from tametail.estimators.shares import COUNT_SHARE, SPREAD_SHARE, shares
from tametail.tail import Bounded, Tail, tail_from_dict
from tametail.unit import Unit

#: What each step is for, in the words of the printed plan.
PURPOSES = {
    "count": "roughly how many records there are",
    "centre": "a private median",
    "tail": "how the records spread around it, by octaves",
    "spread": "second moment of the clipped records, for the interval",
    "sum": "sum and count of the clipped records",
    "rest": "the other steps; their shares follow from the count",
}

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Step:
    """One question to the data and what it costs."""

    name: str
    cost: Budget


@dataclass(frozen=True, slots=True)
class Plan:
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
        if n is None:
            count, rest = budget.split(COUNT_SHARE, 1 - COUNT_SHARE)
            steps: tuple[Step, ...] = (Step("count", count), Step("rest", rest))
        else:
            needs_spread = confidence is not None and target == "population"
            steps = _divide(budget, n, needs_spread=needs_spread)
        return cls(budget, unit, n, tail, within, missing, confidence, target, steps)

    def with_count(self, noisy_count: int) -> Plan:
        """Return the plan for the other steps, once the private count is known."""
        return self._again(self.cost("rest"), max(noisy_count, 1))

    def with_size(self, size: int) -> Plan:
        """Return the plan for data of this public size; steps that were fixed stay as they are."""
        return self._again(self.budget, size) if self.n is None else replace(self, n=size)

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

    def cost(self, name: str) -> Budget:
        """Return what the step called ``name`` may spend."""
        return next(step.cost for step in self.steps if step.name == name)

    def has(self, name: str) -> bool:
        """Say whether there is a step called ``name``."""
        return any(step.name == name for step in self.steps)

    @property
    def possible(self) -> tuple[float, float]:
        """Where the mean can be, by ``within`` and by bounds on the records."""
        low, high = self.within
        if isinstance(self.tail, Bounded):
            return max(low, self.tail.low), min(high, self.tail.high)
        return low, high

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
        return prediction.half_width(self, confidence)

    @property
    def advice(self) -> tuple[str, ...]:
        """What would help, if the plan expects trouble."""
        return prediction.advice(self)

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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "format": _FORMAT,
            "method": self.method,
            "budget": self.budget.to_dict(),
            "unit": self.unit.value,
            "n": self.n,
            "tail": None if self.tail is None else self.tail.to_dict(),
            "within": [str(end) for end in self.within],
            "missing": self.missing,
            "confidence": self.confidence,
            "target": self.target,
            "steps": [{"name": step.name, "cost": step.cost.to_dict()} for step in self.steps],
        }

    def to_json(self, indent: int | None = None) -> str:
        """Return the plan as JSON; :meth:`from_json` gives it back."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Plan:
        """Undo :meth:`to_dict`; a plan whose steps cost more than its budget is refused."""
        if not isinstance(record, dict) or record.get("format") != _FORMAT:
            raise ParameterError("this is not a plan: write what Plan.to_json() or to_dict() gave.")
        plan = cls(
            budget=Budget.from_dict(record["budget"]),
            unit=Unit.parse(record["unit"]),
            n=record["n"],
            tail=tail_from_dict(record["tail"]),
            within=(float(record["within"][0]), float(record["within"][1])),
            missing=record["missing"],
            confidence=record["confidence"],
            target=record["target"],
            steps=tuple(
                Step(step["name"], Budget.from_dict(step["cost"])) for step in record["steps"]
            ),
            method=record["method"],
        )
        delta = plan.budget.delta if isinstance(plan.budget, Approx) else None
        total = compose([step.cost for step in plan.steps], type(plan.budget), delta)
        if total is None or not fits(total, plan.budget):
            raise BudgetError(f"the steps of the plan cost {total}, beyond its {plan.budget}.")
        return plan

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Undo :meth:`to_json`."""
        return cls.from_dict(json.loads(text))


def _divide(budget: Budget, n: int, *, needs_spread: bool) -> tuple[Step, ...]:
    centre, tail, total = shares(budget, n)
    parts = {"centre": centre, "tail": tail, "sum": total}
    if needs_spread:
        keep = 1 - SPREAD_SHARE
        parts = {"centre": centre * keep, "tail": tail * keep, "spread": SPREAD_SHARE}
        parts["sum"] = 1 - sum(parts.values())
    # Approximate DP in one dimension: pure composition is the better one for the same epsilon.
    whole = Pure(budget.epsilon) if isinstance(budget, Approx) else budget
    return tuple(
        Step(name, cost) for name, cost in zip(parts, whole.split(*parts.values()), strict=True)
    )
