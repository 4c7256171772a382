"""Which database is meant, and which engine answers: by the type of what was passed, and schema."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tametail._shown import shown, shown_path
from tametail.engines.half_lines import HalfLines
from tametail.engines.keyed import GroupedTable
from tametail.engines.local import LocalEngine, Progress
from tametail.engines.persons.engine import PersonsEngine
from tametail.engines.sql import duck, kinds, postgres
from tametail.engines.sql.column import SqlColumn
from tametail.engines.sql.groups import SqlGroups
from tametail.engines.sql.lite import SqliteSession
from tametail.engines.sql.persons import SqlPersons
from tametail.engines.sql.records import Asked, check_not_text
from tametail.engines.sql.sessions import Session
from tametail.engines.sql.stream import ObjectSource, SqlSource, StreamTable
from tametail.engines.sql.table import SqlTable, StreamedGroups, StreamedPersons
from tametail.engines.tables.computed import Selection
from tametail.engines.tables.frames import pick_column
from tametail.engines.tables.raw import Source
from tametail.errors import ColumnError, DataError, ParameterError
from tametail.keys import Key
from tametail.parse import Parse

#: What answers about a database.
DatabaseEngine = SqlColumn | SqlTable | SqlGroups | SqlPersons

_SQLITE, _DUCKDB = b"SQLite format 3\0", b"DUCK"


def open_session(data: object, table: str | None) -> Session:
    """Return the session over a table; names and declared types have been read, and no record."""
    if kinds.is_duckdb_relation(data):
        if table is not None:
            raise ParameterError("table= beside a relation: it is a table itself; leave table out.")
        return duck.RelationSession(data)
    if table is None:
        raise ParameterError("the data are a database: say which table, as in table='claims'.")
    if kinds.is_postgres_address(data) or kinds.is_postgres_connection(data):
        return postgres.PostgresSession(data, table)  # type: ignore[arg-type]
    if kinds.is_duckdb_connection(data):
        return duck.DuckTableSession(data, table)
    if kinds.is_sqlite_connection(data):
        return SqliteSession(data, table)  # type: ignore[arg-type]
    if isinstance(data, str | os.PathLike):
        path = Path(data).expanduser()
        kind = duck.DuckTableSession if _kind(path) == _DUCKDB else SqliteSession
        return kind(path, table)
    raise ParameterError(
        f"table={shown(table)} is given, but {type(data).__name__} is no database: pass the "
        "address of a PostgreSQL server, a connection, or the file of DuckDB or SQLite."
    )


def _kind(path: Path) -> bytes:
    """Return whose file it is, by the mark at its beginning."""
    head = None
    with suppress(OSError, ValueError), path.open("rb") as file:
        head = file.read(16)
    if head is None:  # raised outside of a handler, whose error quotes what may be no path
        raise DataError(f"there is no file {shown_path(path)} to be read: check the path.")
    if head == _SQLITE:
        return _SQLITE
    if head[8:12] == _DUCKDB:
        return _DUCKDB
    raise DataError(
        f"{shown_path(path)} is neither a DuckDB nor a SQLite file: name one, or leave table= out "
        "for a Parquet or CSV file."
    )


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked of a table, but for the budget."""

    columns: Sequence[str] | None
    where: str | None = None
    person: Sequence[str] = ()
    by: Sequence[str] = ()
    keys: Sequence[Key] | None = None
    parse: Parse | None = None
    progress: Progress | None = None
    lines: HalfLines | None = None


def open_database(data: object, table: str | None, wish: Wish) -> DatabaseEngine:
    """Return the engine over one or several columns of a table."""
    session = open_session(data, table)
    try:
        return _engine(session, wish)
    except BaseException:
        session.close()
        raise


def _engine(session: Session, wish: Wish) -> DatabaseEngine:
    columns = [_only(session)] if wish.columns is None else list(wish.columns)
    source: Source
    if isinstance(session, SqliteSession):
        source, asked = ObjectSource(session, wish.parse), None
        for name in columns if wish.parse is None else ():
            check_not_text(name, session.columns.get(name))
    else:
        source = SqlSource(session, wish.parse)
        asked = Asked(session, columns, wish.where, wish.parse)
        _check_names(session, (*wish.person, *wish.by))
    alone = len(columns) == 1 and not (wish.person or wish.by)
    lines = None if alone else wish.lines
    selection = Selection(source, columns, wish.where, wish.person, wish.by, lines)
    # Records that are clipped first are streamed.
    computable = asked if asked is not None and asked.is_computable and lines is None else None
    if wish.by:
        groups = GroupedTable(selection, wish.progress)
        if wish.keys is not None:
            groups.check(wish.keys)
        kinds = selection.kinds
        if computable is not None and kinds is not None and not wish.person:
            return SqlGroups(session, computable, selection.by, kinds, groups)
        return StreamedGroups(session, groups)
    if wish.person:
        persons = PersonsEngine(selection, wish.progress)
        if computable is not None and not session.in_process:
            return SqlPersons(session, computable, wish.person, persons)
        return StreamedPersons(session, persons)
    if computable is not None and len(columns) == 1:
        return SqlColumn(session, computable.records(0), columns[0])
    return SqlTable(
        session,
        LocalEngine(StreamTable(session, selection), wish.progress, filtered=selection.is_filtered),
        computable,
    )


def _only(session: Session) -> str:
    names = list(session.columns)
    if len(names) != 1:
        raise ParameterError(f"no column is chosen: write column=..., one of {names[:40]}.")
    return names[0]


def _check_names(session: Session, names: Sequence[str]) -> None:
    """Refuse columns of persons and keys whose types cannot be compared exactly."""
    for name in names:
        kind = session.columns[pick_column(list(session.columns), name)]
        if kind in (None, "number"):
            raise ColumnError(
                f"column {name!r} has a type that cannot be compared exactly, so that it names "
                "neither persons nor groups: choose text, whole numbers or dates."
            )
