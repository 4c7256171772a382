"""A release: a table of means, and the guarantee under which it may be published.

One column is a table of one row. Everything here is a function of public numbers and noisy
answers; no record and no exact aggregate is reachable from it.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import FrozenInstanceError, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast

import numpy as np
import numpy.typing as npt

from tametail._json import Json, not_as_written, read_json
from tametail.comparisons import Comparison, compare
from tametail.errors import ParameterError, TametailError
from tametail.issued import Issued
from tametail.means import Mean
from tametail.notes import Note
from tametail.planning import Plan
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Guarantee
from tametail.recorded import (
    FORMAT,
    NAMES,
    OLD,
    OLD_FORMATS,
    REFUSAL,
    answer,
    check_mark,
    check_top,
)
from tametail.released import Released
from tametail.show import release as shown_release
from tametail.show.rows import name_of
from tametail.tables import make_frame, row_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind = TypeVar("Kind")
Floats = npt.NDArray[np.float64]
Clip = tuple[float, float] | None

#: What type checkers know of a release: its values are numbers or arrays, and so are the ends of
#: its intervals, if it has any. Where nothing is known of it, ``Release`` alone means either.
if TYPE_CHECKING:
    from typing_extensions import TypeVar as WithDefault

    Value_co = WithDefault("Value_co", covariant=True, default=float | Floats)
    End_co = WithDefault("End_co", covariant=True, default=float | Floats | None)
else:
    Value_co = TypeVar("Value_co", covariant=True)
    End_co = TypeVar("End_co", covariant=True)


def sealed(kind: type[Kind]) -> type[Kind]:
    """Make a class refuse every assignment to its instances with AttributeError.

    In Python 3.11 a frozen dataclass with slots raises TypeError for a name that is no field. That
    matters to OpenDP, which tries to hang the arguments of a call, so the records, on its output.
    """

    def refuse(_self: Kind, name: str, _value: object) -> None:
        raise FrozenInstanceError(f"Cannot assign to {name!r}: a release is immutable.")

    type.__setattr__(kind, "__setattr__", refuse)
    return kind


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class Release(Released, Generic[Value_co, End_co]):
    """A table of private means, and what they cost.

    ``len``, iteration and items go over the rows: ``release[0]``, ``release["paid"]``. For one
    column ``value``, ``low`` and ``high`` are numbers and ``float(release)`` is the mean; for
    several columns, a list of them, or groups, they are arrays. ``error_components``, ``clip`` and
    ``assumption_contradicted`` are those of the row, or a tuple with one for each.

    Attributes
    ----------
    means
        The rows.
    guarantee
        What was spent, computed from the steps of the plan, with its privacy unit.
    plan
        The public plan that this release followed.
    method
        The method that was followed; the plan's, unless a private count made another one better.
    shared_notes
        What is to be said about the release as a whole.
    answers
        The noisy answers, in order: ``replay(plan, answers)`` gives this release again.
    library
        The caller's library of frames, if the data were one; :meth:`to_frame` uses it.
    listed
        Whether the columns were given as a list: then there are arrays, be it for one column.
    receipt
        If a ledger paid: the name of the data set, the id of the release and the ledger's head.
    issued
        Its id, the date and the version that made it; None for one that was replayed. This, the
        receipt, library, ``listed`` and ``is_stored`` are outside of equality.
    is_stored
        Whether a ledger had stored it under this id: then nothing was read or spent this time.

    Examples
    --------
    >>> import numpy, tametail as tt
    >>> rows = [[1.0, 20.0], [2.0, 30.0], [3.0, 40.0]] * 2_000
    >>> release = tt.mean(numpy.array(rows), rho=0.5)
    >>> [row.column for row in release], release.value.shape
    (['0', '1'], (2,))
    >>> Release.from_json(release.to_json()) == release
    True
    """

    plan: Plan
    listed: bool = field(default=False, repr=False)

    def __getitem__(self, key: object) -> Mean:
        return row_of(self.means, key, by_group=self.groups is not None)

    def difference(self, one: object, other: object) -> Comparison:
        """Return one group less another, with an interval of the release's confidence.

        Each is a group of this release, or a row of another release about other records. Where a
        person may be in both, the confidence is lower.

        >>> import pandas, tametail as tt
        >>> paid = [1.0, 9.0, 2.0, 8.0] * 5000
        >>> frame = pandas.DataFrame({"paid": paid, "state": ["CA", "NY"] * 10_000})
        >>> release = tt.mean(frame, "paid", by="state", keys=["CA", "NY"], epsilon=1)
        >>> gap = release.difference("NY", "CA")
        >>> gap.low > 3, gap.confidence, "higher in NY than in CA" in gap.sentence()
        (True, 0.95, True)
        """
        return self._compared("difference", one, other)

    def ratio(self, one: object, other: object) -> Comparison:
        """Return one group divided by another, with an interval of the release's confidence.

        It is unbounded if the interval of the other one holds 0.
        """
        return self._compared("ratio", one, other)

    def __sub__(self, other: object) -> Comparison:
        """Return the difference of two releases of one row each, about different records.

        With ``person=`` in either, a person may be in both, and the confidence is lower.
        """
        return self._against("difference", other) if isinstance(other, Release) else NotImplemented

    def __truediv__(self, other: object) -> Comparison:
        """Return the ratio of two releases of one row each, about different records.

        With ``person=`` in either, a person may be in both, and the confidence is lower.
        """
        return self._against("ratio", other) if isinstance(other, Release) else NotImplemented

    def _compared(self, kind: Literal["difference", "ratio"], *keys: object) -> Comparison:
        one, other = (key if isinstance(key, Mean) else self[key] for key in keys)
        own = [any(row is mine for mine in self.means) for row in (one, other)]
        same_records = all(own) and one.group == other.group
        if same_records:
            raise ParameterError(
                f"{one.label} of {one.column} and {other.label} of {other.column} come from the "
                "same records, so their errors depend on each other. Release what you want to "
                'compare as one column, such as tt.mean(data, "a - b").'
            )
        groups = self.groups
        together = all(own) and groups is not None and groups.simultaneous is True
        at_once = self.confidence if together else None
        # A person may have records in both groups, unless each is in one of this release.
        disjoint = all(own) and groups is not None and groups.groups_per_person == 1
        independent = self.plan.adjacency.person is None or disjoint
        rows = (one, other)
        names = [str(name_of(self, row)).removesuffix(f": {row.label}") for row in rows]
        return compare(kind, rows, (names[0], names[1]), independent=independent, at_once=at_once)

    def _against(self, kind: Literal["difference", "ratio"], other: Release) -> Comparison:
        if len(self) != 1 or len(other) != 1:
            raise ParameterError(
                "Only releases with one row each can be compared. For tables of groups, use "
                f"table.{kind}('CA', other_table['CA'])."
            )
        paid = [release.receipt and release.receipt.get("dataset") for release in (self, other)]
        if paid[0] is not None and paid[0] == paid[1] and self._about_same(other):
            raise ParameterError(
                f"Both releases are about the same records of {paid[0]!r}, so their errors depend "
                'on each other. Release the difference as one column, such as "a - b".'
            )
        names = [
            str(release.plan.request.where or name or f"the {place} release")
            for release, name, place in zip((self, other), paid, ("first", "second"), strict=True)
        ]
        rows = self.means[0], other.means[0]
        # A person may be in both although no record is, and then one error says something about
        # the other.
        of_records = self.plan.adjacency.person is None and other.plan.adjacency.person is None
        found = compare(kind, rows, (names[0], names[1]), independent=of_records)
        return replace(found, of_two_releases=of_records)

    def _about_same(self, other: Release) -> bool:
        """Say whether the conditions of two releases keep the same records of a data set."""
        return self.plan.request.where == other.plan.request.where

    @property
    def value(self) -> Value_co:
        """The mean of one column; an array for several, for a list of them and for groups."""
        values = [row.value for row in self.means]
        return cast(Value_co, values[0] if self._is_number else np.array(values))

    @property
    def low(self) -> End_co:
        """The lower end of the interval, or of each; None with ``confidence=None``."""
        return self._ends([row.low for row in self.means])

    @property
    def high(self) -> End_co:
        """The upper end of the interval, or of each; None with ``confidence=None``."""
        return self._ends([row.high for row in self.means])

    @property
    def _is_number(self) -> bool:
        """Whether this is the mean of one column, and nothing else was asked for."""
        return len(self) == 1 and not self.listed and self.groups is None

    def _ends(self, ends: list[float | None]) -> End_co:
        if self._is_number:
            return cast(End_co, ends[0])
        without = self.plan.confidence is None or None in ends
        return cast(End_co, None if without else np.array(ends, dtype=np.float64))

    def _known(self, values: list[float | None]) -> Value_co | None:
        """Return a number, or an array; what is unknown is None, or nan in there."""
        if self._is_number or all(value is None for value in values):
            return cast(Value_co, values[0]) if values else None
        return cast(Value_co, np.array([math.nan if one is None else one for one in values]))

    @property
    def count(self) -> Value_co | None:
        """The private number of what is averaged, or of each row; None where it was not asked for.

        With ``each="person"`` these are persons, else records.
        """
        return self._known([row.count for row in self.means])

    @property
    def persons(self) -> Value_co | None:
        """The private number of persons, or of each row; None if not known (``Mean``).

        >>> import pandas, tametail as tt
        >>> who, paid = list(range(5_000)) * 3, [1.0, 3.0, 2.0] * 5_000
        >>> visits = pandas.DataFrame({"who": who, "paid": paid})
        >>> release = tt.mean(visits, "paid", person="who", epsilon=2)
        >>> 4_000 < release.persons < 6_000, 12_000 < release.count < 18_000
        (True, True)
        """
        return self._known([row.persons for row in self.means])

    @property
    def median(self) -> Value_co | None:
        """The private median, or of each row; None where no record is detectable."""
        return self._known([row.median for row in self.means])

    def quantile(self, level: float) -> Value_co | None:
        """Return the value with the part ``level`` of the records below it, by the noisy histogram.

        It costs nothing: the counts are paid for. docs/how-to/quantiles.md says how accurate. None
        (in an array nan) where no record is detectable above the noise.

        >>> import numpy, tametail as tt
        >>> release = tt.mean(numpy.random.default_rng(1).exponential(size=50_000), epsilon=1)
        >>> 2.0 < release.quantile(0.9) < 2.6
        True
        """
        return self._known([row.quantile(level) for row in self.means])

    @property
    def tail_index(self) -> Value_co | None:
        """The power with which the longer tail falls, where it is still seen."""
        return self._known([row.tail_index for row in self.means])

    def survival(self) -> Any:
        """Return the private survival curve as a frame: values, shares above them, their errors.

        One row for every bin that is detectable above the noise, by column and group.
        It has no row where nothing does.
        """
        cells: dict[str, list[object]] = {"value": [], "share_above": [], "error": []}
        names: list[object] = []
        for row in self.means:
            for point in () if row.shape is None else row.shape.survival():
                for name, number in zip(cells, point, strict=True):
                    cells[name].append(number)
                names.append(name_of(self, row))
        return make_frame(({"row": names} if len(self) > 1 else {}) | cells, self.library)

    def __float__(self) -> float:
        if len(self) != 1:
            raise TypeError(
                f"A release of {len(self)} means is not a number. Use release.value"
                + (f", or float(release[{self._first_key()!r}])." if self.means else ".")
            )
        return self.means[0].value

    def _first_key(self) -> object:
        """Return what finds the first row."""
        row = self.means[0]
        if self.groups is None:
            return row.column
        cells = row.group if isinstance(row.group, tuple) else (row.group,)
        key = (*cells, row.column) if self.plan.n_columns > 1 else cells
        return key[0] if len(key) == 1 else key

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[np.generic]:
        return np.array(self.value, dtype=dtype, copy=True if copy is None else copy)

    def __round__(self, digits: int | None = None) -> float:
        return round(float(self), digits)

    def __format__(self, form: str) -> str:
        return format(float(self), form) if form else str(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(json.dumps(self._content()))

    def _content(self) -> dict[str, object]:
        """Return what follows from plan and answers: all but when and under which name."""
        return {key: cell for key, cell in self.to_dict().items() if key not in NAMES}

    def __repr__(self) -> str:
        return f"<Release: {shown_release.brief(self)}>"

    def __str__(self) -> str:
        return shown_release.text(self)

    def _repr_html_(self) -> str:
        from tametail.report.cells import release_cell

        return release_cell(self)

    @classmethod
    def from_dict(cls, record: Json) -> Release:
        """Undo :meth:`to_dict`: stored fields are read, and nothing is derived.

        Fields at the top must agree with those of the rows: else the record is refused.
        """
        if not isinstance(record, dict):
            raise ParameterError(REFUSAL)
        if record.get("format") != FORMAT:
            raise ParameterError(OLD if record.get("format") in OLD_FORMATS else REFUSAL)
        try:
            check_top(record, record["rows"], record["shared_notes"])
            plan = Plan.from_dict(record["plan"])
            check_mark(record, fake=plan.request.fake)
            return Release(
                means=tuple(map(Mean.from_dict, record["rows"])),
                guarantee=Guarantee(
                    record["epsilon"],
                    record["delta"],
                    record["rho"],
                    Adjacency.parse(record["neighbors"], record.get("person")),
                ),
                plan=plan,
                method=str(record["method"]),
                shared_notes=tuple(map(Note.from_dict, record["shared_notes"])),
                answers=tuple(map(answer, record.get("answers", ()))),
                receipt=record.get("ledger"),
                issued=Issued.from_dict(record.get("issued")),
            )
        except TametailError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise not_as_written(REFUSAL, error) from None

    @classmethod
    def from_json(cls, text: str) -> Release:
        """Undo :meth:`to_json`."""
        return cls.from_dict(read_json(text, REFUSAL))

    def to_frame(self) -> Any:
        """Return the rows as a frame: of the caller's kind, else whichever is installed.

        One of pandas, Polars and Arrow, in this order; a row for each mean, with what its interval
        is for and what is to be said about it (notes). With groups: their keys, mean, low, high,
        count (of what the mean averages), total (their sum), interval_target and notes. A value
        that says nothing is missing, and ``usable`` is False in its row. With
        ``person=`` there are count, persons and total in every frame, of sums persons alone; of
        groups in which each record counts it is not known how many persons they have (``Mean``),
        hence None, as where the number may be noise alone.
        """
        return make_frame(self.cells(), self.library)

    def to_markdown(self) -> str:
        """Return the rows as a table of Markdown, with the guarantee and all notes below it.

        >>> import tametail as tt
        >>> tt.mean([1.0, 2.0] * 500, epsilon=1).to_markdown().startswith("| column | mean |")
        True
        """
        from tametail.report.tables import markdown_text

        return markdown_text(self)

    def to_latex(self) -> str:
        """Return the rows as a table of LaTeX, with the guarantee and all notes in its caption."""
        from tametail.report.tables import latex_text

        return latex_text(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw values and intervals; above one mean, how the records spread and are clipped."""
        from tametail.plots import plot_release

        return plot_release(self, ax)

    def sentence(self) -> str:
        """Return the result in words to publish: value, interval, clipping, budget, warnings."""
        from tametail.show.sentences import sentence

        return sentence(self)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write one page for management and for a methods section: a file that prints well.

        It has the sentence, the table, the pictures, what was assumed and spent, how to cite it,
        and the release itself: ``tametail replay FILE`` checks that all of it follows from the
        noisy answers, and that the page says what the release does. It is HTML, which a browser
        prints to PDF; the name of another kind of file is refused.

        >>> import tempfile, tametail as tt
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tt.mean([1.0, 2.0] * 500, epsilon=1).report(f"{folder}/report.html")
        """
        from tametail.report.document import write_report

        write_report(self, path)

    def registry(self) -> str:
        """Return a draft for the public Deployments Registry, as YAML.

        What the release knows is filled in: variant, unit, parameters, mechanisms, composition.
        What only you know begins with "TO FILL IN". docs/how-to/registry-entry.md says more.

        >>> import tametail as tt
        >>> 'variant_name: "Pure DP"' in tt.mean([1.0, 2.0] * 500, epsilon=1).registry()
        True
        """
        from tametail.report.registered import registry_entry

        return registry_entry(self)
