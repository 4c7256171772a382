"""One row for each person: exact totals of their records, and what views make of these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tametail.data.cells import LEFT_OUT, Floats, are_left_out
from tametail.data.persons.ids import UNKNOWN, Ids
from tametail.data.persons.spill import SpilledArray, SpilledRecords, memory_limit
from tametail.data.persons.sums import ExactSums
from tametail.data.sources import Cells
from tametail.doubles import LARGEST
from tametail.errors import InternalError
from tametail.queries.persons import PersonMean, PersonResidual, PersonRows, View

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PersonTotals:
    """Totals of persons, a row for each."""

    sums: Floats
    counts: Floats
    kept: Floats | None = None
    """How many records a condition does not leave out; None without a condition."""
    weights: Floats | None = None
    """What a person weighs, which is then their c; None if it is their number of records."""

    def __len__(self) -> int:
        return len(self.sums)

    def weighed(self) -> PersonTotals:
        """Return the totals of w y with those of w, the second column, as weights."""
        return PersonTotals(self.sums[:, :1], self.counts[:, :1], self.kept, self.sums[:, 1:])

    def numbers(self, view: View, start: int = 0, stop: int | None = None) -> Floats:
        """Return a number for each person; each operation is one of IEEE 754, person by person."""
        sums, counts = (each[start:stop, view.column] for each in (self.sums, self.counts))
        weights = counts if self.weights is None else self.weights[start:stop, view.column]
        rows = np.where(counts > 0, weights.astype(np.float64), np.nan)
        with np.errstate(all="ignore"):
            if isinstance(view, PersonRows):
                found = rows
            elif isinstance(view, PersonMean):
                found = np.clip(sums / rows, -LARGEST, LARGEST)
            elif isinstance(view, PersonResidual):
                found = np.clip(sums - view.ratio * rows, -LARGEST, LARGEST)
            else:
                raise InternalError("The records are not known by group.")
        # A condition leaves a person out if it leaves all of their records out.
        return found if self.kept is None else np.where(self.kept[start:stop] > 0, found, LEFT_OUT)


class TotalsByPerson:
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
        self._persons = Ids()
        self._sums = [ExactSums() for _ in range(self._columns)]
        self._kept: Integers = np.zeros(0, dtype=np.int64)
        self._spilled: SpilledRecords | None = None

    def add(self, matrix: Floats, ids: Sequence[Cells]) -> None:
        """Add records; one without an id belongs to nobody and is dropped."""
        codes = self._persons.codes(ids, more=self._spilled is None)
        for index, sums in enumerate(self._sums):
            sums.add(codes, matrix[:, index], len(self._persons))
        if self._filtered:  # a condition leaves a record out with all of its numbers
            whose = codes[(codes >= 0) & ~are_left_out(matrix[:, 0])]
            found = np.bincount(whose, minlength=len(self._persons))
            found[: len(self._kept)] += self._kept
            self._kept = found
        if self._spilled is not None:
            self._spilled.add(ids, matrix, codes == UNKNOWN)
        elif self._bytes > self._limit and all(isinstance(each, pa.Array) for each in ids):
            self._spilled = SpilledRecords()

    @property
    def _bytes(self) -> int:
        return self._persons.bytes + sum(each.bytes for each in self._sums) + self._kept.nbytes

    def read(self) -> PersonTotals:
        """Return the totals of everybody."""
        rows = self._own()
        if self._spilled is not None:
            rest = SpilledArray()
            for part in self._parts():
                rest.add(part)
            rows = rest.read(rows.shape[1])
        ends = self._columns, 2 * self._columns
        kept = rows[:, ends[1]] if self._filtered else None
        return PersonTotals(rows[:, : ends[0]], rows[:, ends[0] : ends[1]], kept)

    def _own(self) -> Floats:
        """Return sums, counts and records that were kept, of those in memory."""
        integers = [*(each.counts for each in self._sums), *([self._kept] * self._filtered)]
        columns = [each.read() for each in self._sums]
        return np.column_stack([*columns, *(each.astype(np.float64) for each in integers)])

    def _parts(self) -> Iterator[Floats]:
        """Yield the rows of those in memory, then of those in each file, who fit or wait again."""
        yield self._own()
        waiting = self._spilled
        self._begin()  # those in memory are done: make room
        for part in () if waiting is None else waiting.parts():
            others = TotalsByPerson(self._columns, filtered=self._filtered, limit=self._limit)
            for matrix, ids in part:
                others.add(matrix, ids)
            yield from others._parts()
