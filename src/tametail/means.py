"""The rows of a release: a mean, its intervals and what is to be said about it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import NamedTuple

from tametail._json import Json
from tametail._validate import probability
from tametail.keys import Cell, Key, Label
from tametail.notes import Note, few_numbers
from tametail.shape import Shape
from tametail.statistic import COUNT

Parts = dict[str, float | None] | None

#: A warning is due if a smaller share of the cells than this were numbers: the cells that cannot be
#: read may be the largest ones.
LOW_USE = 0.97

#: From this share of the cells on, all of them count as used, and nothing is said.
FULL_USE = 0.995

#: Below this share of numbers among its cells, a column has no mean worth showing.
_LEAST_USED = 0.05


class Target(NamedTuple):
    """What an interval is for, and what that rests on."""

    target: str
    basis: str
    """``"assumption"``, ``"extrapolated-tail"``, ``"clipped-data"``; ``"none"`` if nothing."""


MEAN = Target("mean", "assumption")
MEAN_AS_SEEN = Target("mean", "extrapolated-tail")
WINSORIZED = Target("clipped mean", "clipped-data")


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval, what it is for, whether that is proved, and what it is made of.

    ``error_components`` are distances, each with the confidence of the release: ``privacy``, what
    privacy changed, that is noise and, in an interval for the mean, the private choice of clipping
    bounds; ``sampling``, what the choice of the records did; ``clipping``, what lies beyond
    the clipping bounds, None if nothing limits that; and ``rounding``. The first two say what is
    likely, so that large ones seldom come together: an interval may be narrower than their sum.
    """

    low: float
    high: float
    target: str
    """What it is for: "mean", "clipped mean", "sum" and the like."""
    basis: str
    """What that rests on (:class:`Target`)."""
    proved: bool
    error_components: dict[str, float | None]
    confidence: float = 0.0

    @property
    def kind(self) -> Target:
        """What it is for and what that rests on, in one."""
        return Target(self.target, self.basis)

    @classmethod
    def from_dict(cls, record: Json) -> Interval:
        """Undo what JSON did to it."""
        parts = {name: _number(size) for name, size in record["error_components"].items()}
        ends = float(record["low"]), float(record["high"])
        words = str(record["target"]), str(record["basis"])
        return cls(*ends, *words, bool(record["proved"]), parts, float(record["confidence"]))


def unknown(
    parts: dict[str, float | None], ends: tuple[float, float] = (-math.inf, math.inf)
) -> Interval:
    """Return the interval where nothing is known of the mean but the ends that it must lie between.

    Nothing is said about the ``parts``, unless they are known: rounding is.

    >>> unknown({"privacy": None, "rounding": 0.5}).low
    -inf
    """
    return Interval(*ends, *MEAN, proved=True, error_components=parts)


def cut(interval: Interval, possible: tuple[float, float]) -> Interval:
    """Cut an interval to where the mean can be, unless nothing would be left of it.

    What contradicts a ``within`` is shown as it is.

    >>> cut(Interval(-1.0, 3.0, *MEAN, True, {}), (0.0, math.inf)).low
    0.0
    """
    low, high = max(interval.low, possible[0]), min(interval.high, possible[1])
    return replace(interval, low=low, high=high) if low < high else interval


def confined(interval: Interval, possible: tuple[float, float]) -> Interval:
    """Cut an interval to where the mean must be; if nothing would be left, that is all it says.

    For records that were clipped there: what lies beyond is noise.

    >>> confined(Interval(-3.0, -1.0, *WINSORIZED, False, {"privacy": 1.0}), (0.0, math.inf))
    Interval(low=0.0, high=inf, target='mean', basis='assumption', proved=True, \
error_components={'privacy': None}, confidence=0.0)
    """
    low, high = max(interval.low, possible[0]), min(interval.high, possible[1])
    if low < high or (low, high) == (interval.low, interval.high):
        return replace(interval, low=low, high=high)
    return replace(
        unknown(dict.fromkeys(interval.error_components), possible), confidence=interval.confidence
    )


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A group's mean drawn towards that of all groups, and its interval."""

    value: float
    low: float | None
    high: float | None

    def inside(self, ends: tuple[float, float]) -> Shrunk:
        """Return the same, cut to where the mean can be.

        >>> Shrunk(0.5, -1.0, 2.0).inside((0.0, math.inf))
        Shrunk(value=0.5, low=0.0, high=2.0)
        """
        value = min(max(self.value, ends[0]), ends[1])
        if self.low is None or self.high is None:
            return Shrunk(value, self.low, self.high)
        return Shrunk(value, max(self.low, ends[0]), min(self.high, ends[1]))


