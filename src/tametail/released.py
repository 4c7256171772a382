"""A release as plain data: rows, guarantee and plan, with what words and pictures show of it.

:class:`tametail.release.Release` is what people get: it prints, draws and reads itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from tametail._json import Json
from tametail.grouping import Groups
from tametail.issued import Issued
from tametail.means import Interval, Mean, Parts, plain
from tametail.notes import Note
from tametail.plans import PricedRequest
from tametail.privacy.budget import Guarantee, noise_for
from tametail.recorded import FORMAT, TOP
from tametail.statistic import SUM
from tametail.tables import cells_of

Kind = TypeVar("Kind")
Clip = tuple[float, float] | None


@dataclass(frozen=True, slots=True, eq=False)
class Released:
    """Rows of means, the guarantee and the plan under which they came out."""

    means: tuple[Mean, ...]
    guarantee: Guarantee
    plan: PricedRequest
    method: str
    shared_notes: tuple[Note, ...] = ()
    answers: tuple[object, ...] = field(default=(), repr=False)
    library: str | None = field(default=None, repr=False)
    receipt: dict[str, str] | None = None
    issued: Issued | None = None
    is_stored: bool = field(default=False, repr=False)
    """Whether a ledger had it: then no data were read for it and nothing was spent."""

    def __len__(self) -> int:
        return len(self.means)

    def __iter__(self) -> Iterator[Mean]:
        return iter(self.means)

    @property
    def fake(self) -> bool:
        """Whether :mod:`tametail.testing` made it up: then no data were read."""
        return self.plan.request.fake

    @property
    def groups(self) -> Groups | None:
        """What was asked about groups; None if the rows are none."""
        return self.plan.request.groups

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in the order of the rows."""
        return tuple(row.column for row in self.means)

    @property
    def confidence(self) -> float | None:
        """The probability with which the intervals hold, all of them at once."""
        has_ends = bool(self.means) and self.means[0].low is not None
        return self.plan.confidence if has_ends else None

    @property
    def interval_target(self) -> str | tuple[str | None, ...] | None:
        """What the first interval covers, such as "mean"; a tuple if rows differ."""
        found = tuple(row.interval_target for row in self.means)
        return found[0] if len(set(found)) == 1 else found

    @property
    def error_components(self) -> Parts | tuple[Parts, ...]:
        """What the first interval is made of."""
        return _each([row.error_components for row in self.means])

    @property
    def clip(self) -> Clip | tuple[Clip, ...]:
        """The private clipping bounds."""
        return _each([row.clip for row in self.means])

    @property
    def assumption_contradicted(self) -> bool | tuple[bool | None, ...] | None:
        """Whether private answers contradict what was assumed; None where nothing was."""
        return _each([row.assumption_contradicted for row in self.means])

    @property
    def share_used(self) -> float | tuple[float | None, ...] | None:
        """The part of the cells that were numbers, as private counts say; None if not asked."""
        return _each([row.share_used for row in self.means])

    @property
    def intervals(self) -> tuple[Interval, ...] | tuple[tuple[Interval, ...], ...]:
        """All intervals, each with what it describes; the first one has ``low`` and ``high``."""
        found = tuple(row.intervals for row in self.means)
        return found[0] if len(found) == 1 else found

    @property
    def usable(self) -> bool | tuple[bool, ...]:
        """Whether the value says anything; texts withhold one that does not. One for each row.

        ``value`` is in any case what follows from the noisy answers.
        """
        return _each([row.usable for row in self.means])

    @property
    def has_warnings(self) -> bool:
        """Whether a note is a warning, so that value or interval may mislead."""
        return any(note.kind == "warning" for note in self.notes)

    @property
    def notes(self) -> tuple[Note, ...]:
        """All notes on the release and its rows, without repetition."""
        own = (note for row in self.means for note in row.notes)
        return tuple(dict.fromkeys([*self.shared_notes, *own]))

    def to_dict(self) -> Json:
        """Return plain values, ready for JSON; infinities are strings.

        The keys at the top are those of a single mean; with several rows they hold lists.
        """
        rows = [row.to_dict() for row in self.means]
        one = len(rows) == 1
        top = {key: rows[0][key] if one else [row[key] for row in rows] for key in TOP}
        interval_target = self.interval_target
        marked = {"fake": True} if self.fake else {}
        return (
            marked
            | top
            | {
                "interval_target": list(interval_target)
                if isinstance(interval_target, tuple)
                else interval_target,
                "confidence": self.confidence,
                "epsilon": self.guarantee.epsilon,
                "delta": self.guarantee.delta,
                "rho": self.guarantee.rho,
                "neighbors": self.guarantee.protects.value,
                "person": self.guarantee.protects.person,
                "method": self.method,
                "guarantee": str(self.guarantee),
                "columns": list(self.columns),
                "notes": [note.to_dict() for note in self.notes],
                "format": FORMAT,
                "rows": rows,
                "shared_notes": [note.to_dict() for note in self.shared_notes],
                "plan": self.plan.to_dict(),
                "answers": plain(self.answers),
                "ledger": self.receipt,
                "issued": None if self.issued is None else self.issued.to_dict(),
            }
        )

    def to_json(self, indent: int | None = None) -> str:
        """Return :meth:`to_dict` as JSON; :meth:`from_json` gives the release back."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    @property
    def count_noise(self) -> float:
        """The error of the numbers of persons and of what was summed, at 95%.

        They come from the first query, which is cheap; 0 where there was none.
        """
        person, statistic = self.plan.adjacency.person, self.plan.request.statistic
        step = next(filter(self.plan.has, ("count", "size", "sizes")), None)
        if step is None or (person is None and statistic != SUM):
            return 0.0
        return noise_for(self.plan.cost(step), 1, 1).quantile(0.05)

    def cells(self) -> dict[str, list[object]]:
        """Return the columns of the frame that :meth:`to_frame` makes, as lists."""
        persons = self.plan.adjacency.person is not None
        several = self.plan.n_columns > 1
        return cells_of(
            self.means, self.groups, self.shared_notes, several=several, persons=persons,
            noise=self.count_noise,
        )  # fmt: skip


def _each(values: list[Kind]) -> Kind | tuple[Kind, ...]:
    return values[0] if len(values) == 1 else tuple(values)
