"""A release of several means at once: values, simultaneous intervals, and the guarantee."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tametail.privacy.budget import Guarantee
from tametail.release import _plain as plain
from tametail.release import sealed

if TYPE_CHECKING:
    from tametail.vector_planning import VectorPlan

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class VectorEstimate:
    """What the estimator concludes from the answers alone."""

    value: Floats
    low: Floats | None = None
    high: Floats | None = None
    describes: str | None = None
    notes: tuple[str, ...] = ()


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class VectorRelease:
    """Private means of several columns; a function of public numbers and noisy answers.

    Attributes
    ----------
    columns
        The names of the columns, in the order of the values.
    value
        The means, one number per column.
    low
        The lower ends; None with ``confidence=None``. With probability ``confidence`` *all*
        intervals hold at once.
    high
        The upper ends; None with ``confidence=None``.
    interval_for
        What the intervals are for: "mean" or "winsorised mean".
    guarantee
        What was spent, computed from the asks, with its unit of protection.
    answers
        The noisy answers, in order: ``tametail.replay(plan, answers)`` gives this again.
    """

    columns: tuple[str, ...]
    value: Floats
    low: Floats | None
    high: Floats | None
    interval_for: str | None
    confidence: float | None
    guarantee: Guarantee
    plan: VectorPlan
    notes: tuple[str, ...] = ()
    answers: tuple[Any, ...] = field(default=(), repr=False)

    @classmethod
    def of(
        cls,
        estimate: VectorEstimate,
        columns: tuple[str, ...],
        guarantee: Guarantee,
        plan: VectorPlan,
        answers: tuple[Any, ...],
    ) -> VectorRelease:
        """Join an estimate with what it cost."""
        return cls(
            columns=columns,
            value=estimate.value,
            low=estimate.low,
            high=estimate.high,
            interval_for=estimate.describes,
            confidence=None if estimate.low is None else plan.confidence,
            guarantee=guarantee,
            plan=plan,
            notes=estimate.notes,
            answers=answers,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VectorRelease) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __len__(self) -> int:
        return len(self.columns)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.value, dtype=dtype, copy=copy)

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table as text: a row of the column's name, its mean, and its interval."""
        lows = [None] * len(self) if self.low is None else self.low.tolist()
        highs = [None] * len(self) if self.high is None else self.high.tolist()
        return [
            (name, f"{value:.6g}")
            + (() if low is None or high is None else (f"{low:.6g}", f"{high:.6g}"))
            for name, value, low, high in zip(
                self.columns, self.value.tolist(), lows, highs, strict=True
            )
        ]

    def header(self) -> tuple[str, ...]:
        """Return the titles of :meth:`rows`."""
        if self.confidence is None:
            return "column", "mean"
        return "column", "mean", "low", "high"

    def caption(self) -> str:
        """Return what the intervals are for, and the guarantee."""
        if self.confidence is None:
            return str(self.guarantee)
        return (
            f"{100 * self.confidence:g}% intervals for all columns at once, for the "
            f"{self.interval_for}; {self.guarantee}"
        )

    def __str__(self) -> str:
        table = [self.header(), *self.rows()]
        widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
        lines = []
        for name, *numbers in table:
            right = (cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=True))
            lines.append("  ".join([name.ljust(widths[0]), *right]))
        return "\n".join([*lines, self.caption(), *self.notes])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; infinities are strings."""
        record = {
            "columns": list(self.columns),
            "value": self.value.tolist(),
            "low": None if self.low is None else self.low.tolist(),
            "high": None if self.high is None else self.high.tolist(),
            "interval_for": self.interval_for,
            "confidence": self.confidence,
            "epsilon": self.guarantee.epsilon,
            "delta": self.guarantee.delta,
            "rho": self.guarantee.rho,
            "unit": self.guarantee.unit.value,
            "method": self.plan.method,
            "guarantee": str(self.guarantee),
            "notes": list(self.notes),
            "plan": self.plan.to_dict(),
        }
        return {key: plain(value) for key, value in record.items()}

    def to_json(self, indent: int | None = None) -> str:
        """Return :meth:`to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def _repr_html_(self) -> str:
        def row(cells: tuple[str, ...], tag: str) -> str:
            return "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)

        lines = [row(self.header(), "th"), *(row(cells, "td") for cells in self.rows())]
        body = "".join(f"<tr>{line}</tr>" for line in lines)
        notes = "".join(f"<br>{html.escape(note)}" for note in self.notes)
        caption = f"<caption>{html.escape(self.caption())}{notes}</caption>"
        return f"<table>{caption}{body}</table>"
