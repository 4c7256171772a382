"""Columns that are computed and filtered record by record, by the language of ``expressions``."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tametail.engines.cells import LEFT_OUT, Floats, check_arrow_type
from tametail.engines.evaluation import Column, chunk_mask, chunk_values
from tametail.engines.half_lines import HalfLines, clipped, half_line
from tametail.engines.keys import kind_of_cells
from tametail.engines.persons.ids import check_id_type
from tametail.engines.tables import Tell, cut
from tametail.engines.tables.frames import pick_column
from tametail.engines.tables.memory import side_by_side
from tametail.engines.tables.raw import Block, Cells, Source, Wanted
from tametail.expressions import Expression
from tametail.expressions.tree import Name


class Records(NamedTuple):
    """Some records: their numbers, a row each, and the columns of their ids and of their keys."""

    numbers: Floats
    ids: list[Cells]
    keys: list[Cells]


class Selection:
    """Which numbers each record has: values, all missing where the condition is not true."""

    def __init__(
        self,
        source: Source,
        values: Sequence[str],
        where: str | None = None,
        ids: Sequence[str] = (),
        keys: Sequence[str] = (),
        lines: HalfLines | None = None,
    ) -> None:
        self._source, self._lines = source, lines
        self.columns = tuple(values)
        self._values = [value_of(source.names, text) for text in values]
        self._where = None if where is None else Expression.parse_condition(where)
        self._ids: list[Wanted] = [(pick_column(source.names, name), "id") for name in ids]
        self._keys: list[Wanted] = [(pick_column(source.names, name), "id") for name in keys]
        self._wanted = self._find_wanted()
        empty = source.empty(self._wanted)
        if empty is not None:
            self._check_types(empty)
        #: How the cells of keys are kept; None if a lazy frame does not declare its types.
        self.kinds = None if empty is None else self.kinds_of([empty[one] for one in self._keys])

    def _find_wanted(self) -> list[Wanted]:
        conditions = [] if self._where is None else [self._where]
        found = [one for each in (*self._values, *conditions) for one in _columns_of(each)]
        for name, _ in found:
            pick_column(self._source.names, name)
        return list(dict.fromkeys([*found, *self._ids, *self._keys]))

    def _check_types(self, empty: Block) -> None:
        """Refuse declared types that cannot be what they are taken for."""
        for value in self._values:
            cells = empty[_columns_of(value)[0]] if value.is_name else None
            if isinstance(cells, pa.Array):
                check_arrow_type(value.columns[0], cells.type)
        self._numbers(empty)
        self._ids_of(empty)

    @property
    def is_filtered(self) -> bool:
        """Whether a condition leaves records out."""
        return self._where is not None

    def blocks(self, tell: Tell) -> Iterator[Records]:
        """Yield the next records."""
        for block in self._source.blocks(self._wanted, tell):
            keys = [block[one] for one in self._keys]
            yield Records(self._numbers(block), self._ids_of(block), keys)

    @property
    def has_ids(self) -> bool:
        """Whether it is known whose records are whose."""
        return bool(self._ids)

    @property
    def by(self) -> tuple[str, ...]:
        """The names of the columns of keys."""
        return tuple(name for name, _ in self._keys)

    def kinds_of(self, cells: Sequence[Cells]) -> tuple[str, ...]:
        """Return how the cells of the columns of keys are kept, by their declared types."""
        return tuple(kind_of_cells(*one) for one in zip(self.by, cells, strict=True))

    def _ids_of(self, block: Block) -> list[Cells]:
        """Return the columns of ids; the types of a lazy frame are known only here."""
        for one in self._ids:
            cells = block[one]
            if isinstance(cells, pa.Array):
                check_id_type(one[0], cells.type)
        return [block[one] for one in self._ids]

    def _numbers(self, block: Block) -> Floats:
        matrix = side_by_side([chunk_values(each, _chunk(each, block)) for each in self._values])
        matrix = clipped(matrix, self._lines)
        if self._where is None:
            return matrix
        kept = chunk_mask(self._where, _chunk(self._where, block))
        return np.where(kept[:, np.newaxis], matrix, LEFT_OUT)

    def column(self, index: int) -> Selection:
        """Return the selection with one of its values."""
        one = copy.copy(self)
        one.columns, one._values = (self.columns[index],), [self._values[index]]
        if self._lines is not None:
            one._lines = [half_line(self._lines, index)]
        return one


def _columns_of(expression: Expression) -> list[Wanted]:
    """Return what an expression reads, and as what where no type is declared."""
    texts = expression.text_columns
    return [(name, "text" if name in texts else "number") for name in expression.columns]


def _chunk(expression: Expression, block: Block) -> dict[str, Column]:
    return {one[0]: block[one] for one in _columns_of(expression)}


def value_of(names: Sequence[str], text: str) -> Expression:
    """Return the column of this name, if there is one, or else what the text computes."""
    if text in names:
        return Expression(Name(text))
    value = Expression.parse_value(text)
    for name in value.columns:
        pick_column(names, name)
    return value


def is_computed(names: Sequence[str], text: str) -> bool:
    """Say whether a text is no column and reads like a computation."""
    return text not in names and any(sign in text for sign in "+-*/`")


class ComputedTable:
    """The values of a selection: a table whose records may be filtered and computed."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self.columns = selection.columns
        self.in_place = False

    def rows(self) -> int:
        """Return the number of rows, by a pass over them."""
        return sum(len(records.numbers) for records in self._selection.blocks(lambda _: None))

    def chunks(self, most: int, start: int, stop: int | None, tell: Tell) -> Iterator[Floats]:
        """Yield rows with all values side by side."""
        return cut(self._parts(most, tell), start, stop)

    def _parts(self, most: int, tell: Tell) -> Iterator[Floats]:
        for matrix, *_ in self._selection.blocks(tell):
            for first in range(0, len(matrix), most):
                yield matrix[first : first + most]

    def column(self, index: int) -> ComputedTable:
        """Return the table of one value."""
        return ComputedTable(self._selection.column(index))
