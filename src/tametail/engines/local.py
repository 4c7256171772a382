"""The engine of this machine: it answers every query over a table, a chunk of rows at a time.

An answer is one pass over the table, or none if an earlier pass already saw what it needs.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator

from tametail.engines.cells import Floats
from tametail.engines.kernels.passes import Passes
from tametail.engines.kernels.threads import threads
from tametail.engines.survey import Held, Survey
from tametail.engines.tables import DECODED, Table
from tametail.errors import ColumnError, DataError
from tametail.queries.column import ColumnQuery, Count, Median
from tametail.queries.query import Exact, Query

#: Called with the part of a pass that is done, in steps of 5%; never with rows.
Progress = Callable[[float], None]

_STEPS = 20
_SECONDS = 0.1


class LocalEngine:
    """Answers queries over the rows of a table.

    The count and the sample for the centre share a pass; so do tail, sum and spread; and the sum
    and the squares of a ball.

    >>> from tametail.engines.tables.memory import from_cells
    >>> engine = LocalEngine(from_cells([1, 2, None, "n/a", float("nan")]))
    >>> engine.answer(Count())
    (2, 3, 0)
    """

    def __init__(
        self, table: Table, progress: Progress | None = None, *, filtered: bool = False
    ) -> None:
        self._progress = progress
        self._filtered = filtered  # whether a condition may leave records out
        self._start = 0
        self._stop: int | None = None
        # Whoever wants to see the progress wants to be told by one thread.
        self._most_threads = threads() if progress is None else 1
        self._begin(table)

    def _begin(self, table: Table) -> None:
        """Forget what passes over another table, or other rows, have seen."""
        self._table = table
        # Chunks that have to be read or converted come one by one: others could only wait for them.
        threads = self._most_threads if table.in_place else 1
        self._passes = Passes(threads, filtered=self._filtered)
        self._held: Held | None = None
        self._seen: int | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._table.columns

    @property
    def size(self) -> int:
        """The number of records, missing ones included; a CSV file is read once to know it."""
        try:
            if self._seen is None:
                self._seen = len(range(self._table.rows())[self._start : self._stop])
            return self._seen
        except ColumnError:
            raise
        except DataError as error:
            raise DataError(
                f"{error} No answer was given, but that records could not be read may say "
                "something about them."
            ) from None

    def answer(self, query: Query[object]) -> Exact:
        """Return the exact answer to ``query``, in at most one pass over all rows."""
        if not isinstance(query, ColumnQuery):
            return self._passes.answer(query, self._chunks)
        if isinstance(query, Count) and not self._table.in_place:
            self._survey()
        if isinstance(query, Median) and self._held is not None:
            # A sample is used once: every answer has coins of its own.
            held, self._held = self._held, None
            sample = held.take(query.halvings)
            if sample is not None:
                return Passes().answer(Median(0, query.low, query.high), lambda _: [sample])
        return self._passes.answer(query, self._numbers)

    def _survey(self) -> None:
        """Count the records, if no pass has, and hold a sample of them for the next question."""
        if self._passes.found:
            return
        survey = Survey(filtered=self._filtered)
        for chunk in self._numbers(survey.longest):
            survey.add(chunk)
        self._held = survey.held
        self._passes.found[Count] = survey.cells

    def rows(self, start: int, stop: int) -> LocalEngine:
        """Return an engine over the rows ``start..stop-1``; a file is read up to them."""
        window = range(self.size)[start:stop]
        part = copy.copy(self)
        part._begin(self._table)
        part._start, part._stop = self._start + window.start, self._start + window.stop
        part._seen = len(window)
        return part

    def column(self, index: int) -> LocalEngine:
        """Return an engine over one column."""
        one = copy.copy(self)
        one._begin(self._table.column(index))
        return one

    def _numbers(self, most: int) -> Iterator[Floats]:
        """Yield the chunks of the one column; the longest only if they lie ready."""
        if len(self.columns) != 1:
            raise ColumnError("a question about one column is asked of several: choose a column.")
        size = most if self._table.in_place else min(most, DECODED)
        return (chunk[:, 0] for chunk in self._chunks(size))

    def _chunks(self, most: int) -> Iterator[Floats]:
        """Yield the rows, tell the progress, and see that they are as many as before."""
        teller, rows = Teller(self._progress), 0
        for chunk in self._table.chunks(most, self._start, self._stop, teller.tell):
            rows += len(chunk)
            yield chunk
        if self._seen not in (None, rows):
            raise DataError(
                "the data have other rows each time they are read: write them to a file that does "
                "not change, and pass that."
            )
        self._seen = rows
        teller.end()


class Teller:
    """Tells how far a pass is: by the clock, in steps of 5%, so that no size can be read off it."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._told, self._next = 0, time.monotonic() + _SECONDS

    def tell(self, fraction: float) -> None:
        """Take note of the fraction of the bytes that are read."""
        if self._progress is None or time.monotonic() < self._next:
            return
        step = min(int(fraction * _STEPS), _STEPS - 1)
        if step > self._told:
            self._told, self._next = step, time.monotonic() + _SECONDS
            self._progress(step / _STEPS)

    def end(self) -> None:
        """Tell that the pass is done."""
        if self._progress is not None:
            self._progress(1.0)
