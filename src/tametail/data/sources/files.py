"""Which files are meant, and what is said when one cannot be read."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from tametail._shown import shown_path
from tametail.errors import DataError
from tametail.parse import Parse

Item = TypeVar("Item")

#: What a library may raise while records stream by.
UNREADABLE = (pa.ArrowException, OSError, EOFError)

#: The kind of a file, by the ending of its name.
KINDS = {
    ".parquet": "Parquet", ".pq": "Parquet",
    **{f".{text}{packed}": "CSV" for text in ("csv", "tsv") for packed in ("", ".gz", ".zst")},
    ".feather": "Arrow", ".arrow": "Arrow",
    ".jsonl": "JSON lines", ".ndjson": "JSON lines", ".json": "JSON", ".xlsx": "Excel",
}  # fmt: skip

#: The same, by the format that the caller says.
FORMATS = {
    "csv": "CSV", "tsv": "CSV", "parquet": "Parquet", "arrow": "Arrow", "feather": "Arrow",
    "jsonl": "JSON lines", "json": "JSON", "xlsx": "Excel",
}  # fmt: skip


def find_files(path: str | os.PathLike[str], parse: Parse | None = None) -> list[Path]:
    """Return the files that ``path`` names: itself, those in a folder, or a glob's.

    Names that begin with a dot or an underscore are by convention no data, and left out of
    folders; so are names that end otherwise than those of data.
    """
    refuse_address(path)
    place = Path(path).expanduser()
    if os.path.isdir(place):  # unlike Path.is_dir(), raises for no text whatever
        found = sorted(file for file in place.rglob("*") if _is_data(file, place))
        if not found:
            raise DataError(
                f"No data file in folder {shown_path(path)}. Supported: {', '.join(KINDS)}."
            )
    elif os.path.exists(place):
        found = [place]
    else:
        found = sorted(map(Path, glob.glob(str(place), recursive=True)))
        if not found:
            raise DataError(f"No file {shown_path(path)}. Check the path.")
    said = None if parse is None else parse.format
    for file in found:
        if not os.path.isfile(file):
            raise DataError(
                f"{shown_path(file)} cannot be read several times: it is a pipe, a device, a "
                "folder or a broken link. Write the data to a file, or pass a pipe as a stream "
                "('-' on the command line)."
            )
        if not _is_text(str(file)):
            raise DataError(
                "The name of a file or folder is not UTF-8, so it cannot be opened. Rename it."
            )
        if said is None and ending(file) not in KINDS:
            raise DataError(
                f"Unknown file type of {shown_path(path)}. Supported: {', '.join(KINDS)}. For "
                "other names, set the format: parse=Parse(format='csv')."
            )
    return found


def refuse_repeated(files: Iterable[str | os.PathLike[str]]) -> None:
    """Refuse a file that is named twice, be it by a link: each of its records would count twice."""
    known: set[object] = set()
    for file in files:
        one: object = os.fspath(file)
        with suppress(OSError, ValueError):  # an address, or what the reader will complain of
            found = os.stat(file)
            one = (found.st_dev, found.st_ino) if found.st_ino else os.path.realpath(file)
        if one in known:
            raise DataError(
                "A file is named twice (perhaps by a pattern or a link), so each of its records "
                "would count twice, and the privacy loss would double. Name each file once."
            )
        known.add(one)


def kind_of(files: list[Path], parse: Parse | None = None) -> str:
    """Return the one kind of these files."""
    if parse is not None and parse.format is not None:
        return FORMATS[parse.format]
    kinds = {KINDS[ending(file)] for file in files}
    if len(kinds) > 1:
        named = " and ".join(sorted(kinds))
        raise DataError(f"The files are {named} files. Use files of one type.")
    return kinds.pop()


def _is_text(name: str) -> bool:
    """Say whether a name is text; bytes that are not come as halves of characters."""
    try:
        return bool(name.encode())
    except UnicodeEncodeError:
        return False


def _is_data(file: Path, folder: Path) -> bool:
    if ending(file) not in KINDS:
        return False
    parts = file.relative_to(folder).parts
    # A column may be called _year, as in _year=2025.
    hidden = any(part.startswith((".", "_")) and "=" not in part for part in parts)
    return not file.is_dir() and not hidden


def refuse_address(path: str | os.PathLike[str]) -> None:
    """Refuse what lies on another machine, without a word of the address: it may hold a key."""
    found = _ADDRESS.match(os.fsdecode(path))
    if found is None:
        return
    scheme = found[1].lower()
    if scheme in _DATABASES:
        raise DataError(
            f"Databases at {scheme}:// are not supported. Pass a postgresql:// address or a "
            "connection of DuckDB, SQLite, ClickHouse (chdb) or PostgreSQL, or export a Parquet "
            "file."
        )
    if scheme == "file":
        raise DataError(
            "Addresses with file:// are not read. Pass the path alone, as in /data/x.csv."
        )
    how = (
        f"For Parquet, pass pyarrow.dataset.dataset(address), which reads {scheme}:// itself; for "
        "CSV, a stream of pyarrow.fs, with parse=Parse(format='csv')"
        if scheme in ("s3", "gs")
        else "Download it and pass the path"
    )
    raise DataError(
        f"Files at {scheme}:// cannot be read directly. {how}, or copy the file to this computer. "
        "On the command line, pipe a download in with - for standard input."
    )


#: Databases whose dialect nothing here can test.
_DATABASES = frozenset((
    "bigquery", "snowflake", "trino", "presto", "redshift", "mysql", "mariadb", "mssql", "oracle",
    "databricks", "clickhouse",
))  # fmt: skip

#: An address: a scheme of two letters at least, as a drive of Windows has one.
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


def ending(file: Path) -> str:
    """Return the ending of a file's name, with the one before '.gz' or '.zst'."""
    suffixes = file.name.lower().split(".")
    return "." + ".".join(suffixes[-2:] if suffixes[-1] in ("gz", "zst") else suffixes[-1:])


def unreadable(path: Path, kind: str) -> DataError:
    """Return the error with a fixed text: the words of the reading library may quote cells."""
    return DataError(
        f"{shown_path(path)} cannot be read as {kind}: it is truncated, corrupt or in another "
        "format. Write it again."
    )


def guarded(items: Iterable[Item], path: Path, kind: str) -> Iterator[Item]:
    """Yield the items; a failure to read becomes an error that holds nothing of the data."""
    iterator = iter(items)
    while True:
        try:
            item = next(iterator)
        except StopIteration:
            return
        except UNREADABLE:
            break
        yield item
        del item  # its memory is for the next one
    # Raised outside of the handler, so that not even its context quotes the library.
    raise unreadable(path, kind)