class CellCounts(NamedTuple):
    """How many cells are numbers and how many are none, and how far noise may have moved both."""

    numbers: float
    others: float
    margin: float

    @property
    def used(self) -> float | None:
        """The part of the cells that are numbers; None if all of them may be noise.

        >>> CellCounts(970.0, 30.0, 5.0).used, CellCounts(3.0, -1.0, 5.0).used
        (0.97, None)
        """
        both = self.numbers + self.others
        return min(max(self.numbers / both, 0.0), 1.0) if both > self.margin else None

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is to be said, where noise alone cannot have made the share of numbers so low.

        >>> CellCounts(990.0, 10.0, 2.0).notes[0].kind, CellCounts(950.0, 50.0, 2.0).notes[0].kind
        ('info', 'warning')
        >>> CellCounts(950.0, 50.0, 60.0).notes
        ()
        """
        if self.used is None:
            return ()
        most = (self.numbers + self.margin) / (self.numbers + self.others)
        return () if most >= FULL_USE else (few_numbers(self.used, warn=most < LOW_USE),)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a method concludes about one column from the answers alone.

    ``count`` is the noisy number of records, ``shape`` how they spread; ``persons`` is the noisy
    number of those who have them, where that is another question. Of groups it says more: the
    group, its mean drawn towards the others, and the ``variance`` that this took for its error.
    ``cells`` are the noisy counts of its cells; ``present`` is the number of those that are
    numbers, with its margin, if a method knows only that. ``method`` is the name of the one that a
    private count has chosen in place of the plan's. ``kept`` is the share of the records that are
    in the group of their person, where each person is kept to one.
    """

    value: float
    intervals: tuple[Interval, ...] = ()
    clip: tuple[float, float] | None = None
    assumption_contradicted: bool | None = None
    notes: tuple[Note, ...] = ()
    group: Label | None = None
    count: float | None = None
    shrunk: Shrunk | None = None
    variance: float | None = None
    cells: CellCounts | None = None
    present: tuple[float, float] | None = None
    shape: Shape | None = None
    persons: float | None = None
    method: str | None = None
    kept: float | None = None
    statistic: str = "mean"
    level: float | None = None
    name: str | None = None
    """What the row is called, if that is not its column: the intercept of a regression."""

    @property
    def interval(self) -> Interval | None:
        """The last interval, which says most about noise and sampling; None without any."""
        return self.intervals[-1] if self.intervals else None


