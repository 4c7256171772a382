"""Rows in memory in the order of their groups: those of a group lie side by side.

Rows with keys are read once: their numbers, which key they have and whose they are. When keys are
chosen, every row gets a code, the place of its key, and the rows are put in the order of codes, so
that one question for all groups is one walk over them. Memory: the columns that are averaged, in
float64, twice, the cells of each key once, and two codes for each row. To find memory takes as long
as to fill it, so that rows are put in order block by block.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tametail.data.cells import Floats
from tametail.data.keys import Codes, KeyNumbers, public_columns
from tametail.data.persons.ids import Ids
from tametail.data.persons.vectors import GroupedPersons, bound_keys_per_person, largest_groups
from tametail.data.reader import Reader
from tametail.data.relation import Groups, Relation
from tametail.data.sources import Tell
from tametail.errors import InternalError
from tametail.keys import Key
from tametail.queries.groups import KeyCounts

#: Codes below this are 16-bit numbers, which are sorted in linear time.
_SHORT = 1 << 15

#: The fewest rows of a block, but of the last one: each costs a walk over all groups as well.
_ROWS = 1 << 17


class KeyedRows(NamedTuple):
    """Some rows: their numbers, and the numbers of their keys and of the persons whose they are.

    The latter are negative for rows without a key, and for those of nobody; ``persons`` is empty
    without a column of persons.
    """

    numbers: Floats
    keys: Codes
    persons: Codes

    @classmethod
    def joined(cls, parts: Iterable[KeyedRows]) -> KeyedRows:
        """Return the rows of some parts; a copy, so that nothing else of their blocks is kept."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


@dataclass(frozen=True, slots=True)
class RowsInMemory:
    """All rows, and the cells of their keys."""

    blocks: list[KeyedRows]
    names: KeyNumbers

    @classmethod
    def read(cls, reader: Reader, tell: Tell) -> RowsInMemory:
        """Read all rows of a relation with keys, once."""
        names = None if reader.kinds is None else KeyNumbers(reader.kinds)
        persons, nobody = Ids(), np.empty(0, dtype=np.int64)
        blocks, size = [], 0
        parts = [KeyedRows(np.empty((0, reader.relation.width)), nobody, nobody)]
        for block in reader.blocks(tell):
            if names is None:  # what a lazy frame declares is known only here
                names = KeyNumbers(reader.kinds_of(block.keys))
            whose = persons.codes(block.ids) if reader.relation.person else nobody
            parts.append(KeyedRows(block.numbers, names.add(block.keys), whose))
            size += len(block.numbers)
            if size >= _ROWS:
                blocks.append(KeyedRows.joined(parts))
                parts, size = [], 0
        if names is None:
            raise InternalError("A frame without a block.")
        return cls([*blocks, *([KeyedRows.joined(parts)] if parts else [])], names)

    def __len__(self) -> int:
        return sum(len(block.numbers) for block in self.blocks)

    def weigh_keys(self, query: KeyCounts) -> dict[Key, int]:
        """Return what every key that occurs weighs: its records, or its shares of persons."""
        numbers, keys, persons = KeyedRows.joined(self.blocks)
        counted = (keys >= 0) & ~np.isnan(numbers).all(axis=1)
        names, keys = self.names.occurring, keys[counted]
        if len(persons):
            weights = bound_keys_per_person(persons[counted], keys, len(names), query)
        else:
            weights = np.bincount(keys, minlength=len(names))
        weighed = zip(names, weights.tolist(), strict=True)
        return {key: weight for key, weight in weighed if weight}  # 0: of rows of nobody

    def codes(self, groups: Groups, by: Sequence[str]) -> list[npt.NDArray[np.int16] | Codes]:
        """Return the codes of all rows, block by block; negative ones of those in no group."""
        numbers = self.names.find(public_columns(groups.keys, by, self.names.kinds))
        code_of: Codes = np.full(len(self.names) + 1, -1)  # the last: of rows without a key
        code_of[numbers[numbers >= 0]] = np.flatnonzero(numbers >= 0)
        if groups.other:
            code_of[code_of < 0] = len(groups.keys)
        short = code_of.astype(np.int16) if len(groups) < _SHORT else code_of
        return [short.take(block.keys) for block in self.blocks]


class CodedRows:
    """The rows of chosen groups, in the order of their codes."""

    def __init__(self, rows: RowsInMemory, groups: Groups, by: Sequence[str]) -> None:
        self._groups, codes = len(groups), rows.codes(groups, by)
        # How many rows of each block are in no group, and in each.
        sizes = [np.bincount(own + np.int64(1), minlength=self._groups + 1) for own in codes]
        self._ends: Codes = np.cumsum([0, *np.sum(sizes, axis=0)[1:]])
        numbers, _, persons = rows.blocks[0]
        self._numbers = np.empty((self._ends[-1], numbers.shape[1]))
        self._persons = np.empty(self._ends[-1] if len(persons) else 0, dtype=np.int64)
        free = self._ends[:-1].copy()  # where the next row of each group goes
        for block, own, size in zip(rows.blocks, codes, sizes, strict=True):
            order = np.argsort(own, kind="stable")[size[0] :]  # first come those of no group
            shift = free - np.cumsum(size[1:]) + size[1:]
            places = np.repeat(shift, size[1:]) + np.arange(len(order))
            self._numbers[places] = block.numbers.take(order, axis=0)
            if len(block.persons):
                self._persons[places] = block.persons.take(order)
            free += size[1:]
        self._found: dict[tuple[object, ...], GroupedPersons] = {}

    @cached_property
    def _codes(self) -> Codes:
        return np.repeat(np.arange(self._groups), np.diff(self._ends))

    def numbers(self, codes: Sequence[int], columns: Sequence[int]) -> Floats:
        """Return the numbers of the rows of some groups, group after group."""
        parts = [self._part(code, columns) for code in codes]
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([np.empty((0, len(columns))), *parts])

    def each(self, codes: Sequence[int], column: int) -> list[Floats]:
        """Return the numbers of one column, an array for each of some groups."""
        return [self._part(code, [column])[:, 0] for code in codes]

    def _part(self, code: int, columns: Sequence[int]) -> Floats:
        rows = self._numbers[self._ends[code] : self._ends[code + 1]]
        every = len(columns) == rows.shape[1]
        return rows if every else np.ascontiguousarray(rows[:, list(columns)])

    @cached_property
    def _is_kept(self) -> npt.NDArray[np.bool_]:
        # A row without a number is nowhere: nobody is kept to a group in which they have none.
        codes = np.where(np.isnan(self._numbers).all(axis=1), -1, self._codes)
        return largest_groups(self._persons, codes, max(self._groups, 1))

    def persons(self, relation: Relation) -> GroupedPersons:
        """Return the persons of some groups, each in their largest alone if that is said."""
        key = relation.codes, relation.groups_per_person, relation.is_dropped
        if key not in self._found:
            rows = self._rows_of(relation.codes)
            own = self._codes[rows]
            if relation.groups_per_person == 1:
                own = np.where(self._is_kept[rows] != relation.is_dropped, own, -1)
            self._found[key] = GroupedPersons(
                self._numbers[rows], self._persons[rows], own, self._groups,
                is_weighed=relation.weights is not None,
            )  # fmt: skip
        return self._found[key]

    def _rows_of(self, codes: Sequence[int]) -> Codes:
        ranges = [np.arange(*self._ends[code : code + 2]) for code in codes]
        return np.concatenate([np.empty(0, dtype=np.int64), *ranges])
