"""ClickHouse in this process, by chdb: a session or a connection of it, and one of its tables.

Views are refused, and tables that others keep: what they read is not known to a ledger. There is no
snapshot, so that nobody may write to the table during a release.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from tametail.data.sql.dialects import Declared, Dialect
from tametail.data.sql.sessions import Kind, Row, Session, no_table, parts_of
from tametail.errors import DataError
from tametail.expressions.sql import CLICKHOUSE_IS_NUMBER
from tametail.ledger.identity import locators_of

CLICKHOUSE = Dialect(
    name="ClickHouse",
    spoken="clickhouse",
    double="Float64",
    long_text="String",
    present=CLICKHOUSE_IS_NUMBER,
    steps=(
        "reinterpretAsInt64(y) AS b",
        "bitAnd(bitShiftRight(b, 48), 65535) AS bin, "
        "bitAnd(bitShiftRight(b, 20), 268435455) AS rest",
    ),
    whole="accurateCastOrNull({x}, 'Int64')",  # toInt64 raises for NaN
    words=(("bitShiftRight({t}, 26)", 26), ("bitAnd({t}, 67108863)", 0)),  # sums wrap around
    bits="reinterpretAsFloat64(toUInt64({bits}))",  # a setting lets decimals be read inexactly
    binary="CAST({x} AS String)",
    literal="hex",  # a backslash is an escape
    has_nul=True,
    # One literal: a long list would be too many elements of a question.
    member="{x} IN (SELECT arrayJoin(CAST(splitByChar(',', '{items}') AS Array(UInt64))))",
    quote="`",
)

#: For our questions alone, whatever the session has: NULL stays NULL in casts, a name is that of a
#: column before it is one of ours, and text is any bytes.
_SETTINGS: Final = (
    " SETTINGS cast_keep_nullable = 1, prefer_column_name_to_alias = 1, "
    "transform_null_in = 0, output_format_arrow_string_as_string = 0"
)
_TYPES: Final[dict[str, Declared]] = {
    "Float32": "number", "Float64": "number", "UInt64": "number", "Bool": "boolean",
    "String": "text", "Enum8": "text", "Enum16": "text", "Decimal": "decimal", "Date": "moment",
    "Date32": "moment", "DateTime": "moment", "DateTime64": "moment", "UUID": "moment",
    **dict.fromkeys(("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32"), "integer"),
    **dict.fromkeys(("Int128", "Int256", "UInt128", "UInt256"), "decimal"),
}  # fmt: skip
#: Limits on the text of a question, which no question can set for itself.
_LIMITS: Final = ("max_query_size", "max_ast_elements", "max_expanded_ast_elements")
_ENGINES: Final = ("MergeTree", "Memory", "Log", "TinyLog", "StripeLog")


class ClickHouseSession(Session):
    """A table, through a session or a connection of chdb."""

    dialect = CLICKHOUSE
    shown = "ClickHouse"

    def __init__(self, data: Any, table: str) -> None:
        self._data = data
        self._limits = self.rows(f"SELECT {', '.join(f'getSetting({one!r})' for one in _LIMITS)}")
        self._limit((1 << 28,) * len(_LIMITS))
        try:
            self._find(table)
        except BaseException:
            self.close()
            raise

    def _find(self, table: str) -> None:
        *database, name = parts_of(table)
        chosen = self.dialect.text(database[0]) if database else "currentDatabase()"
        tables = self.rows(
            "SELECT database, name, engine, data_paths FROM system.tables "
            f"WHERE database = {chosen}"
        )
        found = [one for one in tables if one[1] == name]
        if not found:
            raise no_table(table, [one[1] for one in tables], self.shown)
        *place, engine, self._paths = found[0]
        if engine not in _ENGINES:
            raise DataError(
                f"The rows of {table!r} are not stored in ClickHouse (its engine is {engine}). "
                "Copy it to a MergeTree table, and use that."
            )
        self.source = ".".join(map(self.column, place))
        where = " AND ".join(f"{one} = {self.dialect.text(part)}" for one, part in
                             zip(("database", "table"), place, strict=True))  # fmt: skip
        columns = self.rows(f"SELECT name, type, default_kind FROM system.columns WHERE {where}")
        self.columns = {name: None if how == "ALIAS" else declared_type(kind)
                        for name, kind, how in columns}  # fmt: skip

    def column(self, name: str) -> str:
        """Return a column as SQL: a backslash is an escape in names, too."""
        return self.dialect.identifier(name.replace("\\", "\\\\"))

    @property
    def locators(self) -> tuple[str, ...]:
        """Where the table lies, for a ledger; one in memory has no place."""
        return locators_of(list(self._paths))

    def rows(self, text: str) -> list[Row]:
        """Return all rows that a question gives."""
        pieces = ([map(_plain, each.to_pylist()) for each in columns]
                  for columns in self.stream(text, ()))  # fmt: skip
        return [row for columns in pieces for row in zip(*columns, strict=True)]

    def stream(self, text: str, kinds: Sequence[Kind]) -> Iterator[list[pa.Array]]:
        """Yield the rows of a question as ClickHouse's own arrays."""
        del kinds  # the question has cast them
        result = self._checked(lambda: self._data.send_query(text + _SETTINGS, "Arrow"), Exception)
        try:
            reader = self._checked(result.record_batch, Exception)
            while (batch := self._checked(lambda: next(reader, None), Exception)) is not None:
                yield list(batch.columns)
        finally:
            result.close()

    def close(self) -> None:
        """Give the session back as it was: it is the caller's, and there is no transaction."""
        self._limit(self._limits[0])

    def _limit(self, limits: Sequence[int]) -> None:
        said = ", ".join(f"{one} = {most}" for one, most in zip(_LIMITS, limits, strict=True))
        self._checked(lambda: self._data.query(f"SET {said}"), Exception)

    def _reason(self, error: Exception) -> str:
        del error
        return "ClickHouse gave no answer. Check that the table can be read completely."


def declared_type(kind: str) -> Declared:
    """Return what a type of ClickHouse holds, by its name.

    >>> declared_type("LowCardinality(Nullable(String))"), declared_type("Array(Float64)")
    ('text', None)
    """
    for wrapper in ("LowCardinality(", "Nullable("):
        kind = kind.removeprefix(wrapper)
    return _TYPES.get(kind.partition("(")[0].rstrip(")"))


def _plain(cell: object) -> object:
    """Return text as Python has it; bytes that are no text keep their places."""
    if isinstance(cell, list):
        return [_plain(each) for each in cell]
    return cell.decode("utf-8", "surrogateescape") if isinstance(cell, bytes) else cell
