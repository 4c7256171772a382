"""The rows of a relation as they are read from a source: numbers, whose they are, and their keys.

Values and conditions are computed record by record, by the language of ``expressions``; numbers are
clipped to one-sided bounds, and those of a row for which the condition is not true are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tametail.data.cells import (
    LEFT_OUT,
    SECONDS,
    Array,
    Floats,
    array_to_floats,
    check_array_type,
    check_arrow_type,
)
from tametail.data.columns import Columns
from tametail.data.evaluation import Column, chunk_mask, chunk_values
from tametail.data.keys import kind_of_cells, public_columns
from tametail.data.persons.ids import check_id_type
from tametail.data.relation import Groups, Relation
from tametail.data.sources import CONVERTED, DECODED, Block, Cells, Source, Tell, Wanted
from tametail.data.sources.names import Numbers, pick_column
from tametail.expressions import Expression


class Records(NamedTuple):
    """Some records: their numbers, a row each, and the columns of their ids and of their keys."""

    numbers: Floats
    ids: list[Cells]
    keys: list[Cells]


class Reader:
    """Reads the rows of a relation; names and declared types are checked when it is made."""

    def __init__(self, source: Source, relation: Relation) -> None:
        self.source, self.relation = source, relation
        self._columns = Columns(relation, source.names)
        self._ids: list[Wanted] = [(name, "id") for name in self._columns.ids]
        self._keys: list[Wanted] = [(name, "id") for name in self._columns.keys]
        empty = source.empty(self._wanted(self._columns.read))
        if empty is not None:
            self._check_types(empty)
        #: How the cells of keys are kept; None if a lazy frame does not declare its types.
        self.kinds = None if empty is None else self.kinds_of([empty[one] for one in self._keys])

    def _wanted(self, values: Sequence[Expression]) -> list[Wanted]:
        conditions = [self._columns.where] if self._columns.where else []
        found = [one for each in (*values, *conditions) for one in _columns_of(each)]
        wanted = list(dict.fromkeys([*found, *self._ids, *self._keys]))
        return wanted or [(_any_column(self.source.names), "id")]  # for the number of rows

    def _check_types(self, empty: Block) -> None:
        """Refuse declared types that cannot be what they are taken for."""
        for value in self._columns.given:
            cells = empty[_columns_of(value)[0]] if value.is_name else None
            if isinstance(cells, pa.Array):
                check_arrow_type(value.columns[0], cells.type)
        self._numbers(empty, range(len(self._columns.read)))
        self._ids_of(empty)

    @property
    def conditions(self) -> tuple[bool, ...]:
        """Which of the values are conditions."""
        return self._columns.conditions

    @property
    def units(self) -> tuple[str | None, ...]:
        """What the values are measured in: durations are in seconds."""
        durations = self.source.durations()
        names = (value.columns[0] if value.is_name else None for value in self._columns.values)
        return tuple(SECONDS if name in durations else None for name in names)

    def kinds_of(self, cells: Sequence[Cells]) -> tuple[str, ...]:
        """Return how the cells of the columns of keys are kept, by their declared types."""
        names = (name for name, _ in self._keys)
        return tuple(kind_of_cells(*one) for one in zip(names, cells, strict=True))

    def check(self, groups: Groups) -> None:
        """Refuse public keys that the declared types of their columns cannot hold."""
        if self.kinds is not None:
            public_columns(groups.keys, self.relation.by, self.kinds)

    def blocks(self, tell: Tell) -> Iterator[Records]:
        """Yield the next records, with all values, whose they are and their keys."""
        columns = range(len(self._columns.read))
        for block in self.source.blocks(self._wanted(self._columns.read), tell):
            keys = [block[one] for one in self._keys]
            yield Records(self._numbers(block, columns), self._ids_of(block), keys)

    def numbers(self, columns: Sequence[int], most: int, tell: Tell) -> Iterator[Floats]:
        """Yield the next records, with some of the values and nothing else."""
        chosen = self._wanted([self._columns.read[column] for column in columns])
        for block in self.source.blocks(chosen, tell):
            matrix = self._numbers(block, columns)
            for first in range(0, len(matrix), most):
                yield matrix[first : first + most]
            del block, matrix  # their memory is for the next ones

    def rows(self, relation: Relation) -> ArrayRows | StreamedRows:
        """Return the rows of a relation of records without groups."""
        plain = self._columns.where is None and relation.bounds is None
        values = [self._columns.read[place] for place in relation.places]
        if plain and all(value.is_name for value in values):
            array = self.source.array([value.columns[0] for value in values])
            if array is not None:
                return ArrayRows(array, relation.span)
        return StreamedRows(self, relation)

    def _ids_of(self, block: Block) -> list[Cells]:
        """Return the columns of ids; the types of a lazy frame are known only here."""
        for one in self._ids:
            cells = block[one]
            if isinstance(cells, pa.Array):
                check_id_type(one[0], cells.type)
        return [block[one] for one in self._ids]

    def _numbers(self, block: Block, columns: Sequence[int]) -> Floats:
        found = []
        for column in columns:
            value = self._columns.read[column]
            if value.columns:
                numbers = chunk_values(value, _chunk(value, block))
            else:  # every record counts
                numbers = np.ones(len(next(iter(block.values()))))
            found.append(clipped(numbers, self.relation.bounds_of(column)))
        matrix = side_by_side(found)
        if self._columns.where is None:
            return matrix
        kept = chunk_mask(self._columns.where, _chunk(self._columns.where, block))
        return np.where(kept[:, np.newaxis], matrix, LEFT_OUT)


def _columns_of(expression: Expression) -> list[Wanted]:
    """Return what an expression reads, and as what where no type is declared."""
    texts = expression.text_columns
    return [(name, "text" if name in texts else "number") for name in expression.columns]


def _chunk(expression: Expression, block: Block) -> dict[str, Column]:
    return {one[0]: block[one] for one in _columns_of(expression)}


def _any_column(names: Sequence[str]) -> str:
    """Return the name of a column that there is."""
    return names[0] if names else pick_column(names, "0" if isinstance(names, Numbers) else None)


def side_by_side(columns: Sequence[Floats]) -> Floats:
    """Return columns as a matrix; a single one is not copied."""
    return columns[0][:, np.newaxis] if len(columns) == 1 else np.column_stack(columns)


def clipped(numbers: Floats, bounds: tuple[float, float] | None) -> Floats:
    """Return numbers within bounds; what is missing stays (docs/proofs/one-sided-bounds.md).

    >>> clipped(np.array([-1.0, 5.0, np.nan]), (0.0, np.inf)).tolist()
    [0.0, 5.0, nan]
    """
    if bounds is None:
        return numbers
    low, high = bounds
    above: Floats = np.where(numbers < low, low, numbers)
    return np.where(above > high, high, above)


class ArrayRows:
    """Rows of an array in memory, of any type that holds numbers."""

    def __init__(self, array: Array, span: tuple[int, int] | None = None) -> None:
        matrix = array[:, np.newaxis] if array.ndim == 1 else array
        check_array_type(matrix.dtype)
        self._matrix = matrix if span is None else matrix[slice(*span)]
        is_masked = isinstance(matrix, np.ma.MaskedArray)
        self._is_plain = matrix.dtype == np.float64 and matrix.dtype.isnative and not is_masked
        self.in_place = self._is_plain and bool(matrix.flags.c_contiguous)

    def size(self) -> int:
        """Return the number of rows."""
        return len(self._matrix)

    def chunks(self, most: int, tell: Tell) -> Iterator[Floats]:
        """Yield rows, uncopied if they are doubles."""
        most = most if self.in_place else min(most, CONVERTED)
        for first in range(0, len(self._matrix), most):
            part = self._matrix[first : first + most]
            yield self._floats(part)
            tell((first + len(part)) / len(self._matrix))

    def _floats(self, part: Array) -> Floats:
        if self._is_plain:
            return part  # type: ignore[return-value]
        return array_to_floats(part.reshape(-1)).reshape(part.shape)


class StreamedRows:
    """Rows that are read, or computed, every time that they are asked for."""

    in_place = False

    def __init__(self, reader: Reader, relation: Relation) -> None:
        self._reader, self._places, self._span = reader, relation.places, relation.span

    def size(self) -> int:
        """Return the number of rows, by a pass over them if the source does not know it."""
        known = self._reader.source.size()
        if known is None:
            known = sum(map(len, self._reader.numbers(self._places, DECODED, lambda _: None)))
        return len(range(known)[slice(*self._span)]) if self._span else known

    def chunks(self, most: int, tell: Tell) -> Iterator[Floats]:
        """Yield the rows with all values side by side."""
        parts = self._reader.numbers(self._places, min(most, DECODED), tell)
        return parts if self._span is None else _cut(parts, *self._span)


def _cut(blocks: Iterator[Floats], start: int, stop: int) -> Iterator[Floats]:
    """Yield the rows ``start..stop-1`` of a stream that can only be read from its beginning."""
    position = 0
    for block in blocks:
        yield block[max(start - position, 0) : max(stop - position, 0)]
        position += len(block)
        if position >= stop:
            return
