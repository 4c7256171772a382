"""A release: the value, its interval, and the guarantee under which they may be published."""

from __future__ import annotations

import html
import json
import math
from dataclasses import FrozenInstanceError, dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from tametail.privacy.budget import Guarantee

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tametail.planning import Plan

Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval for a mean, and what its half-width is made of.

    ``parts`` has the half-widths due to sampling, privacy noise, truncation and rounding; they
    add up to the larger side of the interval.
    """

    low: float
    high: float
    confidence: float
    describes: str
    parts: dict[str, float]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What an estimator concludes from the answers alone."""

    value: float
    interval: Interval | None = None
    clip: tuple[float, float] | None = None
    assumption_doubtful: bool | None = None
    notes: tuple[str, ...] = ()


def sealed(kind: type[Kind]) -> type[Kind]:
    """Make a class refuse every assignment to its instances with AttributeError.

    In Python 3.11 a frozen dataclass with slots raises TypeError for a name that is no field. That
    matters to OpenDP, which tries to hang the arguments of a call, so the records, on its output.
    """

    def refuse(_self: Kind, name: str, _value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to {name!r}: a release never changes")

    kind.__setattr__ = refuse  # type: ignore[assignment]
    return kind


@sealed
@dataclass(frozen=True, slots=True)
class Release:
    """A private mean. Everything here is a function of public numbers and noisy answers.

    Attributes
    ----------
    value
        The estimate.
    low
        The lower end of the interval; None with ``confidence=None``.
    high
        The upper end of the interval; None with ``confidence=None``.
    interval_for
        What the interval covers with probability ``confidence``: "mean" or "winsorised mean".
    guarantee
        What was spent, computed from the asks, with its unit of protection.
    plan
        The public plan that this release followed.
    clip
        The private clip points: records beyond them counted as if they were there.
    assumption_doubtful
        True if the private counts contradict the tail that was assumed; None without one.
    answers
        The noisy answers, in order: ``replay(plan, answers)`` gives this release again.
    """

    value: float
    low: float | None
    high: float | None
    interval_for: str | None
    confidence: float | None
    guarantee: Guarantee
    plan: Plan
    parts: dict[str, float] | None = None
    clip: tuple[float, float] | None = None
    assumption_doubtful: bool | None = None
    notes: tuple[str, ...] = ()
    answers: tuple[Any, ...] = field(default=(), repr=False)

    @classmethod
    def of(
        cls, estimate: Estimate, guarantee: Guarantee, plan: Plan, answers: tuple[Any, ...]
    ) -> Release:
        """Join an estimate with what it cost."""
        interval = estimate.interval
        return cls(
            value=estimate.value,
            low=interval.low if interval else None,
            high=interval.high if interval else None,
            interval_for=interval.describes if interval else None,
            confidence=interval.confidence if interval else None,
            guarantee=guarantee,
            plan=plan,
            parts=dict(interval.parts) if interval else None,
            clip=estimate.clip,
            assumption_doubtful=estimate.assumption_doubtful,
            notes=estimate.notes,
            answers=answers,
        )

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"mean {self._summary()}; {self.guarantee}"

    def _summary(self) -> str:
        if self.low is None or self.high is None or self.confidence is None:
            return f"{self.value:.6g}"
        text = (
            f"{self.value:.6g} ({100 * self.confidence:g}% interval {self.low:.6g} to "
            f"{self.high:.6g}"
        )
        return text + (")" if self.interval_for == "mean" else f" for the {self.interval_for})")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; infinities are strings."""
        record = {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "interval_for": self.interval_for,
            "confidence": self.confidence,
            "epsilon": self.guarantee.epsilon,
            "delta": self.guarantee.delta,
            "rho": self.guarantee.rho,
            "unit": self.guarantee.unit.value,
            "method": self.plan.method,
            "guarantee": str(self.guarantee),
            "parts": self.parts,
            "clip": list(self.clip) if self.clip else None,
            "assumption_doubtful": self.assumption_doubtful,
            "notes": list(self.notes),
            "plan": self.plan.to_dict(),
        }
        return {key: _plain(value) for key, value in record.items()}

    def to_json(self, indent: int | None = None) -> str:
        """Return :meth:`to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the value, the interval with its parts, and the guarantee as a caption."""
        from tametail.plots import plot_release

        return plot_release(self, ax)

    def _repr_html_(self) -> str:
        rows = [("mean", self._summary()), ("guarantee", str(self.guarantee))]
        if self.parts:
            shown = ", ".join(f"{name} {size:.3g}" for name, size in self.parts.items())
            rows.append(("half-width is made of", shown))
        if self.clip:
            rows.append(
                ("records beyond these were clipped", f"{self.clip[0]:.6g} to {self.clip[1]:.6g}")
            )
        rows += [("note", note) for note in self.notes]
        cells = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for name, text in rows
        )
        return f"<table>{cells}</table>"


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
