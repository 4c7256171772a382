"""What a data set is: a name. And where it lies: a locator, which no second name may use.

Names are agreed on by people. A locator is the canonical path or address of a file, a folder or a
table, without credentials; never an inode, a size or a date, which are reused or depend on the
data. A copy under another path cannot be recognized without reading it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit, urlunsplit

from tametail._shown import shown
from tametail.errors import ParameterError

_NAME: Final = re.compile(r"[^\W_][\w.:@ /+-]{0,199}")
_WILD: Final = re.compile(r"[*?\[]")
_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_SERVER: Final = re.compile(r"postgres(ql)?://")
#: Halves of characters that no path holds; U+DC80 to U+DCFF stand for bytes that are no text.
_NO_PATH: Final = re.compile("[\ud800-\udc7f\udd00-\udfff\0]")
_LONGEST_ID: Final = 200
_MOST_PLACES: Final = 64

#: Where data lie: one locator, several, or none that is known.
Places: TypeAlias = "str | Sequence[str] | None"


def check_name(name: object) -> str:
    """Return the name of a data set, or say what one looks like.

    >>> check_name("claims-2025")
    'claims-2025'
    """
    if isinstance(name, str) and _NAME.fullmatch(name) and name == name.strip():
        return name
    raise ParameterError(
        f"Invalid dataset={shown(name)}. Use up to 200 letters, digits, spaces and . : @ / + - _, "
        "such as dataset='claims-2025'."
    )


def check_release_id(release_id: object) -> str:
    """Return the id of a release, or say what one looks like."""
    if isinstance(release_id, str) and 0 < len(release_id) <= _LONGEST_ID:
        clean = release_id.isprintable() and release_id == release_id.strip()
        if clean:
            return release_id
    raise ParameterError(
        f"Invalid release_id={shown(release_id)}. Use a short text, such as 'report-q3'."
    )


def locator_of(data: object, table: str | None = None) -> str | None:
    """Return where data lie; None for frames, arrays and streams, which have no place.

    A table is told from others of its database by its name behind a ``#``.

    >>> locator_of("s3://key:secret@bucket/claims.parquet?versionId=3")
    's3://bucket/claims.parquet'
    >>> locator_of([1.0, 2.0]) is None, locator_of("-") is None
    (True, True)
    """
    if table is not None:
        parts = [part.strip('"') for part in table.split(".")][-2:]
        if isinstance(data, str) and _SERVER.match(data):
            return table_of(_split(_server, data), *parts)
        place = locator_of(data)
        return None if place is None else table_of(place, *parts)
    if isinstance(data, str) and _ADDRESS.match(data):
        return _split(_address, data)
    if not isinstance(data, str | bytes | os.PathLike):
        return None
    text = _NO_PATH.sub(_escaped, os.fsdecode(data))
    if text in ("", "-"):
        return None
    text = os.path.expanduser(text)  # as whoever opens it does
    wild = _WILD.search(text)
    if wild and not os.path.exists(text):  # a pattern: its fixed folder stands for all that match
        text = os.path.dirname(text[: wild.start()]) or "."
    return _storable(Path(os.path.realpath(text)).as_posix())


def locators_of(
    data: object, table: str | None = None, files: Iterable[str | os.PathLike[str]] = ()
) -> tuple[str, ...]:
    """Return all places in which data lie; a list or a tuple holds paths.

    ``files`` are those that were found: a link in a folder may lead out of it.

    >>> locators_of(["/data/a.csv", "/data/b.csv", "/data"])
    ('/data',)
    """
    named = data if isinstance(data, list | tuple) else [data]
    places = [locator_of(one, table) for one in (*named, *files)]
    return check_places([place for place in places if place is not None])


def check_places(locator: Places) -> tuple[str, ...]:
    """Return locators without those that lie in another; many files are one folder."""
    given = [locator] if isinstance(locator, str) else () if locator is None else locator
    is_list = isinstance(given, list | tuple)
    if not is_list or not all(isinstance(place, str) for place in given):
        raise ParameterError(
            f"Invalid locator={shown(locator)}. Use the output of "
            "tametail.ledger.locators_of(data)."
        )
    places = _outermost(map(_storable, given))
    while len(places) > _MOST_PLACES:
        folders = _outermost(folders_above(place)[:2][-1] for place in places)
        if folders == places:
            break
        places = folders
    return places


def _outermost(places: Iterable[str]) -> tuple[str, ...]:
    """Return the places that lie in no other, in their order."""
    known = dict.fromkeys(places)
    return tuple(
        place for place in known if not any(one in known for one in folders_above(place)[1:])
    )


def table_of(place: str, *parts: str) -> str:
    """Return where a table of a database lies; the usual schema is left out.

    >>> table_of("/data/claims.duckdb", "main", "visits"), table_of("/data/a.db", "old", "visits")
    ('/data/claims.duckdb#visits', '/data/a.db#old.visits')
    """
    shown_parts = parts[1:] if len(parts) > 1 and parts[0] in ("public", "main") else parts
    return f"{place}#{'.'.join(shown_parts)}"


def server_address(host: str, port: object, database: str) -> str:
    """Return where a database of PostgreSQL lies; a socket, and this machine, are localhost.

    >>> server_address("/var/run/postgresql", "", "claims")
    'postgresql://localhost:5432/claims'
    """
    here = host in ("", "127.0.0.1", "::1") or host.startswith(("/", "@"))
    return f"postgresql://{'localhost' if here else host.lower()}:{port or 5432}/{database}"


def _split(read: Callable[[str], str], address: str) -> str:
    try:
        return _storable(read(address))
    except ValueError:
        pass  # raised below, without what may be a password
    raise ParameterError("Invalid address of the data. Check host and port.")


def _server(address: str) -> str:
    """Return what an address of PostgreSQL says of the place; user and password are left out."""
    parts = urlsplit(address)
    options = {name: values[0] for name, values in parse_qs(parts.query).items()}
    database = unquote(parts.path.lstrip("/")) or unquote(parts.username or "")
    host = options.get("host", unquote(parts.hostname or ""))
    return server_address(host, options.get("port", parts.port), options.get("dbname", database))


def _storable(path: str) -> str:
    """Return a path as text that every database takes; bytes that are no text are escaped."""
    text = _NO_PATH.sub(_escaped, path)
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _address(address: str) -> str:
    """Return an address without user, password, default query and trailing slash."""
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2].lower()
    if parts.scheme.lower() == "file":
        return _storable(Path(os.path.realpath(unquote(parts.path))).as_posix())
    wild = _WILD.search(parts.path)
    path = os.path.dirname(parts.path[: wild.start()]) if wild else parts.path
    return urlunsplit((parts.scheme.lower(), host, path.rstrip("/"), "", parts.fragment))


def folders_above(place: str) -> list[str]:
    """Return a locator and everything that contains it.

    >>> folders_above("/data/claims/2025.parquet")
    ['/data/claims/2025.parquet', '/data/claims', '/data', '/']
    """
    start = place.find("://") + 3 if "://" in place else 0
    found = [place]
    database, mark, table = place.partition("#")
    if mark:  # a table, in the one that it is a partition of, in its database
        found += [f"{database}#{table[:end]}" for end in _cuts(table)]
        found.append(database)
    while (end := found[-1].rfind("/")) > start:
        found.append(found[-1][:end])
    return [*found, "/"] if place.startswith("/") and place != "/" else found


def _cuts(table: str) -> list[int]:
    return [place for place in range(len(table) - 1, 0, -1) if table[place] == "/"]


def inside(place: str) -> list[tuple[str, str]]:
    """Return the ranges of text that hold everything within a locator."""
    folder = place if place.endswith("/") else f"{place}/"
    return [(mark, mark[:-1] + chr(ord(mark[-1]) + 1)) for mark in (folder, f"{place}#")]
