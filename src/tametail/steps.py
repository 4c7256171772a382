"""What all plans share: named steps with costs, their sum, and the way to JSON and back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Self

from tametail.errors import BudgetError, InternalError, ParameterError, TametailError
from tametail.privacy.budget import Approx, Budget, Pure, compose, fits

#: Format of the JSON text.
_FORMAT = 1

#: Noise for a step that may spend less than this does not fit in 64 bits.
_LEAST_STEP = 1e-9


@dataclass(frozen=True, slots=True)
class Step:
    """One question to the data and what it costs."""

    name: str
    cost: Budget


class Stepped:
    """A plan that consists of steps."""

    __slots__ = ()

    budget: Budget
    steps: tuple[Step, ...]

    def cost(self, name: str) -> Budget:
        """Return what the step called ``name`` may spend."""
        return next(step.cost for step in self.steps if step.name == name)

    def has(self, name: str) -> bool:
        """Say whether there is a step called ``name``."""
        return any(step.name == name for step in self.steps)

    @property
    def spending(self) -> Budget:
        """What all steps cost together; a release states it, whichever way its answers went."""
        costs = [step.cost for step in self.steps]
        total = compose(costs, type(costs[0]))
        if total is None:
            raise InternalError("a plan without a step")
        return total

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        steps = [{"name": step.name, "cost": step.cost.to_dict()} for step in self.steps]
        return {"format": _FORMAT, **self._request(), "steps": steps}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Self:
        """Undo :meth:`to_dict`; a plan that was changed to cost more than its budget is refused."""
        if not isinstance(record, dict) or record.get("format") != _FORMAT:
            raise ParameterError(cls._refusal())
        try:
            made = cls._planned(record)
            steps = [Step(step["name"], Budget.from_dict(step["cost"])) for step in record["steps"]]
        except TametailError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            text = f"{cls._refusal()} {error} is missing or not as it should be."
            raise ParameterError(text) from None
        made._check_steps(steps)
        return made._with_steps(tuple(steps))

    def to_json(self, indent: int | None = None) -> str:
        """Return the plan as JSON; :meth:`from_json` gives it back."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Undo :meth:`to_json`."""
        try:
            record = json.loads(text)
        except (TypeError, ValueError):
            raise ParameterError(cls._refusal()) from None
        return cls.from_dict(record)

    def _request(self) -> dict[str, Any]:
        """Return what was asked for, as plain values."""
        raise NotImplementedError

    @classmethod
    def _planned(cls, record: dict[str, Any]) -> Self:
        """Plan what a record of :meth:`_request` asks for."""
        raise NotImplementedError

    def _with_steps(self, steps: tuple[Step, ...]) -> Self:
        """Return the same plan with these steps."""
        raise NotImplementedError

    @classmethod
    def _refusal(cls) -> str:
        name = cls.__name__
        return f"this is not a plan: write what {name}.to_json() or {name}.to_dict() gave."

    def _check_steps(self, steps: list[Step]) -> None:
        """Refuse steps that are not this plan's, or that cost more than its budget together."""
        if [_kind(step) for step in steps] != [_kind(step) for step in self.steps]:
            names = [step.name for step in self.steps]
            raise ParameterError(f"the steps of the plan were changed: it has the steps {names}.")
        if any(step.cost.strength < _LEAST_STEP for step in steps):
            raise ParameterError("a step of the plan costs next to nothing: give it more.")
        costs = [step.cost for step in steps]
        delta = self.budget.delta if isinstance(self.budget, Approx) else None
        # Pure steps are stated as such, even if they would fit by way of zCDP.
        kind = Pure if all(isinstance(cost, Pure) for cost in costs) else type(self.budget)
        total = compose(costs, kind, delta if kind is Approx else None)
        if total is None or not fits(total, self.budget):
            raise BudgetError(f"the steps of the plan cost {total}, beyond its {self.budget}.")


def _kind(step: Step) -> tuple[str, type[Budget]]:
    return step.name, type(step.cost)
