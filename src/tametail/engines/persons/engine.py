"""The engine of persons: it reads the records once and answers about one row per person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tametail.doubles import LARGEST
from tametail.engines.cells import LEFT_OUT, Floats, are_left_out
from tametail.engines.local import LocalEngine, Progress, Teller
from tametail.engines.persons.ids import UNKNOWN, Persons
from tametail.engines.persons.spill import Shelf, Waiting, memory_limit
from tametail.engines.persons.sums import ExactSums
from tametail.engines.tables import CONVERTED, Tell
from tametail.engines.tables.computed import Selection
from tametail.engines.tables.memory import side_by_side
from tametail.engines.tables.raw import Cells
from tametail.errors import DataError, InternalError
from tametail.queries.persons import PersonMean, PersonResidual, PersonRows, View
from tametail.queries.query import Exact, Query

Integers = npt.NDArray[np.int64]


class Found(NamedTuple):
    """Totals of persons, a row for each."""

    sums: Floats
    counts: Floats
    kept: Floats | None
    """How many records a condition does not leave out; None without a condition."""


class Totals:
    """Sum and count of each person's records in each column: an accumulator.

    A person's totals follow from that person's records alone, bit for bit, whatever the order of
    the rows and the chunks that they come in, and however little memory there is
    (docs/proofs/persons.md).
    """

    def __init__(self, columns: int, *, filtered: bool = False, limit: int | None = None) -> None:
        self._columns, self._filtered = columns, filtered
        self._limit = memory_limit() if limit is None else limit
        self._begin()

    def _begin(self) -> None:
        self._persons = Persons()
        self._sums = [ExactSums() for _ in range(self._columns)]
        self._kept: Integers = np.zeros(0, dtype=np.int64)
        self._waiting: Waiting | None = None

    def add(self, matrix: Floats, ids: Sequence[Cells]) -> None:
        """Add records; one without an id belongs to nobody and is dropped."""
        codes = self._persons.codes(ids, more=self._waiting is None)
        for index, sums in enumerate(self._sums):
            sums.add(codes, matrix[:, index], len(self._persons))
        if self._filtered:  # a condition leaves a record out with all of its numbers
            whose = codes[(codes >= 0) & ~are_left_out(matrix[:, 0])]
            found = np.bincount(whose, minlength=len(self._persons))
            found[: len(self._kept)] += self._kept
            self._kept = found
        if self._waiting is not None:
            self._waiting.add(ids, matrix, codes == UNKNOWN)
        elif self._bytes > self._limit and all(isinstance(each, pa.Array) for each in ids):
            self._waiting = Waiting()

    @property
    def _bytes(self) -> int:
        return self._persons.bytes + sum(each.bytes for each in self._sums) + self._kept.nbytes

    def read(self) -> Found:
        """Return the totals of everybody."""
        rows = self._own()
        if self._waiting is not None:
            shelf = Shelf()
            for part in self._parts():
                shelf.add(part)
            rows = shelf.read(rows.shape[1])
        ends = self._columns, 2 * self._columns
        kept = rows[:, ends[1]] if self._filtered else None
        return Found(rows[:, : ends[0]], rows[:, ends[0] : ends[1]], kept)

    def _own(self) -> Floats:
        """Return sums, counts and records that were kept, of those in memory."""
        integers = [*(each.counts for each in self._sums), *([self._kept] * self._filtered)]
        columns = [each.read() for each in self._sums]
        return np.column_stack([*columns, *(each.astype(np.float64) for each in integers)])

    def _parts(self) -> Iterator[Floats]:
        """Yield the rows of those in memory, then of those in each file, who fit or wait again."""
        yield self._own()
        waiting = self._waiting
        self._begin()  # those in memory are done: make room
        for part in () if waiting is None else waiting.parts():
            others = Totals(self._columns, filtered=self._filtered, limit=self._limit)
            for matrix, ids in part:
                others.add(matrix, ids)
            yield from others._parts()


class PersonsEngine:
    """Answers queries over persons: one number for each, by a view; by default their means.

    >>> import pyarrow as pa
    >>> from tametail.engines.open import open_source
    >>> from tametail.queries.column import Count
    >>> visits = pa.table({"who": ["Ann", "Bob", "Ann", None], "cost": [1.0, 5.0, 2.0, 7.0]})
    >>> engine = PersonsEngine(Selection(open_source(visits), ["cost"], None, ["who"]))
    >>> engine.size, engine.answer(Count()), engine.numbers(PersonMean()).tolist()
    (2, (2, 0, 0), [1.5, 5.0])
    """

    _filtered = False

    def __init__(self, selection: Selection, progress: Progress | None = None) -> None:
        self._selection = selection
        self._progress = progress
        self._filtered = selection.is_filtered

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._selection.columns

    @property
    def size(self) -> int:
        """The number of persons. Public under replace-one only."""
        return len(self._totals[0])

    @cached_property
    def _totals(self) -> Found:
        totals = Totals(len(self.columns), filtered=self._filtered)
        teller = Teller(self._progress)
        with np.errstate(all="ignore"):
            for matrix, ids, _ in self._selection.blocks(teller.tell):
                totals.add(matrix, ids)
            teller.end()
            return totals.read()

    def numbers(self, view: View, start: int = 0, stop: int | None = None) -> Floats:
        """Return a number for each person; each operation is one of IEEE 754, person by person."""
        sums, counts = (totals[start:stop, view.column] for totals in self._totals[:2])
        rows = np.where(counts > 0, counts.astype(np.float64), np.nan)
        with np.errstate(all="ignore"):
            if isinstance(view, PersonRows):
                found = rows
            elif isinstance(view, PersonMean):
                found = sums / rows
            elif isinstance(view, PersonResidual):
                found = np.clip(sums - view.ratio * rows, -LARGEST, LARGEST)
            else:
                raise InternalError("the records are not known by group.")
        kept = self._totals[2]
        # A condition leaves a person out if it leaves all of their records out.
        return found if kept is None else np.where(kept[start:stop] > 0, found, LEFT_OUT)

    def view(self, view: View) -> LocalEngine:
        """Return an engine over one number for each person, computed when it is asked."""
        return LocalEngine(ViewsTable(self, [view]), filtered=self._filtered)

    @cached_property
    def _means(self) -> LocalEngine:
        views = [PersonMean(index) for index in range(len(self.columns))]
        return LocalEngine(ViewsTable(self, views), filtered=self._filtered)

    def answer(self, query: Query[object]) -> Exact:
        """Return the exact answer to ``query`` about the persons' means."""
        return self._means.answer(query)

    def rows(self, start: int, stop: int) -> LocalEngine:  # noqa: ARG002 - an engine's verb
        """Persons have no positions."""
        raise DataError("persons have no order: ask about all of them.")

    def column(self, index: int) -> LocalEngine:
        """Return an engine over the persons' means in one column."""
        return self.view(PersonMean(index))


class ViewsTable:
    """Numbers of persons, some views side by side: made of their totals chunk by chunk."""

    def __init__(self, engine: PersonsEngine, views: Sequence[View]) -> None:
        self._engine, self._views = engine, list(views)
        self.columns = tuple(engine.columns[view.column] for view in views)
        self.in_place = False

    def rows(self) -> int:
        """Return the number of persons."""
        return self._engine.size

    def chunks(self, most: int, start: int, stop: int | None, tell: Tell) -> Iterator[Floats]:
        """Yield the numbers of some persons at a time."""
        persons, most = range(self._engine.size)[start:stop], min(most, CONVERTED)
        for first in range(persons.start, persons.stop, most):
            last = min(first + most, persons.stop)
            yield side_by_side([self._engine.numbers(view, first, last) for view in self._views])
            tell((last - persons.start) / len(persons))

    def column(self, index: int) -> ViewsTable:
        """Return the table of one view."""
        return ViewsTable(self._engine, [self._views[index]])
