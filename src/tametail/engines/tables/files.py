"""Which files are meant, and what is said when one cannot be read."""

from __future__ import annotations

import csv
import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from tametail._shown import shown_path
from tametail.errors import ColumnError, DataError

Item = TypeVar("Item")

#: What a library may raise while records stream by.
UNREADABLE = (pa.ArrowException, OSError, EOFError, csv.Error)

#: The kind of a file, by the ending of its name.
KINDS = {".parquet": "Parquet", ".csv": "CSV", ".csv.gz": "CSV", ".tsv": "CSV", ".tsv.gz": "CSV"}


def find_files(path: str | os.PathLike[str]) -> list[Path]:
    """Return the files that ``path`` names: itself, a folder's Parquet files, or a glob's.

    Names that begin with a dot or an underscore are by convention no data, and left out of
    folders.
    """
    place = Path(path).expanduser()
    if os.path.isdir(place):  # unlike Path.is_dir(), raises for no text whatever
        found = sorted(file for file in place.rglob("*.parquet") if _is_data(file, place))
        if not found:
            raise DataError(f"the folder {str(path)!r} holds no .parquet file: name one that does.")
    elif os.path.exists(place):
        found = [place]
    else:
        found = sorted(map(Path, glob.glob(str(place), recursive=True)))
        if not found:
            raise DataError(f"there is no file {shown_path(path)}: check the path.")
    for file in found:
        if ending(file) not in KINDS:
            raise DataError(
                f"{str(path)!r} is of an unknown kind: files named {', '.join(KINDS)} are read."
            )
    return found


def kind_of(files: list[Path]) -> str:
    """Return the one kind of these files."""
    kinds = {KINDS[ending(file)] for file in files}
    if len(kinds) > 1:
        raise DataError("the files are Parquet and CSV files: name files of one kind.")
    return kinds.pop()


def _is_data(file: Path, folder: Path) -> bool:
    hidden = any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
    return file.is_file() and not hidden


def ending(file: Path) -> str:
    """Return the ending of a file's name, with the one before '.gz'."""
    suffixes = file.name.lower().split(".")
    return "." + ".".join(suffixes[-2:] if suffixes[-1] == "gz" else suffixes[-1:])


def unreadable(path: Path, kind: str) -> DataError:
    """Return the error with a fixed text: the words of the reading library may quote cells."""
    return DataError(
        f"{str(path)!r} cannot be read as {kind}: it is truncated, corrupt or of another format; "
        "write it again."
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
    # Raised outside of the handler, so that not even its context quotes the library.
    raise unreadable(path, kind)


def check_alone(names: list[str], name: str) -> None:
    """Refuse a name that several columns have."""
    if names.count(name) > 1:
        raise ColumnError(f"there are several columns {name!r}: rename all but one.")
