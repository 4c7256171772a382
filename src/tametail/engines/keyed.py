"""The engine for groups: rows are read once, put in the order of their keys, and then asked.

After one pass over the rows the records of a key lie side by side in memory, so one question for
all keys is one walk over them. Memory: the columns that are averaged, in float64, the cells of the
keys, and a code for each row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tametail.engines import Engine
from tametail.engines.cells import Floats
from tametail.engines.kernels.accumulator import LONG_CHUNK
from tametail.engines.kernels.passes import Passes
from tametail.engines.kernels.together import answer_each
from tametail.engines.keys import (
    Coder,
    Codes,
    joined,
    kept_cells,
    occurring_keys,
    public_columns,
)
from tametail.engines.local import LocalEngine, Progress, Teller
from tametail.engines.persons.groups import PersonGroups, weigh_keys
from tametail.engines.persons.ids import Persons
from tametail.engines.tables.computed import Selection
from tametail.engines.tables.memory import MatrixTable
from tametail.errors import InternalError
from tametail.keys import Key
from tametail.queries.groups import KeyCounts, Keyed
from tametail.queries.query import Exact, Query, SumQuery


class KeyedRows(NamedTuple):
    """All rows, in memory: their numbers, the columns of their keys with their kinds, and whose.

    ``persons`` has a number for each, negative for nobody; it is empty without a column of persons.
    """

    numbers: Floats
    cells: list[pa.Array]
    kinds: tuple[str, ...]
    persons: Codes


class GroupedTable:
    """Values and columns of keys of the same rows; nothing is read before a question."""

    def __init__(self, selection: Selection, progress: Progress | None = None) -> None:
        self._selection, self._progress = selection, progress
        self.columns = selection.columns

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self._rows.numbers)

    def check(self, keys: Sequence[Key]) -> None:
        """Refuse public keys that the declared types of their columns cannot hold."""
        if self._selection.kinds is not None:
            public_columns(keys, self._selection.by, self._selection.kinds)

    def answer(self, query: Query[object]) -> Exact:
        """Return what every key that occurs weighs; other questions are for chosen keys."""
        if not isinstance(query, KeyCounts):
            raise InternalError("the keys are not chosen yet.")
        rows = self._rows
        present = ~np.isnan(rows.numbers).all(axis=1)
        cells = [each.filter(pa.array(present)) for each in rows.cells]
        found = occurring_keys(cells, rows.kinds)
        if not self._of_persons:
            return dict(zip(found.keys, found.counts, strict=True))
        codes = Coder(found.columns, rows.kinds).codes(cells)
        weights = weigh_keys(rows.persons[present], codes, len(found.keys), query)
        return dict(zip(found.keys, weights.tolist(), strict=True))

    @property
    def _of_persons(self) -> bool:
        return self._selection.has_ids

    def grouped(self, keys: Sequence[Key], *, other: bool) -> KeyedEngine | PersonGroups:
        """Return the engine for these keys and, last, for ``other`` rows if they are wanted."""
        rows, codes, count = self._rows, self._codes(keys, other=other), len(keys) + other
        if self._of_persons:
            return PersonGroups(rows.numbers, rows.persons, codes, count, self.columns)
        engine = KeyedEngine.of(rows.numbers, codes, count, self.columns)
        return engine.told(filtered=self._selection.is_filtered)

    def _codes(self, keys: Sequence[Key], *, other: bool) -> Codes:
        """Return the place of every row's key; a negative one if it has none of the keys."""
        rows = self._rows
        public = public_columns(keys, self._selection.by, rows.kinds)
        codes = Coder(public, rows.kinds).codes(rows.cells)
        return np.where(codes < 0, len(keys), codes) if other else codes

    @cached_property
    def _rows(self) -> KeyedRows:
        teller, kinds = Teller(self._progress), self._selection.kinds
        numbers, pieces = [np.empty((0, len(self.columns)))], []
        persons, whose = Persons(), [np.empty(0, dtype=np.int64)]
        for block in self._selection.blocks(teller.tell):
            kinds = self._selection.kinds_of(block.keys)  # of a lazy frame only known here
            numbers.append(block.numbers)
            pieces.append([kept_cells(*one) for one in zip(block.keys, kinds, strict=True)])
            if self._of_persons:
                whose.append(persons.codes(block.ids))
        teller.end()
        if kinds is None:
            raise InternalError("a frame without a block.")
        cells = joined(pieces, kinds)
        return KeyedRows(np.concatenate(numbers), cells, kinds, np.concatenate(whose))

    def rows(self, start: int, stop: int) -> Engine:  # noqa: ARG002
        """Refuse: rows of groups are found by key."""
        raise InternalError("rows by position are not those of a group.")

    def column(self, index: int) -> Engine:  # noqa: ARG002
        """Refuse: the keys come first."""
        raise InternalError("the keys are not chosen yet.")


class KeyedEngine(LocalEngine):
    """Answers questions about all records of some keys, and about each key.

    >>> engine = KeyedEngine.of(np.array([[1.0], [2.0], [4.0]]), np.array([1, 0, 1]), 2, ("0",))
    >>> from tametail.queries.groups import Cells
    >>> engine.answer(Keyed((Cells((0.0, 2.0)), Cells((0.0, 2.0)))))
    [(0, 0, 1), (0, 1, 1)]
    """

    _parts: list[Floats]

    @classmethod
    def of(cls, values: Floats, codes: Codes, count: int, columns: tuple[str, ...]) -> KeyedEngine:
        """Return the engine for rows with these codes; a negative code is no key's."""
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes[order], np.arange(count + 1))
        ordered = values[order]
        return cls._over(
            [ordered[start:stop] for start, stop in pairwise(ends)],
            ordered[ends[0] : ends[-1]],
            columns,
        )

    @classmethod
    def _over(cls, parts: list[Floats], whole: Floats, columns: tuple[str, ...]) -> KeyedEngine:
        engine = cls(MatrixTable(whole, columns))
        engine._parts = parts
        return engine

    def told(self, *, filtered: bool) -> KeyedEngine:
        """Return the engine, told whether a condition leaves records out."""
        self._filtered = filtered
        self._begin(self._table)
        return self

    def answer(self, query: Query[object]) -> Exact:
        """Return the answers for all keys, or one over all records."""
        if not isinstance(query, Keyed):
            return super().answer(query)
        return answer_each(query.parts, [part[:, 0] for part in self._parts], self._alone)

    def _alone(self, query: SumQuery, values: Floats) -> tuple[int, ...]:
        found: tuple[int, ...] = Passes(filtered=self._filtered).answer(
            query, partial(_pieces, values)
        )
        return found

    def keys(self, places: Sequence[int]) -> KeyedEngine:
        """Return the engine for some of the keys."""
        parts = [self._parts[place] for place in places]
        whole = parts[0] if len(parts) == 1 else np.concatenate([self._parts[0][:0], *parts])
        return self._over(parts, whole, self.columns).told(filtered=self._filtered)

    def column(self, index: int) -> KeyedEngine:
        """Return the engine over one column."""
        one = slice(index, index + 1)
        parts = [np.ascontiguousarray(part[:, one]) for part in self._parts]
        one_column = self._over(parts, np.concatenate(parts), (self.columns[index],))
        return one_column.told(filtered=self._filtered)


def _pieces(values: Floats, most: int) -> Iterator[Floats]:
    size = min(most, LONG_CHUNK)
    return (values[start : start + size] for start in range(0, len(values), size))
