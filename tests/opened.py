"""Data as tests ask them: a backend and a relation together, with the verbs of a relation.

The only file of the tests, beside the recording net's adapters, that knows how the package opens
data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tametail.data.open import open_data
from tametail.data.open import open_one as _open_one
from tametail.data.open import open_rows as _open_rows
from tametail.data.relation import Groups, Relation


class Opened:
    """A backend, asked about one relation."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend

    @property
    def relation(self) -> Relation:
        return self.backend.relation

    @property
    def columns(self) -> tuple[str, ...]:
        return self.backend.relation.names

    @property
    def size(self) -> int:
        return self.backend.size

    @property
    def locators(self) -> tuple[str, ...]:
        return self.backend.locators

    @property
    def reading(self) -> str | None:
        return self.backend.reading

    def answer(self, query: Any) -> Any:
        return self.backend.answer(query)

    def column(self, index: int) -> Opened:
        return self.on(self.relation.column(index))

    def rows(self, start: int, stop: int) -> Opened:
        window = range(self.size)[start:stop]
        return self.on(self.relation.between(window.start, window.stop))

    def view(self, view: Any) -> Opened:
        return self.on(self.relation.per_person(view))

    def chunks(self, most: int) -> Any:
        """Yield the rows as they are read in this process, also those of a database."""
        return getattr(self.backend, "_local", self.backend)._chunks(most)

    def numbers(self, view: Any) -> Any:
        """Return the number of each person by a view, where rows are read in this process."""
        chunks = self.view(view).backend._numbers(1 << 20)
        return np.concatenate([np.empty(0), *chunks])

    def multiplied(self, products: Any) -> Opened:
        """Return the products of all columns, row by row."""
        return self.on(self.relation.multiplied(products))

    def grouped(self, keys: Sequence[Any], *, other: bool) -> Opened:
        return self.on(self.relation.coded(keys, other=other))

    def keys(self, places: Sequence[int]) -> Opened:
        return self.on(self.relation.of([self.relation.codes[place] for place in places]))

    def one_group(self, is_kept: bool) -> Opened:
        """Return each person in their largest group alone."""
        return self.on(replace(self.relation, groups_per_person=1 if is_kept else None))

    def dropped(self, is_dropped: bool) -> Opened:
        """Return the rows that keeping each person to one group leaves out."""
        return self.on(self.relation.dropped()) if is_dropped else self

    def on(self, relation: Relation) -> Opened:
        return Opened(self.backend.on(relation))

    def close(self) -> None:
        self.backend.close()


def open_table(
    data: Any,
    columns: Any = None,
    progress: Any = None,
    parse: Any = None,
    person: Any = None,
    where: str | None = None,
    n_columns: int | None = None,
    table: str | None = None,
    lines: Any = None,
    weights: str | None = None,
) -> Opened:
    """Return columns of data."""
    bounds = lines and tuple(map(tuple, lines))
    relation = Relation((), where, _people(person), bounds=bounds, weights=weights)
    return Opened(
        open_data(
            data,
            columns,
            relation,
            parse=parse,
            progress=progress,
            n_columns=n_columns,
            table=table,
        )
    )


def open_groups(
    data: Any,
    columns: Any,
    by: Sequence[str],
    keys: Sequence[Any] | None = None,
    parse: Any = None,
    *,
    person: Any = None,
    where: str | None = None,
    progress: Any = None,
    table: str | None = None,
    lines: Any = None,
    weights: str | None = None,
) -> Opened:
    """Return columns of data beside the columns that their rows are grouped by."""
    bounds = lines and tuple(map(tuple, lines))
    relation = Relation((), where, _people(person), tuple(by), bounds, weights=weights)
    groups = None if keys is None else Groups(tuple(keys))
    return Opened(
        open_data(
            data, columns, relation, parse=parse, progress=progress, table=table, groups=groups
        )
    )


def open_one(data: Any) -> Opened:
    """Return data that are one column."""
    return Opened(_open_one(data))


def open_rows(data: Any) -> Opened:
    """Return all columns of a matrix, a list of rows or a frame."""
    return Opened(_open_rows(data))


def _people(person: Any) -> tuple[str, ...]:
    return () if person is None else (person,) if isinstance(person, str) else tuple(person)
