"""What a question to DuckDB reads, for a ledger: tables, views, macros and files.

By its syntax, and not by DuckDB's plan: a plan leaves out what statistics of the records exclude.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from tametail.data.sql.dialects import DUCKDB
from tametail.data.sql.sessions import Row
from tametail.ledger.identity import check_places, locator_of, table_of

_QUOTED: Final = r'"(?:[^"]|"")*"'
_HEAD: Final = re.compile(
    rf"CREATE\s.*?VIEW\s+(?:{_QUOTED}|[^\s.\"(]+)(?:\.(?:{_QUOTED}|[^\s.\"(]+))*"
    rf"\s*(?:\((?:{_QUOTED}|[^\")])*\))?\s+AS\s+",
    re.IGNORECASE | re.DOTALL,
)
#: Functions whose first argument names files.
_FILES: Final = re.compile(r"read_\w+|\w+_scan|sniff_csv|glob", re.IGNORECASE)

#: Databases that are files; the path of another one may hold a password.
_IN_FILES: Final = ("duckdb", "sqlite")

#: A node of DuckDB's syntax tree: plain JSON.
_Node = dict[str, Any]


class Reads:
    """The places of what is read, through a connection that answers about its catalogue."""

    def __init__(self, rows: Callable[[str], list[Row]]) -> None:
        self._rows = rows
        self._paths = {
            name: os.path.realpath(os.path.expanduser(path))
            for name, path, kind in rows("SELECT database_name, path, type FROM duckdb_databases()")
            if path and kind in _IN_FILES
        }
        self._known: dict[tuple[str, str, str], str | None] = {
            (database, schema, name): text
            for database, schema, name, text in rows(
                "SELECT database_name, schema_name, table_name, NULL FROM duckdb_tables() "
                "UNION ALL SELECT database_name, schema_name, view_name, sql FROM duckdb_views() "
                "WHERE NOT internal"
            )
        }
        self._macros: dict[str, str] = {
            name.lower(): text if kind == "table_macro" else f"SELECT {text}"
            for name, kind, text in rows(
                "SELECT function_name, function_type, macro_definition FROM duckdb_functions() "
                "WHERE NOT internal AND macro_definition IS NOT NULL"
            )
        }
        self._seen: set[object] = set()
        self._places: list[str] = []

    def of_table(self, database: str, schema: str, name: str) -> tuple[str, ...]:
        """Return where a table lies, or a view and what it reads."""
        self._read_table(database, schema, name)
        return check_places(self._places)

    def of_query(self, text: str) -> tuple[str, ...]:
        """Return where everything lies that a question reads."""
        self._read_query(text)
        return check_places(self._places)

    def _read_query(self, text: str) -> None:
        if text in self._seen:
            return
        self._seen.add(text)
        ((answer,),) = self._rows(f"SELECT json_serialize_sql({DUCKDB.text(text)})")
        for node in _nodes(json.loads(answer).get("statements", [])):
            if node.get("type") == "BASE_TABLE":
                given = (node.get("catalog_name", ""), node.get("schema_name", ""))
                self._read_named(node["table_name"], {part.lower() for part in given if part})
            elif node.get("class") == "FUNCTION":
                self._read_function(node)

    def _read_function(self, node: _Node) -> None:
        name = str(node.get("function_name", "")).lower()
        if name in self._macros:
            self._read_query(self._macros[name])
        for text in _first_texts(node):
            if name == "query":
                self._read_query(text)
            elif name == "query_table":
                self._read_named(text, set())
            elif _FILES.fullmatch(name):
                self._note(locator_of(text))

    def _read_named(self, name: str, given: set[str]) -> None:
        """Read a table by the name in a question; of several that it may be, all of them."""
        found = [
            one
            for one in self._known
            if one[2].lower() == name.lower() and given <= {one[0].lower(), one[1].lower()}
        ]
        for one in found:
            self._read_table(*one)
        if not found and not given and re.search(r"[./]", name):  # DuckDB takes it for a file
            self._note(locator_of(name))

    def _read_table(self, database: str, schema: str, name: str) -> None:
        if (database, schema, name) in self._seen:
            return
        self._seen.add((database, schema, name))
        if database in self._paths:
            self._note(table_of(self._paths[database], schema, name))
        view = self._known.get((database, schema, name))
        if view is not None:
            self._read_query(_HEAD.sub("", view, count=1))

    def _note(self, place: str | None) -> None:
        if place is not None:
            self._places.append(place)


def _nodes(tree: object) -> Iterator[_Node]:
    """Yield every object of a syntax tree."""
    if isinstance(tree, dict):
        yield tree
    for item in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _nodes(item)


def _first_texts(function: _Node) -> list[str]:
    """Return the texts in the first argument of a function; versions write them differently."""
    arguments = function.get("arguments") or function.get("children") or []
    texts = []
    for node in _nodes(arguments[:1]):
        if node.get("class") == "CONSTANT":
            old, new = node.get("value") or {}, node.get("literal") or {}
            texts += [text for text in (old.get("value"), new.get("text")) if isinstance(text, str)]
    return texts
