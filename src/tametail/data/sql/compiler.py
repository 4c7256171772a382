"""A relation as SQL: one number x for each record or person, NULL or NaN where it is missing.

Every text is made of three levels. The first gives the columns of the table names of ours, in types
that are compared exactly, so that no name of a user's column stands further out and none can be
taken for one of ours. The second computes numbers, conditions and bounds, by ``expressions.sql``,
which no record makes fail. The third gives rows the code of their group, by a join with the keys,
which are public, as a table of constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import pyarrow as pa

from tametail.data.cells import check_arrow_type
from tametail.data.columns import Columns
from tametail.data.keys import TEXT, TRUTH, WHOLE, Kept, public_columns
from tametail.data.relation import Groups, Relation
from tametail.data.sql.dialects import Declared
from tametail.data.sql.sessions import Session
from tametail.data.sql.views import number_of
from tametail.errors import ColumnError, InternalError
from tametail.expressions.sql import TypedColumn, sql_condition, sql_value
from tametail.parse import Parse

#: Kinds of keys by declared types.
_KEYS: dict[Declared, str] = {"text": TEXT, "integer": WHOLE, "boolean": TRUTH}

_TYPES = {WHOLE: "bigint", TRUTH: "boolean"}
_WHOLE = range(-(1 << 63), 1 << 63)


class Compiler:
    """Writes what is asked about a relation over the table of a session.

    Only declared types decide what can be computed in the database.
    """

    def __init__(self, session: Session, relation: Relation, parse: Parse | None = None) -> None:
        self.session, self._parse = session, parse
        self._columns = Columns(relation, list(session.columns))
        self._read, self._where = self._columns.read, self._columns.where
        self._by, self._ids = self._columns.keys, self._columns.ids
        self.conditions = self._columns.conditions
        self.is_filtered = self._where is not None
        self._check_types()

    def _check_types(self) -> None:
        for expression in self._columns.expressions:
            for name in expression.columns:
                if self.session.columns[name] in (None, "moment"):
                    raise ColumnError(
                        f"Column {name!r} is neither numeric nor text, or it is a virtual column, "
                        "which can fail when it is read. Choose another column, use a view that "
                        "converts it, or a stored column."
                    )
                self.session.column(name)  # refused before anything is paid, if it is ambiguous
        for value in self._columns.given:
            if value.is_name and self._parse is None:
                check_not_text(value.columns[0], self.session.columns[value.columns[0]])
        for name in (*self._ids, *self._by):
            self.session.column(name)
            if not self._is_exact(name):
                raise ColumnError(
                    f"Column {name!r} cannot be compared exactly, so it can identify neither "
                    "people nor groups. Choose text, integers or dates."
                )

    def _is_exact(self, name: str) -> bool:
        kind = self.session.columns[name]
        floats = name in self._ids and self.session.compares_floats
        return kind is not None and (kind != "number" or floats)

    @property
    def is_own(self) -> bool:
        """Whether functions are called that no database computes."""
        return any(each.is_own for each in self._columns.expressions)

    @cached_property
    def is_computable(self) -> bool:
        """Whether the database can compute the numbers so that no record makes it fail."""
        kinds = {
            self.session.columns[name]
            for each in self._columns.expressions
            for name in each.columns
        }
        keys = {self.session.columns[name] for name in self._by}
        dialect = self.session.dialect
        spoken = dialect.spoken is not None and self._parse is None
        spoken = spoken and (dialect.has_own_functions or not self.is_own)
        exact = "decimal" not in kinds or dialect.casts_decimals
        return spoken and exact and keys <= set(_KEYS)

    @property
    def kinds(self) -> tuple[str, ...]:
        """How the cells of keys are kept."""
        return tuple(_KEYS[self.session.columns[name]] for name in self._by)

    # ------------------------------------------------------------------------------------- levels

    def _named(self, columns: Sequence[int], *, ids: bool, slot: bool) -> str:
        """Return the columns of the table that are needed, under names of ours."""
        items = [f"{each} AS {name}" for name, each in self._typed(columns).values()]
        items += [f"{self._exact(name)} AS k{place}" for place, name in enumerate(self._by)]
        if ids:
            items += [f"{self._exact(name)} AS p{place}" for place, name in enumerate(self._ids)]
        if slot:
            items.append("ctid AS slot")
        chosen = ", ".join(items or ["1 AS nothing"])
        return f"(SELECT {chosen} FROM {self.session.source}) AS r"

    def _typed(self, columns: Sequence[int]) -> dict[str, tuple[str, str]]:
        """Return our name and the SQL of each column that is computed with."""
        values = [self._read[column] for column in columns]
        conditions = [] if self._where is None else [self._where]
        names = dict.fromkeys(name for each in (*values, *conditions) for name in each.columns)
        return {name: (f"v{place}", self._cast(name)) for place, name in enumerate(names)}

    def _cast(self, name: str) -> str:
        """Return a column as a double, or as text that is compared by its bytes."""
        if self.session.columns[name] == "text":
            return self.session.dialect.binary.format(x=self.session.column(name))
        return self.session.as_double(name)

    def _exact(self, name: str) -> str:
        """Return a column of ids or keys in a type whose equality is that of its cells."""
        dialect, declared = self.session.dialect, self.session.columns[name]
        column = self.session.column(name)
        if declared == "text":
            return dialect.binary.format(x=column)
        if declared == "integer":
            return f"CAST({column} AS bigint)"
        if declared == "number":  # NaN names nobody
            return f"CASE WHEN {dialect.present.format(x=column)} THEN {column} END"
        return column

    def records(
        self,
        relation: Relation,
        columns: Sequence[int],
        *,
        ids: bool = False,
        slot: bool = False,
        barrier: bool = True,
    ) -> str:
        """Return the records behind FROM: x (or x0, ...), f (left out), k0, ..., p0, ..., slot."""
        typed = self._typed(columns)
        columns_of = {
            name: TypedColumn(own, "text" if self.session.columns[name] == "text" else "number")
            for name, (own, _) in typed.items()
        }
        spoken = self.session.dialect.spoken
        if spoken is None:
            raise InternalError("This dialect is not computed in.")
        kept = None if self._where is None else sql_condition(self._where, columns_of, spoken)
        items = []
        for place, column in enumerate(columns):
            number = sql_value(self._read[column], columns_of, spoken)
            number = self._bounded(number, relation.bounds_of(column))
            number = number if kept is None else f"CASE WHEN {kept} THEN {number} END"
            items.append(f"{number} AS {names_of(len(columns))[place]}")
        items.append("0 AS f" if kept is None else f"CASE WHEN {kept} THEN 0 ELSE 1 END AS f")
        items += [f"k{place}" for place in range(len(self._by))]
        items += [f"p{place}" for place in range(len(self._ids) if ids else 0)]
        items += ["slot"] if slot else []
        plain = kept is None and relation.bounds is None
        plain = plain and all(self._read[column].is_name for column in columns)
        stop = self.session.dialect.barrier if barrier and not plain else ""
        named = self._named(columns, ids=ids, slot=slot)
        return f"(SELECT {', '.join(items)} FROM {named}{stop}) AS r"

    def numbers(self, relation: Relation, *, slot: bool = False, barrier: bool = True) -> str:
        """Return the records behind FROM with one number x: where they weigh, that of the view."""
        if relation.weights is None:
            return self.records(relation, relation.columns, slot=slot, barrier=barrier)
        rows = self.records(relation, relation.places, slot=slot, barrier=barrier)
        number = number_of(relation.views[0], self.session.dialect, *names_of(2), weighs=True)
        also = ["f", *self.keys, *(["slot"] if slot else [])]
        return f"(SELECT {number} AS x, {', '.join(also)} FROM {rows}) AS r"

    def _bounded(self, number: str, bounds: tuple[float, float] | None) -> str:
        """Return a number within one-sided bounds; what is missing stays missing."""
        if bounds is None:
            return number
        dialect = self.session.dialect
        low, high = (dialect.number(end) for end in bounds)
        present = dialect.present.format(x=number)
        return f"CASE WHEN {present} THEN least(greatest({number}, {low}), {high}) END"

    def chosen(self, rows: str, groups: Groups, codes: Sequence[int]) -> str:
        """Return rows of some groups; their codes only if looking them up is how to choose rows."""
        if len(self._by) > 1 or groups.other or not codes:
            return self.coded(rows, groups, codes)
        cells = public_columns(groups.keys, self._by, self.kinds)[0]
        keys = [written for code in codes for written in self._written([cells[code]]) or ()]
        return f"(SELECT x, f FROM {rows} WHERE k0 IN ({', '.join(keys or ['NULL'])})) AS q"

    def coded(
        self,
        rows: str,
        groups: Groups,
        codes: Sequence[int],
        constants: Sequence[Sequence[str]] | None = None,
        also: Sequence[str] = ("x", "f"),
    ) -> str:
        """Return rows of some groups with their code, and doubles e0, e1, ... of their own.

        ``rows`` have k0, k1, ...; ``constants`` are the doubles of each of the codes.
        """
        own = dict(zip(codes, constants or [[]] * len(codes), strict=True))
        width = len(next(iter(own.values()), []))
        rest = len(groups.keys) if groups.other and len(groups.keys) in own else None
        wanted = range(len(groups.keys)) if rest is not None else codes
        table = self._keys(groups, {code: own.get(code) for code in wanted}, width)
        same = " AND ".join(f"r.k{place} = k.c{place}" for place in range(len(self._by)))
        items = [f"r.{name}" for name in also]
        if rest is None:
            items += ["k.code", *(f"k.e{place}" for place in range(width))]
            return f"(SELECT {', '.join(items)} FROM {rows} JOIN {table} ON {same}) AS q"
        items.append(f"coalesce(k.code, {rest}) AS code")
        items += [
            f"CASE WHEN k.code IS NULL THEN {end} ELSE k.e{place} END AS e{place}"
            for place, end in enumerate(own[rest])
        ]
        chosen = ", ".join(map(str, codes))
        return (
            f"(SELECT {', '.join(items)} FROM {rows} LEFT JOIN {table} ON {same} "
            f"WHERE coalesce(k.code, {rest}) IN ({chosen})) AS q"
        )

    def _keys(self, groups: Groups, own: Mapping[int, Sequence[str] | None], width: int) -> str:
        """Return a table of codes, cells and doubles.

        Its first line is of NULL, which nothing equals, for the types.
        """
        dialect, kinds = self.session.dialect, self.kinds
        nothing = [f"CAST(NULL AS {dialect.double})"] * width
        typed = [
            dialect.binary.format(x="NULL") if kind == TEXT else f"CAST(NULL AS {_TYPES[kind]})"
            for kind in kinds
        ]
        cells = list(zip(*public_columns(groups.keys, self._by, kinds), strict=True))
        lines: list[list[str]] = [["CAST(NULL AS integer)", *typed, *nothing]]
        for code, doubles in own.items():
            written = self._written(cells[code])
            if written is not None:
                lines.append([str(code), *written, *(nothing if doubles is None else doubles)])
        table = ", ".join(f"({', '.join(line)})" for line in lines)
        places = [f"c{place}" for place in range(len(kinds))]
        names = ", ".join(["code", *places, *(f"e{place}" for place in range(width))])
        return f"(VALUES {table}) AS k({names})"

    def _written(self, cells: Sequence[Kept]) -> list[str] | None:
        """Return the cells of a key as SQL; None if no row of the database can have them."""
        dialect, found = self.session.dialect, []
        for cell, kind in zip(cells, self.kinds, strict=True):
            if isinstance(cell, bytes):
                try:
                    text = cell.decode()
                except UnicodeDecodeError:
                    return None
                if "\0" in text and not dialect.has_nul:
                    return None
                found.append(dialect.text(text))
            elif kind == TRUTH:
                found.append("true" if cell else "false")
            elif cell in _WHOLE:
                found.append(dialect.integer(int(cell)))
            else:
                return None
        return found

    # -------------------------------------------------------------------------------- persons, keys

    @property
    def persons(self) -> tuple[str, ...]:
        """The names of the columns of ids in :meth:`records`."""
        return tuple(f"p{place}" for place in range(len(self._ids)))

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the columns of keys in :meth:`records`."""
        return tuple(f"k{place}" for place in range(len(self._by)))

    def some_number(self, names: Sequence[str]) -> str:
        """Return whether one of these columns has a number."""
        present = self.session.dialect.present
        return f"({' OR '.join(present.format(x=name) for name in names)})"

    def known(self, names: Sequence[str]) -> str:
        """Return whether none of these columns is NULL."""
        return " AND ".join(f"{name} IS NOT NULL" for name in names)

    def check(self, groups: Groups) -> None:
        """Refuse public keys that the declared types of their columns cannot hold."""
        public_columns(groups.keys, self._by, self.kinds)


def names_of(columns: int) -> list[str]:
    """Return how the numbers of so many columns are named in :meth:`Compiler.records`."""
    return ["x"] if columns == 1 else [f"x{place}" for place in range(columns)]


def check_not_text(name: str, declared: Declared) -> None:
    """Refuse a column that is declared as text, in the words that frames have for it."""
    if declared == "text":
        check_arrow_type(name, pa.string())