@dataclass(frozen=True, slots=True)
class Mean:
    """A row of a release: the mean of one column.

    Attributes
    ----------
    column
        The name of the column; its number, if it has no name.
    group
        The group whose mean it is; None without groups.
    value
        The estimate.
    intervals
        The intervals, the first for the mean if there is one; none with ``confidence=None``.
    clip
        The private clipping bounds: values beyond them were clipped to them.
    assumption_contradicted
        True if private answers contradict what was assumed; None if nothing was assumed, or
        nothing asked that could tell.
    notes
        What else is to be said about this row.
    count
        The private number of what the mean averages: records, or persons with ``each="person"``.
        None where it was not asked for.
    persons
        With ``person=``: the private number of persons. It is read off what was asked for anyway:
        the count, if each person counts once; else the first question, which counts those who have
        a number in the column, or a record if there are several columns; the public number of
        persons under replace-one. None if each record counts and it is by group, or ``where=`` is
        given under replace-one: that would be one more query.
    share_used
        A private estimate of the part of the cells that were numbers, among those that ``where=``
        did not leave out; in pooled groups, of all groups together. None if it was not asked for
        (``missing="none"``; ``where=`` under replace-one) or all of it may be noise.
    units
        What the numbers are measured in, if the column is declared so: "s" (seconds) for durations.
    shrunk
        With ``pooling="mean"``: the group's mean drawn towards that of all groups, with interval.
    shape
        How the records spread, by the noisy log-scale histogram; None if no record is detectable
        above the noise, or if there is no such histogram.
    kept
        With ``groups_per_person=1``: a private estimate of the share of the records, of all groups
        together, that were kept, since they are in the group of their person.
    """

    column: str
    group: Label | None
    value: float
    intervals: tuple[Interval, ...] = ()
    clip: tuple[float, float] | None = None
    assumption_contradicted: bool | None = None
    notes: tuple[Note, ...] = ()
    count: float | None = None
    shrunk: Shrunk | None = None
    share_used: float | None = None
    shape: Shape | None = None
    units: str | None = None
    persons: float | None = None
    kept: float | None = None
    statistic: str = "mean"
    """What the row has of the column: a mean, a sum, a count, a share or a quantile."""
    level: float | None = None
    """The level of a quantile."""

    @classmethod
    def of(cls, column: str, estimate: Estimate, units: str | None = None) -> Mean:
        """Return the row of a column."""
        cells = estimate.cells
        notes = (*estimate.notes, *(cells.notes if cells else ()))
        shared = {name: getattr(estimate, name) for name in _SHARED}
        used = cells.used if cells else None
        return cls(**shared, column=column, notes=notes, share_used=used, units=units)

    @property
    def label(self) -> str:
        """The statistic in words.

        >>> Mean("paid", None, 3.0, statistic="quantile", level=0.9).label
        '90% quantile'
        """
        if self.level is None:
            return self.statistic
        return "median" if self.level == 0.5 else f"{100 * self.level:.6g}% {self.statistic}"

    @property
    def shown(self) -> str:
        """The value for people, with what it is measured in."""
        return self.measured(f"{self.value:.6g}")

    def measured(self, numbers: str) -> str:
        """Return numbers of this row with what they are measured in, if that is known."""
        return f"{numbers} {self.units}" if self.units else numbers

    def __float__(self) -> float:
        return self.value

    def __round__(self, digits: int | None = None) -> float:
        return round(self.value, digits)

    def __format__(self, form: str) -> str:
        return format(self.value, form) if form else str(self)

    def __repr__(self) -> str:
        ends = "" if self.low is None else f" ({self.low:.6g} to {self.high:.6g})"
        group = "" if self.group is None else f", {self.group}"
        return f"<{self.label.capitalize()} {self.column}{group}: {self.shown}{ends}>"

    @property
    def low(self) -> float | None:
        """The lower end of the first interval; None with ``confidence=None``."""
        return self.intervals[0].low if self.intervals else None

    @property
    def high(self) -> float | None:
        """The upper end of the first interval; None with ``confidence=None``."""
        return self.intervals[0].high if self.intervals else None

    @property
    def interval_target(self) -> str | None:
        """What the first interval is for, such as "mean"."""
        return self.intervals[0].target if self.intervals else None

    @property
    def error_components(self) -> Parts:
        """What the first interval is made of."""
        return dict(self.intervals[0].error_components) if self.intervals else None

    @property
    def median(self) -> float | None:
        """The private median; None if no record is detectable above the noise."""
        if self.level == 0.5:
            return self.value
        return None if self.shape is None else self.shape.median

    def quantile(self, level: float) -> float | None:
        """Return where the part ``level`` of the records lies below; None where nothing is seen."""
        part = probability(level=level)
        return None if self.shape is None else self.shape.quantile(part)

    @property
    def tail_index(self) -> float | None:
        """The power with which the longer tail falls; None where nothing is seen."""
        return None if self.shape is None else self.shape.tail_index()

    @property
    def usable(self) -> bool:
        """Whether the value says anything: texts quote it only then.

        It does not if no record is detectable above the noise, unless bounds limit the error.

        >>> Mean("paid", None, 3.5).usable
        True
        """
        codes = {note.code for note in self.notes if note.kind == "warning"}
        if "out-of-float-range" in codes or math.isnan(self.value):
            return False
        used = 1.0 if self.share_used is None else self.share_used
        if "many-unparsed-cells" in codes and used < _LEAST_USED and self.statistic != COUNT:
            return False
        # An interval that is only what was assumed has no part that is due to privacy.
        known = (self.error_components or {}).get("privacy") is not None
        return "no-signal" not in codes or known

    @property
    def total(self) -> float | None:
        """The sum of what the mean averages, as far as it was counted: mean times count."""
        if self.statistic == "sum":
            return self.value
        is_mean = self.statistic == "mean"
        return self.value * self.count if is_mean and self.count is not None else None

    def to_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON; infinities are strings."""
        first = {
            name: getattr(self, name)
            for name in ("usable", "low", "high", "interval_target", "error_components")
        }
        found = {key: plain(value) for key, value in (asdict(self) | first).items()}
        # Without groups a row is what it was before there were any; so is that of a mean.
        usual = {key for key in _GROUP if found[key] is None}
        if self.statistic == "mean":
            usual.add("statistic")
        return {key: found[key] for key in found if key not in usual}

    @classmethod
    def from_dict(cls, record: Json) -> Mean:
        """Undo :meth:`to_dict`."""
        clip = record["clip"]
        return cls(
            column=str(record["column"]),
            group=_label(record["group"]),
            value=float(record["value"]),
            intervals=tuple(map(Interval.from_dict, record["intervals"])),
            clip=None if clip is None else (float(clip[0]), float(clip[1])),
            assumption_contradicted=record["assumption_contradicted"],
            notes=tuple(map(Note.from_dict, record["notes"])),
            count=_number(record.get("count")),
            shrunk=_shrunk(record.get("shrunk")),
            share_used=_number(record.get("share_used")),
            shape=None if record.get("shape") is None else Shape.from_dict(record["shape"]),
            units=record.get("units"),
            persons=_number(record.get("persons")),
            kept=_number(record.get("kept")),
            statistic=str(record.get("statistic", "mean")),
            level=_number(record.get("level")),
        )


def plain(value: object) -> object:
    """Return a value made of JSON's types; infinities become words."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Key):
        return {"key": list(value.cells)}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


#: What a row has of the estimate as it is.
_SHARED = {one.name for one in fields(Mean)} & {one.name for one in fields(Estimate)} - {"notes"}

#: What a row has only if there is something to say.
_GROUP = ("units", "count", "persons", "shrunk", "shape", "kept", "level")


def _label(value: list[Cell] | Cell | None) -> Label | None:
    return tuple(value) if isinstance(value, list) else value


def _shrunk(record: Json | None) -> Shrunk | None:
    if record is None:
        return None
    return Shrunk(float(record["value"]), _number(record["low"]), _number(record["high"]))


def _number(value: float | str | None) -> float | None:
    return None if value is None else float(value)
