"""The engine for groups: rows are read once, put in the order of their keys, and then asked.

One pass over the values and one over the columns of keys; after it the records of a key lie side by
side in memory, so one question for all keys is one walk over them. Memory: the columns that are
averaged, in float64, and a code for each row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from tametail.engines import Engine
from tametail.engines.cells import Floats
from tametail.engines.kernels.accumulator import LONG_CHUNK
from tametail.engines.kernels.passes import Passes
from tametail.engines.keys import Coder, Codes, distinct_keys, public_cells
from tametail.engines.local import LocalEngine
from tametail.engines.tables import Table
from tametail.engines.tables.keys import KeyColumns
from tametail.engines.tables.memory import MatrixTable
from tametail.errors import DataError, InternalError, ParameterError
from tametail.keys import Key
from tametail.queries.groups import KeyCounts, Keyed


class GroupedTable:
    """Values and columns of keys of the same rows; nothing is read before a question."""

    def __init__(self, table: Table, keys: KeyColumns) -> None:
        self._table, self._keys = table, keys
        self.columns = table.columns

    @property
    def size(self) -> int:
        """The number of rows."""
        return self._table.rows()

    def check(self, keys: Sequence[Key]) -> None:
        """Refuse public keys that the declared types of their columns cannot hold."""
        columns = self._public(keys)
        if len(set(zip(*columns, strict=True))) < len(keys):
            raise ParameterError("keys= names a group twice: name each once.")

    def _public(self, keys: Sequence[Key]) -> list[list[Any]]:
        named = enumerate(zip(self._keys.names, self._keys.kinds, strict=True))
        return [public_cells(keys, place, name, kind) for place, (name, kind) in named]

    def answer(self, query: Any) -> Any:
        """Return the rows of every key that occurs; other questions are for chosen keys."""
        if not isinstance(query, KeyCounts):
            raise InternalError("the keys are not chosen yet.")
        return distinct_keys(self._cells, self._keys.kinds)

    def grouped(self, keys: Sequence[Key], *, other: bool) -> KeyedEngine:
        """Return the engine for these keys and, last, for ``other`` rows if they are wanted."""
        coder = Coder(self._public(keys), self._keys.kinds)
        chunks = [chunk.combine_chunks() for chunk in self._cells]
        codes = coder.codes(chunks)
        values = self._values
        if len(values) != len(codes):
            raise DataError(
                "the data have other rows each time they are read: write them to a file that does "
                "not change, and pass that."
            )
        if other:
            codes = np.where(codes < 0, len(keys), codes)
        return KeyedEngine.of(values, codes, len(keys) + other, self.columns)

    @cached_property
    def _cells(self) -> list[Any]:
        return self._keys.read()

    @cached_property
    def _values(self) -> Floats:
        chunks = [chunk.copy() for chunk in self._table.chunks(1 << 16, 0, None, lambda _: None)]
        return np.concatenate([np.empty((0, len(self.columns))), *chunks])

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
    >>> engine.answer(Keyed((Cells(0.0, 2.0), Cells(0.0, 2.0))))
    [(0, 1, 0), (0, 1, 1)]
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

    def answer(self, query: Any) -> Any:
        """Return the answers for all keys, or one over all records."""
        if not isinstance(query, Keyed):
            return super().answer(query)
        parts: Any = query.parts  # queries about one column, each with a pass of its own
        return [
            Passes().answer(part, partial(_pieces, values[:, 0]))
            for part, values in zip(parts, self._parts, strict=True)
        ]

    def keys(self, places: Sequence[int]) -> KeyedEngine:
        """Return the engine for some of the keys."""
        parts = [self._parts[place] for place in places]
        whole = parts[0] if len(parts) == 1 else np.concatenate([self._parts[0][:0], *parts])
        return self._over(parts, whole, self.columns)

    def column(self, index: int) -> KeyedEngine:
        """Return the engine over one column."""
        one = slice(index, index + 1)
        parts = [np.ascontiguousarray(part[:, one]) for part in self._parts]
        return self._over(parts, np.concatenate(parts), (self.columns[index],))


def _pieces(values: Floats, most: int) -> Iterator[Floats]:
    size = min(most, LONG_CHUNK)
    return (values[start : start + size] for start in range(0, len(values), size))
