"""Rows in memory in the order of their groups: those of a group lie side by side.

Rows with keys are read once: their numbers, which key they have and whose they are. When keys are
chosen, every row gets a code, the place of its key, and the rows are put in the order of codes, so
that one question for all groups is one walk over them. Memory: the columns that are averaged, in
float64, the cells of each key once, and two codes for each row.
"""

from __future__ import annotations

from collections.abc import Sequence
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


class RowsInMemory(NamedTuple):
    """All rows: their numbers, and the numbers of their keys and of the persons whose they are.

    The latter are negative for rows without a key, and for those of nobody; ``persons`` is empty
    without a column of persons.
    """

    numbers: Floats
    keys: Codes
    names: KeyNumbers
    persons: Codes

    @classmethod
    def read(cls, reader: Reader, tell: Tell) -> RowsInMemory:
        """Read all rows of a relation with keys, once."""
        names = None if reader.kinds is None else KeyNumbers(reader.kinds)
        nobody = np.empty(0, dtype=np.int64)
        numbers, keys = [np.empty((0, reader.relation.width))], [nobody]
        persons, whose = Ids(), [nobody]
        for block in reader.blocks(tell):
            if names is None:  # what a lazy frame declares is known only here
                names = KeyNumbers(reader.kinds_of(block.keys))
            numbers.append(block.numbers)
            keys.append(names.add(block.keys))
            if reader.relation.person:
                whose.append(persons.codes(block.ids))
        if names is None:
            raise InternalError("A frame without a block.")
        return cls(np.concatenate(numbers), np.concatenate(keys), names, np.concatenate(whose))

    def weigh_keys(self, query: KeyCounts) -> dict[Key, int]:
        """Return what every key that occurs weighs: its records, or its shares of persons."""
        counted = (self.keys >= 0) & ~np.isnan(self.numbers).all(axis=1)
        names, keys = self.names.occurring, self.keys[counted]
        if len(self.persons):
            weights = bound_keys_per_person(self.persons[counted], keys, len(names), query)
        else:
            weights = np.bincount(keys, minlength=len(names))
        weighed = zip(names, weights.tolist(), strict=True)
        return {key: weight for key, weight in weighed if weight}  # 0: of rows of nobody

    def codes(self, groups: Groups, by: Sequence[str]) -> npt.NDArray[np.int16] | Codes:
        """Return the code of every row; a negative one if it is in none of the groups."""
        numbers = self.names.find(public_columns(groups.keys, by, self.names.kinds))
        code_of: Codes = np.full(len(self.names) + 1, -1)  # the last: of rows without a key
        code_of[numbers[numbers >= 0]] = np.flatnonzero(numbers >= 0)
        if groups.other:
            code_of[code_of < 0] = len(groups.keys)
        return (code_of.astype(np.int16) if len(groups) < _SHORT else code_of).take(self.keys)


class CodedRows:
    """The rows of chosen groups, in the order of their codes."""

    def __init__(self, rows: RowsInMemory, groups: Groups, by: Sequence[str]) -> None:
        codes = rows.codes(groups, by)
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes.take(order), np.arange(len(groups) + 1, dtype=codes.dtype))
        order = order[ends[0] :]  # first come those of no group
        self._ends = ends - ends[0]
        self._numbers = rows.numbers.take(order, axis=0)  # three times as fast as [order]
        self._persons = rows.persons.take(order) if len(rows.persons) else rows.persons
        self._groups = len(groups)
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
