"""Files for people: a new one is written beside the old one and takes its place when it is whole.

An existing file is never opened for writing, so that whatever fails leaves it as it was. And a
database is never replaced: it may be the ledger.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TextIO
from uuid import uuid4

from tametail._shown import shown_path
from tametail.errors import ParameterError

#: What SQLite keeps beside a database.
_BESIDE: Final = ("-journal", "-wal", "-shm")
_HEADER: Final = 100  # bytes, with which every database begins


@contextmanager
def written_beside(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """Open a file to write, which takes the place of ``path`` if nothing fails.

    Raises :class:`ParameterError` for a target that is a database, and OSError.
    """
    refuse_database(path)
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe or a device, which holds nothing
        with open(path, "w", encoding="utf-8", newline="") as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name[:100]}.{uuid4().hex}")
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o666

    def closed_to_others(name: str, flags: int) -> int:
        return os.open(name, flags, mode)  # from the first byte on

    try:
        with open(beside, "x", encoding="utf-8", newline="", opener=closed_to_others) as file:
            yield file
        if target.exists():
            shutil.copymode(target, beside)
        beside.replace(target)
    finally:
        with suppress(OSError):
            beside.unlink()


def refuse_database(path: str | os.PathLike[str]) -> None:
    """Raise a :class:`ParameterError` if ``path`` is a database of SQLite, such as a ledger."""
    real = os.path.realpath(path)
    names = [real, *(real.removesuffix(end) for end in _BESIDE if real.endswith(end))]
    if any(is_sqlite(name) is not False for name in names):
        raise ParameterError(
            f"{shown_path(path)} is part of a database and may be a ledger. It was not changed. "
            "Write to another file."
        )


def is_sqlite(path: str | os.PathLike[str]) -> bool | None:
    """Say whether a file is a database of SQLite, by SQLite itself; None while it is locked.

    To open and close the file would drop the locks that this process holds on it.
    """
    import sqlite3
    from urllib.parse import quote

    if not os.path.isfile(path) or os.path.getsize(path) < _HEADER:
        return False
    try:
        connection = sqlite3.connect(
            f"file:{quote(os.path.abspath(path))}?mode=ro", uri=True, timeout=0
        )
    except sqlite3.Error:
        return None
    try:
        connection.execute("PRAGMA schema_version").fetchall()
    except sqlite3.Error as error:
        return False if "not a database" in str(error) else None
    finally:
        connection.close()
    return True
