"""The plan of a vector mean: everything that is decided before any record is read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tametail._validate import count, one_of, probability
from tametail.errors import ParameterError
from tametail.methods.ball import predict as vector_prediction
from tametail.methods.ball.shares import SPREAD_SHARE, common_shares, shares, working
from tametail.methods.winsorised.shares import COUNT_SHARE
from tametail.planning import check_strength
from tametail.privacy.budget import Budget
from tametail.privacy.unit import Unit
from tametail.steps import Step, Stepped
from tametail.tail import Bounded, Moment, Tail, parse_tail, parse_within, tail_from_dict

Range = tuple[float, float]

#: What each step is for, in the words of the printed plan.
PURPOSES = {
    "count": "roughly how many records there are",
    "centre": "a private median of every column",
    "scale": "beyond which distance from it there are few records",
    "radius": "how long a record is, over all columns",
    "spread": "second moments of the records in the ball, for the intervals",
    "sum": "sum of the records, pulled into the ball",
    "rest": "the other steps; their shares follow from the count",
}

OWN, COMMON = "mean in a weighted ball", "mean in a ball, one scale for all columns"


@dataclass(frozen=True, slots=True)
class VectorPlan(Stepped):
    """How the means of ``dim`` columns will be released together.

    ``common`` is what was asked for. The plan goes over to one common scale by itself if n
    records and the budget cannot pay for a centre and a scale of every column; ``method`` and
    ``advice`` then say so. Only public numbers decide.

    >>> from tametail.privacy.budget import zcdp
    >>> plan = VectorPlan.parse(budget=zcdp(0.5), dim=50, n=1000, unit="replace-one")
    >>> [step.name for step in plan.steps]
    ['centre', 'scale', 'radius', 'spread', 'sum']
    >>> VectorPlan.from_json(plan.to_json()) == plan
    True
    >>> VectorPlan.parse(budget=zcdp(0.5), dim=50, n=100).method
    'mean in a ball, one scale for all columns'
    """

    budget: Budget
    unit: Unit
    n: int | None
    tails: tuple[Tail, ...]
    ranges: tuple[Range, ...]
    missing: str
    confidence: float | None
    target: str
    common: bool
    steps: tuple[Step, ...]
    method: str
    columns: tuple[str, ...] = ()
    """The names of the columns, once data are there; before, their numbers."""

    @classmethod
    def parse(
        cls,
        *,
        budget: Budget,
        dim: Any,
        n: Any = None,
        unit: Any = Unit.ADD_REMOVE,
        tail: Any = None,
        within: Any = None,
        missing: Any = "skip",
        confidence: Any = 0.95,
        target: Any = "population",
        common: Any = False,
    ) -> VectorPlan:
        """Check the public arguments of a request, and plan it."""
        check_strength(budget)
        if count(dim=dim) < 1:
            raise ParameterError(f"dim={dim!r} is not positive: a vector has columns.")
        made = _make(
            budget,
            budget,
            unit=Unit.parse(unit),
            n=None if n is None else count(n=n),
            tails=_for_columns(tail, dim, parse_tail),
            ranges=_for_columns(within, dim, parse_within),
            missing=one_of(("skip", "none"), missing=missing),
            confidence=None if confidence is None else probability(confidence=confidence),
            target=one_of(("population", "data"), target=target),
            common=bool(common),
            columns=tuple(map(str, range(dim))),
        )
        if any(low > high for low, high in made.possible):
            raise ParameterError("within and tail exclude each other in a column.")
        return made

    @property
    def dim(self) -> int:
        """The number of columns."""
        return len(self.tails)

    @property
    def possible(self) -> tuple[Range, ...]:
        """Where the mean of each column can be, by ``within`` and by bounds on its records."""
        return tuple(
            (max(low, tail.low), min(high, tail.high)) if isinstance(tail, Bounded) else (low, high)
            for (low, high), tail in zip(self.ranges, self.tails, strict=True)
        )

    @property
    def scales(self) -> tuple[float, ...] | None:
        """The scales of the columns, if all of them were told by a ``Moment``."""
        found = tuple(tail.scale for tail in self.tails if isinstance(tail, Moment))
        return found if len(found) == self.dim else None

    def with_columns(self, columns: Sequence[str]) -> VectorPlan:
        """Return the plan for columns of these names."""
        return replace(self, columns=tuple(columns))

    def with_count(self, noisy_count: int) -> VectorPlan:
        """Return the plan for the other steps, once the private count is known."""
        return self._again(self.cost("rest"), max(noisy_count, 1))

    def with_size(self, size: int) -> VectorPlan:
        """Return the plan for data of this public size; steps that were fixed stay as they are."""
        return self._again(self.budget, size) if self.n is None else replace(self, n=size)

    def _again(self, spend: Budget, n: int) -> VectorPlan:
        names = (*_SHARED, "unit", "tails", "ranges", "columns")
        return _make(self.budget, spend, n=n, **{name: getattr(self, name) for name in names})

    @property
    def relative_rmse(self) -> float | None:
        """The root mean squared error of a column, in standard deviations of the reference law.

        The reference has independent columns, all lognormal with sigma = 1; None if n is unknown.
        """
        return vector_prediction.reference_rmse(self)

    @property
    def rmse(self) -> tuple[float, ...] | None:
        """What ``relative_rmse`` is in the scales that were told; None if one was not."""
        relative = self.relative_rmse
        if self.scales is None or relative is None:
            return None
        return tuple(relative * scale for scale in self.scales)

    def half_width(self, confidence: float = 0.95) -> float | None:
        """The expected half-width of the intervals, in standard deviations of the reference law."""
        return vector_prediction.half_width(self, probability(confidence=confidence))

    @property
    def advice(self) -> tuple[str, ...]:
        """What the plan had to give up, and what would help."""
        texts = []
        if self.method == COMMON and not self.common:
            texts.append(
                f"{self.n} records and this budget cannot pay for a centre and a scale of each of "
                f"{self.dim} columns, so all share the centre 0 and one scale: columns of small "
                "numbers drown in the noise of large ones. More records or budget, fewer columns, "
                "within= and tail=Moment(2, scale) for every column, or columns in one unit help"
            )
        if (self.relative_rmse or 0.0) > 1:
            texts.append(
                "the error is expected to exceed the standard deviation of the records: more "
                "records, more budget or fewer columns help"
            )
        return tuple(texts)

    def __str__(self) -> str:
        size = "unknown" if self.n is None else f"{self.n:,}"
        lines = [f"{self.method}, {self.dim} columns, n = {size}, {self.budget}, {self.unit}"]
        whole = working(self.budget).values()[0]
        for step in self.steps:
            part = 100 * step.cost.values()[0] / whole
            lines.append(f"  {step.name:<8} {part:5.1f}%  {PURPOSES[step.name.split()[0]]}")
        if self.relative_rmse is not None:
            lines.append(
                f"  error about {self.relative_rmse:.3g} standard deviations in every column "
                "(if all were independent and lognormal with sigma 1)"
            )
        return "\n".join([*lines, *(f"  advice: {text}" for text in self.advice)])

    def _request(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "dim": self.dim,
            "columns": list(self.columns),
            "budget": self.budget.to_dict(),
            "unit": self.unit.value,
            "n": self.n,
            "tail": [None if tail is None else tail.to_dict() for tail in self.tails],
            "within": [[str(low), str(high)] for low, high in self.ranges],
            **{name: getattr(self, name) for name in _SHARED},
        }

    @classmethod
    def _planned(cls, record: dict[str, Any]) -> VectorPlan:
        made = cls.parse(
            budget=Budget.from_dict(record["budget"]),
            tail=[tail_from_dict(tail) for tail in record["tail"]],
            within=[(float(low), float(high)) for low, high in record["within"]],
            **{name: record[name] for name in (*_SHARED, "dim", "n", "unit")},
        )
        names = [str(name) for name in record["columns"]]
        return made.with_columns(names) if len(names) == made.dim else made

    def _with_steps(self, steps: tuple[Step, ...]) -> VectorPlan:
        return replace(self, steps=steps)


#: What a plan, its JSON and a request call by the same name.
_SHARED = ("missing", "confidence", "target", "common")


def _for_columns(value: Any, dim: int, parse: Any) -> tuple[Any, ...]:
    """Parse one value for all columns, or a list with one for each."""
    if not isinstance(value, list):
        return (parse(value),) * dim
    if len(value) != dim:
        raise ParameterError(
            f"{value!r} has {len(value)} entries for {dim} columns: write one for all, or a list "
            "with one for each."
        )
    return tuple(map(parse, value))


def _make(budget: Budget, spend: Budget, *, n: int | None, **rest: Any) -> VectorPlan:
    """Divide what may be spent between the steps; ``budget`` is the plan's own."""
    whole = working(spend)
    if n is None:
        first, left = whole.split(COUNT_SHARE, 1 - COUNT_SHARE)
        steps: tuple[Step, ...] = (Step("count", first), Step("rest", left))
        method = COMMON if rest["common"] else OWN
        return VectorPlan(budget=budget, n=n, steps=steps, method=method, **rest)
    parts = None
    if not rest["common"]:
        tails: Sequence[Tail] = rest["tails"]
        ends = [end for limits in rest["ranges"] for end in limits]
        parts = shares(
            whole,
            n,
            len(tails),
            scale_known=all(isinstance(tail, Moment) for tail in tails),
            ranges_known=all(map(math.isfinite, ends)),
        )
    method = COMMON if parts is None else OWN
    parts = common_shares(whole, n) if parts is None else parts
    if rest["confidence"] is not None and rest["target"] == "population":
        last = list(parts)[-1]
        parts = {name: part * (1 - SPREAD_SHARE) for name, part in parts.items()}
        final = parts.pop(last)
        parts = parts | {"spread": SPREAD_SHARE, last: final}
    costs = whole.split(*parts.values())
    steps = tuple(Step(name, cost) for name, cost in zip(parts, costs, strict=True))
    return VectorPlan(budget=budget, n=n, steps=steps, method=method, **rest)
