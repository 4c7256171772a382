"""The engine of persons: it reads the records once and answers about one row per person."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from tametail.doubles import LARGEST
from tametail.engines.cells import LEFT_OUT, Floats, are_left_out
from tametail.engines.local import LocalEngine, Progress, Teller
from tametail.engines.persons.ids import Persons
from tametail.engines.persons.sums import ExactSums
from tametail.engines.tables.computed import Selection
from tametail.engines.tables.later import LaterTable
from tametail.engines.tables.memory import MatrixTable
from tametail.engines.tables.raw import Cells
from tametail.errors import DataError, InternalError
from tametail.queries.persons import PersonMean, PersonResidual, PersonRows, View
from tametail.queries.query import Exact, Query

Integers = npt.NDArray[np.int64]


class Totals:
    """Sum and count of each person's records in each column: an accumulator.

    A person's totals follow from that person's records alone, bit for bit, whatever the order of
    the rows and the chunks that they come in (docs/proofs/persons.md).
    """

    def __init__(self, columns: int, *, filtered: bool = False) -> None:
        self._persons = Persons()
        self._sums = [ExactSums() for _ in range(columns)]
        self._counts: list[Integers] = [np.zeros(0, dtype=np.int64) for _ in range(columns)]
        self._kept = np.zeros(0, dtype=np.int64) if filtered else None

    def add(self, matrix: Floats, ids: list[Cells]) -> None:
        """Add records; one without an id belongs to nobody and is dropped."""
        codes = self._persons.codes(ids)
        for index, sums in enumerate(self._sums):
            numbers = matrix[:, index]
            counted = (codes >= 0) & ~np.isnan(numbers)
            whose = codes[counted]
            sums.add(whose, numbers[counted], len(self._persons))
            self._counts[index] = self._more(self._counts[index], whose)
        if self._kept is not None:  # a condition leaves a record out with all of its numbers
            kept = (codes >= 0) & ~are_left_out(matrix[:, 0])
            self._kept = self._more(self._kept, codes[kept])

    def _more(self, before: Integers, whose: Integers) -> Integers:
        found = np.bincount(whose, minlength=len(self._persons))
        found[: len(before)] += before
        return found

    def read(self) -> tuple[Floats, Integers, Integers | None]:
        """Return sums and counts, a row for each person, and how many records were kept."""
        sums = np.column_stack([each.read() for each in self._sums])
        return sums, np.column_stack(self._counts), self._kept


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
    def _totals(self) -> tuple[Floats, Integers, Integers | None]:
        totals = Totals(len(self.columns), filtered=self._filtered)
        teller = Teller(self._progress)
        with np.errstate(all="ignore"):
            for matrix, ids, _ in self._selection.blocks(teller.tell):
                totals.add(matrix, ids)
            teller.end()
            return totals.read()

    def numbers(self, view: View) -> Floats:
        """Return a number for each person; each operation is one of IEEE 754, person by person."""
        sums, counts = (totals[:, view.column] for totals in self._totals[:2])
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
        return found if kept is None else np.where(kept > 0, found, LEFT_OUT)

    def view(self, view: View) -> LocalEngine:
        """Return an engine over one number for each person, computed at the first question."""
        name = (self.columns[view.column],)
        table = LaterTable(name, lambda: MatrixTable(self.numbers(view), name))
        return LocalEngine(table, filtered=self._filtered)

    @cached_property
    def _means(self) -> LocalEngine:
        means = [self.numbers(PersonMean(index)) for index in range(len(self.columns))]
        table = MatrixTable(np.column_stack(means), self.columns)
        return LocalEngine(table, filtered=self._filtered)

    def answer(self, query: Query[object]) -> Exact:
        """Return the exact answer to ``query`` about the persons' means."""
        return self._means.answer(query)

    def rows(self, start: int, stop: int) -> LocalEngine:  # noqa: ARG002 - an engine's verb
        """Persons have no positions."""
        raise DataError("persons have no order: ask about all of them.")

    def column(self, index: int) -> LocalEngine:
        """Return an engine over the persons' means in one column."""
        return self.view(PersonMean(index))
