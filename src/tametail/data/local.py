"""The backend of this machine: it answers every query over rows, a chunk at a time.

An answer is one pass over the rows, or none if an earlier pass already saw what it needs. Rows come
from a source as they stream by; rows of persons and of groups are made once, for all questions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial

from tametail.data.cells import Floats
from tametail.data.coded import CodedRows, RowsInMemory
from tametail.data.computed import ComputedRows, products_of, weighed_numbers
from tametail.data.count_and_sample import CountAndSample, PreparedSample
from tametail.data.kernels.passes import Passes
from tametail.data.kernels.threads import threads
from tametail.data.kernels.together import answer_each
from tametail.data.persons.totals import PersonTotals, TotalsByPerson
from tametail.data.persons.vectors import GroupedPersons
from tametail.data.reader import ArrayRows, Reader, side_by_side
from tametail.data.relation import Groups, Relation
from tametail.data.sources import CONVERTED, NumberRows, Tell
from tametail.errors import ColumnError, DataError, InternalError
from tametail.queries.column import ColumnQuery, Count, Median
from tametail.queries.groups import KeyCounts, Keyed, ScaledSquares, ScaledSums
from tametail.queries.persons import View
from tametail.queries.query import Exact, KeysQuery, Query

#: Called with the part of a pass that is done, in steps of 5%; never with rows.
Progress = Callable[[float], None]

_STEPS = 20
_SECONDS = 0.1


class Shared:
    """What all relations over the same rows share: rows of persons and groups are made once."""

    def __init__(self, reader: Reader, progress: Progress | None) -> None:
        self.reader, self.progress = reader, progress
        self._coded: tuple[Groups, CodedRows] | None = None

    @cached_property
    def totals(self) -> PersonTotals:
        """A row for each person."""
        relation = self.reader.relation
        totals = TotalsByPerson(relation.width, filtered=relation.where is not None)
        reporter = ProgressReporter(self.progress)
        for block in self.reader.blocks(reporter.tell):
            totals.add(block.numbers, block.ids)
        reporter.end()
        found = totals.read()
        return found if relation.weights is None else found.weighed()

    @cached_property
    def rows(self) -> RowsInMemory:
        """All rows with the cells of their keys."""
        reporter = ProgressReporter(self.progress)
        found = RowsInMemory.read(self.reader, reporter.tell)
        reporter.end()
        return found

    def coded(self, groups: Groups | None) -> CodedRows:
        """Return the rows of chosen groups."""
        if groups is None:
            raise InternalError("The groups are not chosen yet.")
        if self._coded is None or self._coded[0] is not groups:
            self._coded = groups, CodedRows(self.rows, groups, self.reader.relation.by)
        return self._coded[1]


class Local:
    """Answers queries about a relation over rows that are read in this process.

    The count and the sample for the center share a pass; so do tail, sum and spread; and the sum
    and the squares of a ball.
    """

    is_remote = False

    def __init__(self, reader: Reader, progress: Progress | None = None) -> None:
        self._begin(Shared(reader, progress), reader.relation)

    def _begin(self, shared: Shared, relation: Relation) -> None:
        self._shared, self.relation = shared, relation
        self._sample: PreparedSample | None = None
        self._seen: int | None = None

    def on(self, relation: Relation) -> Local:
        """Return the backend for another relation over the same rows."""
        other = Local.__new__(Local)
        other._begin(self._shared, relation)
        return other

    @property
    def locators(self) -> tuple[str, ...]:
        """Where the records lie, for a ledger, as far as that is known."""
        return self._shared.reader.source.locators

    @property
    def reading(self) -> str | None:
        """How the records are read, in the words of a plan, if that is worth a word."""
        return self._shared.reader.source.reading

    @property
    def units(self) -> tuple[str | None, ...]:
        """What the columns are measured in, where their declared types say so."""
        return self._shared.reader.units

    @property
    def conditions(self) -> tuple[bool, ...]:
        """Which of the columns are conditions."""
        return self._shared.reader.conditions

    def close(self) -> None:
        """End what rows are read through."""
        self._shared.reader.source.close()

    @cached_property
    def _rows(self) -> NumberRows:
        relation, shared = self.relation, self._shared
        if relation.span is not None and (relation.person or relation.groups is not None):
            raise InternalError("Rows of persons and of groups have no positions.")
        if relation.groups is not None:
            coded = shared.coded(relation.groups)
            if relation.person:
                return PersonRows(coded.persons(relation), relation.views)
            return self._weighed(ArrayRows(coded.numbers(relation.codes, relation.places)))
        if relation.person:
            return PersonRows(shared.totals, relation.views)
        rows = shared.reader.rows(relation)
        if relation.products is not None:
            return ComputedRows(rows, partial(products_of, products=relation.products))
        return self._weighed(rows)

    def _weighed(self, rows: NumberRows) -> NumberRows:
        """Return the rows; where records weigh, the number of each by the view."""
        if self.relation.weights is None:
            return rows
        return ComputedRows(rows, partial(weighed_numbers, view=self.relation.views[0]))

    @cached_property
    def _passes(self) -> Passes:
        # Chunks that have to be read or converted come one by one: others could only wait for
        # them; and whoever wants to see the progress wants to be told by one thread.
        alone = self._shared.progress is not None or not self._rows.in_place
        return Passes(1 if alone else threads(), filtered=self._is_filtered)

    @property
    def _is_filtered(self) -> bool:
        # Who has no number in chosen groups is nobody there, with a condition or without.
        relation = self.relation
        return relation.where is not None and not (relation.groups and relation.person)

    @property
    def size(self) -> int:
        """The number of records, missing ones included, or of persons. Public in replace-one."""
        if self._seen is None:
            self._seen = self._counted()
        return self._seen

    def _counted(self) -> int:
        try:
            return len(self._shared.rows) if self._has_keys_to_choose else self._rows.size()
        except ColumnError:
            raise
        except DataError as error:
            raise DataError(
                f"{error} No answer was released, but the failure itself may reveal something "
                "about the records."
            ) from None

    @property
    def _has_keys_to_choose(self) -> bool:
        return bool(self.relation.by) and self.relation.groups is None

    def answer(self, query: Query[object]) -> Exact:
        """Return the exact answer to ``query``, in at most one pass over all rows."""
        match query:
            case KeyCounts():
                return self._shared.rows.weigh_keys(query)
            case Keyed():
                return self.answer_each(query.parts)
            case ScaledSums() | ScaledSquares():
                persons = self._shared.coded(self.relation.groups).persons(self.relation)
                return persons.scaled_totals(query)
            case _ if self._has_keys_to_choose:
                raise InternalError("The groups are not chosen yet.")
        in_place = self._rows.in_place
        if isinstance(query, Count) and not in_place:
            self._count_and_sample()
        if isinstance(query, KeysQuery) and self._sample is not None:
            # A sample is used once: every answer has coins of its own.
            prepared, self._sample = self._sample, None
            sample = prepared.take(query.halvings)
            if sample is not None:
                return Passes().answer(Median(0, query.low, query.high), lambda _: [sample])
        chunks = self._numbers if isinstance(query, ColumnQuery) else self._chunks
        return self._passes.answer(query, chunks)

    def answer_each(self, queries: Sequence[Query[object]]) -> list[Exact]:
        """Return the answer to each query about its own group."""
        relation = self.relation
        if relation.person or relation.weights is not None:
            raise InternalError("A question for each group is about records.")
        (column,) = relation.columns
        each = self._shared.coded(relation.groups).each(relation.codes, column)

        def alone(part: Query[object], values: Floats) -> Exact:
            return Passes(filtered=self._is_filtered).answer(part, partial(_pieces, values))

        return answer_each(queries, each, alone)

    def _count_and_sample(self) -> None:
        """Count the records, if no pass has, and prepare a sample of them for the next question."""
        if self._passes.found:
            return
        counted = CountAndSample(filtered=self._is_filtered)
        for chunk in self._numbers(counted.longest):
            counted.add(chunk)
        self._sample = counted.sample
        self._passes.found[Count] = counted.cells

    def _numbers(self, most: int) -> Iterator[Floats]:
        """Yield the chunks of the one column."""
        if len(self.relation.columns) != 1 and self.relation.view is None:
            raise ColumnError("A query about one column was sent to several. Choose a column.")
        return (chunk[:, 0] for chunk in self._chunks(most))

    def _chunks(self, most: int) -> Iterator[Floats]:
        """Yield the rows, report the progress, and see that they are as many as before."""
        reporter, rows = ProgressReporter(self._shared.progress), 0
        for chunk in self._rows.chunks(most, reporter.tell):
            rows += len(chunk)
            yield chunk
        if self._seen not in (None, rows):
            raise DataError(
                "The data change between reads. Write them to a file that does not change, and "
                "pass that."
            )
        self._seen = rows
        reporter.end()


def _pieces(values: Floats, most: int) -> Iterator[Floats]:
    return (values[first : first + most] for first in range(0, len(values), most))


class PersonRows:
    """A row for each person, some views side by side: made of their totals chunk by chunk."""

    in_place = False

    def __init__(self, persons: PersonTotals | GroupedPersons, views: Sequence[View]) -> None:
        self._persons, self._views = persons, views

    def size(self) -> int:
        """Return the number of persons."""
        return len(self._persons)

    def chunks(self, most: int, tell: Tell) -> Iterator[Floats]:
        """Yield the numbers of some persons at a time."""
        persons, most = self._persons, min(most, CONVERTED)
        for first in range(0, len(persons), most):
            last = min(first + most, len(persons))
            yield side_by_side([persons.numbers(view, first, last) for view in self._views])
            tell(last / len(persons))


class ProgressReporter:
    """Reports how far a pass is: by the clock, in steps of 5%, so that no size can be read off."""

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
        """Report that the pass is done."""
        if self._progress is not None:
            self._progress(1.0)
