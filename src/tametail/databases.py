"""Databases by name, from a file of yours; for programs and for the page.

``~/.config/tametail/databases.toml``, or the file that TAMETAIL_DATABASES names::

    [claims]
    address = "postgresql://db.example/office"   # or the path of a DuckDB or SQLite file
    table = "billing.claims"                     # may be left out, and is then chosen later

Passwords do not belong there: they are read from PGPASSWORD, ~/.pgpass or a service file, as every
program of PostgreSQL does.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tametail._shown import shown, shown_path
from tametail.errors import ParameterError
from tametail.schema import Schema

__all__ = ["Database", "database", "databases", "schema_of_table"]


@dataclass(frozen=True, slots=True)
class Database:
    """A database that a file names: what ``mean(address, ..., table=table)`` takes."""

    name: str
    address: str
    table: str | None = None


def databases(path: str | os.PathLike[str] | None = None) -> dict[str, Database]:
    """Return the databases that the file names; none if there is no file."""
    place = _place() if path is None else Path(path)
    try:
        text = place.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError):
        raise ParameterError(
            f"{shown_path(place)} cannot be read. Check its permissions."
        ) from None
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        found = {"": None}  # refused below, without a word of the file
    return {name: _database(place, name, entry) for name, entry in found.items()}


def database(name: str, path: str | os.PathLike[str] | None = None) -> Database:
    """Return the database of this name."""
    found = databases(path)
    if name not in found:
        raise ParameterError(
            f"No database {shown(name)}. Databases: {sorted(found)}. Add it to "
            f"{shown_path(_place() if path is None else path)}."
        )
    return found[name]


def schema_of_table(data: object, table: str | None) -> Schema:
    """Return names and declared types of the columns of a table; no record is read."""
    from tametail.data.sql.opening import open_session

    session = open_session(data, table)
    try:
        columns = session.columns.items()
        return Schema(tuple((name, kind or "neither numeric nor text") for name, kind in columns))
    finally:
        session.close()


def _place() -> Path:
    named = os.environ.get("TAMETAIL_DATABASES")
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return Path(named) if named else home / "tametail" / "databases.toml"


def _database(place: Path, name: str, entry: object) -> Database:
    known = {"address", "table"}
    if (
        not isinstance(entry, dict)
        or not all(isinstance(value, str) for value in entry.values())
        or not {"address"} <= set(entry) <= known
    ):
        raise ParameterError(
            f"{shown_path(place)} has an invalid format. Use [claims], then address = "
            "'postgresql://host/db' and optionally table = 'claims'."
        )
    parts = urlsplit(entry["address"])
    if parts.password or "password" in parse_qs(parts.query):
        raise ParameterError(
            f"{shown_path(place)} has a password for {shown(name)}. Remove it, and use ~/.pgpass "
            "or PGPASSWORD."
        )
    return Database(name, entry["address"], entry.get("table"))
