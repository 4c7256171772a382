"""Groups of a database: which key a row has is found by a join, and all keys are asked at once.

Public keys, and what each of them is asked, go to the database as a small table; one row for each
key comes back. Cells are compared exactly, text by its bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from tametail.engines import Engine
from tametail.engines.kernels.profile import conclude
from tametail.engines.keyed import GroupedTable, KeyedEngine
from tametail.engines.keys import TEXT, TRUTH, WHOLE, Kept, public_cells
from tametail.engines.persons.groups import PersonGroups
from tametail.engines.sql.column import (
    SqlColumn,
    cells_answer,
    cells_text,
    clipped_answer,
    how_many,
    lattice_ends,
    profile_of,
    ticks_text,
)
from tametail.engines.sql.dialects import LARGEST_CENTRE, Dialect
from tametail.engines.sql.records import Asked, Records
from tametail.engines.sql.sessions import Row, Session
from tametail.errors import InternalError
from tametail.keys import Key
from tametail.queries.column import ClippedSum, Count, DistanceSum, Squares, TailNodes
from tametail.queries.groups import Cells, KeyCounts, Keyed
from tametail.queries.query import Exact, Query

#: If more groups than this are asked one by one, their rows are read once instead.
MOST_ALONE = 8

_TYPES = {WHOLE: "bigint", TRUTH: "boolean"}
_WHOLE = range(-(1 << 63), 1 << 63)


@dataclass(frozen=True, slots=True)
class KeyTable:
    """Chosen keys as a table of constants: a code and the cells of each."""

    dialect: Dialect
    columns: tuple[str, ...]
    """The columns of keys, as SQL that is compared exactly."""
    kinds: tuple[str, ...]
    cells: tuple[tuple[Kept, ...], ...]
    """The cells of each key, in its order."""
    other: bool
    """Whether all other rows are one group more, the last."""

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(self.cells) + self.other

    def joined(
        self, rows: str, places: Sequence[int], extras: Sequence[Sequence[str]] | None = None
    ) -> str:
        """Return rows of some groups beside their codes, behind FROM.

        ``rows`` have columns x, f, slot and k0, k1, ...; ``extras`` are doubles e0, e1, ... of
        the chosen places.
        """
        own = dict(zip(places, extras or [[]] * len(places), strict=True))
        width = len(next(iter(own.values()), []))
        rest = len(self.cells) if self.other and len(self.cells) in places else None
        wanted = range(len(self.cells)) if rest is not None else places
        table = self._constants({place: own.get(place) for place in wanted}, width)
        same = " AND ".join(f"r.k{j} = k.c{j}" for j in range(len(self.columns)))
        if rest is None:
            more = "".join(f", k.e{j}" for j in range(width))
            chosen = f"{rows} AS r JOIN {table} ON {same}"
            return f"(SELECT r.x, r.f, r.slot, k.code{more} FROM {chosen}) AS q"
        more = "".join(
            f", CASE WHEN k.code IS NULL THEN {end} ELSE k.e{j} END AS e{j}"
            for j, end in enumerate(own[rest])
        )
        codes = ", ".join(map(str, places))
        return (
            f"(SELECT r.x, r.f, r.slot, coalesce(k.code, {rest}) AS code{more} FROM {rows} AS r "
            f"LEFT JOIN {table} ON {same} WHERE coalesce(k.code, {rest}) IN ({codes})) AS q"
        )

    def _constants(self, places: Mapping[int, Sequence[str] | None], width: int) -> str:
        """Return a table of codes, cells and doubles.

        Its first line is of NULL, which nothing equals, for the types.
        """
        nothing = [f"CAST(NULL AS {self.dialect.double})"] * width
        typed = [self.dialect.binary.format(x="NULL") if kind == TEXT else
                 f"CAST(NULL AS {_TYPES[kind]})" for kind in self.kinds]  # fmt: skip
        lines: list[list[str]] = [["CAST(NULL AS integer)", *typed, *nothing]]
        for place, extras in places.items():
            written = self._written(self.cells[place])
            if written is not None:
                lines.append([str(place), *written, *(nothing if extras is None else extras)])
        rows = ", ".join(f"({', '.join(line)})" for line in lines)
        cells = [f"c{j}" for j in range(len(self.columns))]
        names = ", ".join(["code", *cells, *(f"e{j}" for j in range(width))])
        return f"(VALUES {rows}) AS k({names})"

    def _written(self, cells: tuple[Kept, ...]) -> list[str] | None:
        """Return the cells of a key as SQL; None if no row of a database can have them."""
        found = []
        for cell, kind in zip(cells, self.kinds, strict=True):
            if isinstance(cell, bytes):
                try:
                    text = cell.decode()
                except UnicodeDecodeError:
                    return None
                if "\0" in text:
                    return None
                found.append(self.dialect.binary.format(x=self.dialect.text(text)))
            elif kind == TRUTH:
                found.append("true" if cell else "false")
            elif cell in _WHOLE:
                found.append(self.dialect.integer(int(cell)))
            else:
                return None
        return found


class SqlGroups:
    """Rows of a database with keys, of which none is chosen yet."""

    def __init__(
        self,
        session: Session,
        asked: Asked,
        by: Sequence[str],
        kinds: Sequence[str],
        streamed: GroupedTable,
    ) -> None:
        self._session, self._asked, self._streamed = session, asked, streamed
        self._by, self._kinds = tuple(by), tuple(kinds)
        self.columns = asked.columns

    @property
    def locator(self) -> str | None:
        """Where the table lies, for a ledger."""
        return self._session.locator

    @property
    def reading(self) -> str:
        """How the records are read, in the words of a plan."""
        return (
            f"computed in {self._session.dialect.name}, a row for each group; the rows of groups "
            f"that are estimated alone are read once if there are more than {MOST_ALONE}"
        )

    def close(self) -> None:
        """End the session."""
        self._session.close()

    @cached_property
    def size(self) -> int:
        """The number of rows."""
        ((rows,),) = self._session.rows(f"SELECT count(*) FROM {self._session.source}")
        return int(rows)

    def answer(self, query: Query[object]) -> Exact:
        """Return the records of every key that occurs; other questions are for chosen keys."""
        if not isinstance(query, KeyCounts):
            raise InternalError("the keys are not chosen yet.")
        keys = ", ".join(f"k{j}" for j in range(len(self._by)))
        known = " AND ".join(f"k{j} IS NOT NULL" for j in range(len(self._by)))
        present = " OR ".join(
            self._session.dialect.present.format(x=f"({self._asked.records(j).value})")
            for j in range(len(self.columns))
        )
        found = self._session.rows(
            f"SELECT {keys}, count(*) FROM (SELECT {self._key_columns} FROM "
            f"{self._session.source} WHERE {present}) AS r WHERE {known} GROUP BY {keys}"
        )
        return {Key(tuple(cells)): int(count) for *cells, count in found}

    @property
    def _key_columns(self) -> str:
        return ", ".join(f"{text} AS k{j}" for j, text in enumerate(self._texts))

    @property
    def _texts(self) -> tuple[str, ...]:
        dialect = self._session.dialect
        names = (dialect.identifier(name) for name in self._by)
        return tuple(
            dialect.binary.format(x=name) if kind == TEXT else name
            for name, kind in zip(names, self._kinds, strict=True)
        )

    def grouped(self, keys: Sequence[Key], *, other: bool) -> SqlKeyed:
        """Return the engine for these keys and, last, for ``other`` rows if they are wanted."""
        columns = [
            public_cells(keys, place, name, kind)
            for place, (name, kind) in enumerate(zip(self._by, self._kinds, strict=True))
        ]
        cells = tuple(zip(*columns, strict=True))
        table = KeyTable(self._session.dialect, self._texts, self._kinds, cells, other)
        shared = Shared(
            {name: self._rows(index) for index, name in enumerate(self.columns)},
            "slot" if self._session.places() else None,
            table,
            lambda: self._streamed.grouped(keys, other=other),
            is_filtered=self._asked.where is not None,
        )
        return SqlKeyed(self._session, shared, self.columns, range(table.count))

    def _rows(self, index: int) -> str:
        """Return the records with their number and the cells of their keys."""
        records = self._asked.records(index)
        slot = records.slot if self._session.places() else "0"
        barrier = "" if records.is_plain else records.dialect.barrier
        return (
            f"(SELECT {records.value} AS x, {self._asked.flag} AS f, {slot} AS slot, "
            f"{self._key_columns} "
            f"FROM {records.source}{barrier})"
        )

    def rows(self, start: int, stop: int) -> Engine:  # noqa: ARG002
        """Refuse: rows of groups are found by key."""
        raise InternalError("rows by position are not those of a group.")

    def column(self, index: int) -> Engine:  # noqa: ARG002
        """Refuse: the keys come first."""
        raise InternalError("the keys are not chosen yet.")


class Shared:
    """What engines over parts of the same groups share."""

    def __init__(
        self,
        rows: dict[str, str],
        slot: str | None,
        table: KeyTable,
        read: Callable[[], KeyedEngine | PersonGroups],
        *,
        is_filtered: bool,
    ) -> None:
        self.rows, self.slot, self.table, self._read = rows, slot, table, read
        self.is_filtered = is_filtered
        self.alone: set[tuple[str, int]] = set()
        """Columns and groups that are asked one by one."""

    @cached_property
    def engine(self) -> KeyedEngine:
        """The groups in memory, if their rows are read once."""
        found = self._read()
        if not isinstance(found, KeyedEngine):
            raise InternalError("groups of persons are not computed in a database.")
        return found


class SqlKeyed(SqlColumn):
    """Answers questions about all records of some keys, and about each key."""

    def __init__(
        self, session: Session, shared: Shared, columns: tuple[str, ...], places: Sequence[int]
    ) -> None:
        self._shared, self._places = shared, list(places)
        source = shared.table.joined(shared.rows[columns[0]], self._places)
        left_out = f"SELECT count(*) FROM {source} WHERE f = 1" if shared.is_filtered else None
        records = Records(session.dialect, source, "x", slot=shared.slot, left_out=left_out)
        super().__init__(session, records, columns[0])
        self.columns = columns

    def answer(self, query: Query[object]) -> Exact:
        """Return the answers for all keys, or one over all records."""
        if self._is_read_once:
            return self._local.answer(query)
        if not isinstance(query, Keyed):
            return super().answer(query)
        for kinds, way in _WAYS.items():
            if all(isinstance(part, kinds) for part in query.parts):
                return way(self, query)
        return self._one_by_one(query)

    def _one_by_one(self, query: Keyed) -> list[tuple[int, ...]]:
        return [self.keys([j]).answer(part) for j, part in enumerate(query.parts)]

    def _counts_by_key(self, query: Keyed) -> list[tuple[int, ...]]:
        aggregates = f"count(*), {how_many(self._records.present)}, sum(f)"
        return self._by_key(query.parts, None, aggregates, _counted, "true")

    def _cells_by_key(self, query: Keyed) -> list[tuple[int, ...]]:
        cuts = [[self._number(cut) for cut in part.cuts] for part in _of(Cells, query)]
        widths = {len(each) for each in cuts}
        if len(widths) != 1:
            return self._one_by_one(query)
        names = [f"e{place}" for place in range(*widths)]
        return self._by_key(query.parts, cuts, cells_text(names), _in_cells)

    @property
    def _is_read_once(self) -> bool:
        (column, *_), places = self.columns, self._places
        alone = sum(name == column for name, _ in self._shared.alone)
        return len(places) == 1 and (column, places[0]) in self._shared.alone and alone > MOST_ALONE

    @cached_property
    def _local(self) -> KeyedEngine:
        index = list(self._shared.rows).index(self.columns[0])
        return self._shared.engine.column(index).keys(self._places)

    def _clipped_sums(self, query: Keyed) -> list[tuple[int, ...]]:
        dialect = self._session.dialect
        ends = [lattice_ends(part, dialect) for part in _of(ClippedSum, query)]
        names = {name: f"e{j}" for j, name in enumerate(ends[0])} if ends else {}
        extras = [[self._number(end) for end in each.values()] for each in ends]
        terms = f"sum({ticks_text(dialect, names)}), count(*)"
        return self._by_key(query.parts, extras, terms, _clipped)

    def _by_key(
        self,
        parts: Sequence[Query[object]],
        extras: Sequence[Sequence[str]] | None,
        aggregates: str,
        conclude_part: Callable[[Query[object], Row | None], tuple[int, ...]],
        among: str | None = None,
    ) -> list[tuple[int, ...]]:
        """Ask for one row of aggregates for each key; a key without records has none.

        They are of the numbers, or of the rows for which ``among`` is true.
        """
        rows = self._shared.rows[self.columns[0]]
        source = self._shared.table.joined(rows, self._places, extras)
        found = self._session.rows(
            f"SELECT code, {aggregates} FROM {source} "
            f"WHERE {among or self._records.present} GROUP BY code"
        )
        by_code = {int(code): tuple(cells) for code, *cells in found}
        return [
            conclude_part(part, by_code.get(place))
            for part, place in zip(parts, self._places, strict=True)
        ]

    def _profiles_by_key(self, query: Keyed) -> list[tuple[int, ...]]:
        parts = [p for p in query.parts if isinstance(p, TailNodes | Squares | DistanceSum)]
        if any(abs(part.centre) >= LARGEST_CENTRE for part in parts):
            return self._one_by_one(query)
        dialect, rows = self._session.dialect, self._shared.rows[self.columns[0]]
        centres = [[self._number(part.centre)] for part in parts]
        source = self._shared.table.joined(rows, self._places, centres)
        found = self._session.rows(
            f"SELECT code, {dialect.bin.format(b='b')} AS bin, count(*), "
            f"sum({dialect.rest.format(b='b')}) FROM (SELECT code, "
            f"{dialect.bits.format(y='x - e0')} AS b FROM {source} "
            f"WHERE {self._records.present}{dialect.barrier}) AS d GROUP BY 1, 2"
        )
        bins: dict[int, list[Row]] = {place: [] for place in self._places}
        for code, *rest in found:
            bins[int(code)].append(tuple(rest))
        pairs = zip(parts, self._places, strict=True)
        return [conclude(part, profile_of(bins[place])) for part, place in pairs]

    def keys(self, places: Sequence[int]) -> SqlKeyed:
        """Return the engine for some of the keys."""
        chosen = [self._places[place] for place in places]
        if len(chosen) == 1:
            self._shared.alone.add((self.columns[0], chosen[0]))
        return SqlKeyed(self._session, self._shared, self.columns, chosen)

    def column(self, index: int) -> SqlKeyed:
        """Return the engine over one column."""
        return SqlKeyed(self._session, self._shared, (self.columns[index],), self._places)


#: How parts of some kinds are answered for all keys at once.
_WAYS: dict[tuple[type, ...], Callable[[SqlKeyed, Keyed], list[tuple[int, ...]]]] = {
    (Count,): SqlKeyed._counts_by_key,
    (Cells,): SqlKeyed._cells_by_key,
    (ClippedSum,): SqlKeyed._clipped_sums,
    (TailNodes, Squares, DistanceSum): SqlKeyed._profiles_by_key,
}

Part = TypeVar("Part")


def _of(kind: type[Part], query: Keyed) -> list[Part]:
    return [part for part in query.parts if isinstance(part, kind)]


def _counted(part: Query[object], found: Row | None) -> tuple[int, ...]:  # noqa: ARG001
    rows, numbers, left_out = (int(number or 0) for number in found or (0, 0, 0))
    return numbers, rows - numbers - left_out, left_out


def _in_cells(part: Query[object], found: Row | None) -> tuple[int, ...]:
    if not isinstance(part, Cells):
        raise InternalError("cells are read from cells.")
    return cells_answer(found or (0,) * (len(part.cuts) + 1))


def _clipped(part: Query[object], found: Row | None) -> tuple[int, ...]:
    if not isinstance(part, ClippedSum):
        raise InternalError("a clipped sum is read from one.")
    return clipped_answer(part, *(found or (0, 0)))
