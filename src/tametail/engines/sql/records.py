"""The question behind all others: one number x for every record, NULL or NaN where it is missing.

Conditions and computed columns are written by ``expressions.sql``, which no record makes fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from tametail.engines.cells import check_arrow_type
from tametail.engines.sql.dialects import Declared, Dialect
from tametail.engines.sql.sessions import Session
from tametail.engines.tables.frames import pick_column
from tametail.errors import ColumnError, InternalError
from tametail.expressions import Expression
from tametail.expressions.sql import Declared as Spoken
from tametail.expressions.sql import Dialect as Language
from tametail.expressions.sql import sql_condition, sql_value
from tametail.expressions.tree import Name
from tametail.parse import Parse

#: What ``expressions.sql`` makes of the declared types that it can compute with.
_SPOKEN: dict[Declared, Spoken] = {
    "number": "number", "integer": "number", "boolean": "boolean", "text": "text",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Records:
    """Which rows are records, and which number each of them has."""

    dialect: Dialect
    source: str
    """What stands behind FROM."""
    value: str
    """The number, as SQL."""
    is_plain: bool = True
    """Whether the number is a column, which may be named more than once."""
    kept: str | None = None
    """Which rows are records, where not all of them are."""
    slot: str | None = None
    """The place of a row, if the rows are those of a table that may know their places."""
    left_out: str | None = None
    """The question how many records a condition leaves out, where there is one."""

    @property
    def relation(self) -> str:
        """The records with their number x, behind FROM."""
        barrier = "" if self.is_plain else self.dialect.barrier
        return f"(SELECT {self.value} AS x FROM {self.rows}{barrier}) AS r"

    @property
    def rows(self) -> str:
        """The records with all of their columns, behind FROM."""
        return self.source if self.kept is None else f"{self.source} WHERE {self.kept}"

    def among(self, condition: str) -> str:
        """Return the records with their number x, of those for which a condition is true."""
        kept = condition if self.kept is None else f"({self.kept}) AND ({condition})"
        return f"SELECT {self.value} AS x FROM {self.source} WHERE {kept}"

    @property
    def present(self) -> str:
        """Whether x is not missing."""
        return self.dialect.present.format(x="x")


class Asked:
    """Values and condition of a request, over the columns of a session: checked, not yet SQL.

    Only declared types decide what can be computed in the database.
    """

    def __init__(
        self,
        session: Session,
        values: Sequence[str],
        where: str | None,
        parse: Parse | None = None,
    ) -> None:
        self.session = session
        self.parse = parse
        self.columns = tuple(values)
        names = list(session.columns)
        self.values = [_value(names, text) for text in values]
        self.where = None if where is None else Expression.parse_condition(where)
        for expression in (*self.values, *([] if self.where is None else [self.where])):
            for name in expression.columns:
                _check_type(pick_column(names, name), session.columns[name])
        for value in self.values:
            if value.is_name and parse is None:
                check_not_text(value.columns[0], session.columns[value.columns[0]])

    @property
    def is_computable(self) -> bool:
        """Whether the database can compute the numbers so that no record makes it fail."""
        if self.parse is not None:
            return False
        parts = (*self.values, *([] if self.where is None else [self.where]))
        kinds = {self.session.columns[name] for part in parts for name in part.columns}
        return self.session.dialect.spoken is not None and kinds <= set(_SPOKEN)

    def records(self, index: int) -> Records:
        """Return the records with one of the values."""
        value = self.values[index]
        text = self._number(value)
        if self.where is not None:
            text = f"CASE WHEN {self._condition(self.where)} THEN {text} END"
        plain = value.is_name and self.where is None
        return Records(
            self.session.dialect, self.session.source, text,
            is_plain=plain, slot="ctid", left_out=self.left_out(),
        )  # fmt: skip

    @property
    def flag(self) -> str:
        """1 for a row that the condition leaves out, and for which it may be unknown; else 0."""
        if self.where is None:
            return "0"
        return f"CASE WHEN {self._condition(self.where)} THEN 0 ELSE 1 END"

    def left_out(self, ids: Sequence[str] = ()) -> str | None:
        """Return the question how many rows are left out, or how many persons with all of theirs.

        ``ids`` are the columns of persons, as SQL.
        """
        source = self.session.source
        if self.where is None:
            return None
        if not ids:
            return f"SELECT count(*) FROM {source} WHERE {self.flag} = 1"
        known = " AND ".join(f"{each} IS NOT NULL" for each in ids)
        return (
            f"SELECT count(*) FROM (SELECT 1 FROM {source} WHERE {known} "
            f"GROUP BY {', '.join(ids)} HAVING min({self.flag}) = 1) AS v"
        )

    def _number(self, value: Expression) -> str:
        return sql_value(value, self._spoken, self._language)

    def _condition(self, where: Expression) -> str:
        return sql_condition(where, self._spoken, self._language)

    @property
    def _language(self) -> Language:
        spoken = self.session.dialect.spoken
        if spoken is None:
            raise InternalError("this dialect is not computed in.")
        return spoken

    @property
    def _spoken(self) -> dict[str, Spoken]:
        declared = self.session.columns.items()
        return {name: _SPOKEN[kind] for name, kind in declared if kind in _SPOKEN}


def _value(names: Sequence[str], text: str) -> Expression:
    """Return the column of this name, if there is one, or else what the text computes."""
    if text in names or not any(sign in text for sign in "+-*/`"):
        return Expression(Name(pick_column(names, text)))
    return Expression.parse_value(text)


def check_not_text(name: str, declared: Declared) -> None:
    """Refuse a column that is declared as text, in the words that frames have for it."""
    if declared == "text":
        check_arrow_type(name, pa.string())


def _check_type(name: str, kind: Declared) -> None:
    if kind in (None, "moment"):
        raise ColumnError(
            f"column {name!r} has a type that is neither numeric nor text: choose another column, "
            "or make a view that converts it."
        )
