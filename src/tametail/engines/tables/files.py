"""Data in files: Parquet and CSV, streamed in bounded memory.

Opening an engine reads names, declared types and sizes of files, no record.
"""

from __future__ import annotations

import copy
import glob
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tametail.engines.cells import Floats
from tametail.engines.kernels import column as kernel
from tametail.engines.survey import Held, Survey
from tametail.engines.tables.sources import SOURCES, Source, ending
from tametail.errors import DataError
from tametail.queries.column import ColumnQuery, Count, Median

#: Called with the fraction of the files that a pass has done, between 0 and 1; never with rows.
Progress = Callable[[float], None]


class FileEngine:
    """Answers queries over one column of a file, a folder of Parquet files, or a glob.

    An answer is one pass over the files in the order of their names, or none if an earlier pass
    already saw what it needs: the count and the sample for the centre share one; tail, sum and
    spread another.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        column: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        files = find_files(path)
        self._source: Source = SOURCES[ending(files[0])](files, column)
        self._progress = progress
        self._window = slice(0, None)
        self._profiles: dict[float, kernel.Profile] = {}
        self._held: Held | None = None

    @property
    def size(self) -> int:
        """The number of records, missing ones included; a CSV file is read once to know it."""
        return len(range(self._source.size)[self._window])

    def answer(self, query: ColumnQuery) -> Any:
        """Return the exact answer to ``query``, in at most one pass."""
        match query:
            case Count() if not self._profiles:
                return (self._survey(),)
            case Median():
                # A sample is used once: every answer has coins of its own.
                held, self._held = self._held, None
                sample = held.take(query.halvings) if held else None
                if sample is not None:
                    return kernel.answer(Median(0, query.low, query.high), [sample])
        return kernel.answer(query, self._chunks(), self._profiles)

    def _survey(self) -> int:
        survey = Survey()
        for chunk in self._chunks():
            survey.add(chunk)
        self._held = survey.held
        return survey.present

    def rows(self, start: int, stop: int) -> FileEngine:
        """Return an engine over the rows ``start..stop-1``; rows before them are still read."""
        window = range(self.size)[start:stop]
        offset = self._window.start
        part = copy.copy(self)
        part._profiles, part._held = {}, None
        part._window = slice(offset + window.start, offset + window.stop)
        return part

    def _chunks(self) -> Iterator[Floats]:
        """Yield float64 chunks of the rows in the window, and tell the progress."""
        first, last = self._window.start, self._window.stop
        position, told = 0, 0.0
        for fraction, cells in self._source.batches():
            for start in range(0, len(cells), kernel.CHUNK):
                chunk = self._source.to_floats(cells.slice(start, kernel.CHUNK))
                stop = None if last is None else max(last - position, 0)
                yield chunk[max(first - position, 0) : stop]
                position += chunk.size
            if self._progress and fraction > told:
                self._progress(fraction)
                told = fraction
            if last is not None and position >= last:
                break
        if self._progress and told < 1.0:
            self._progress(1.0)


def find_files(path: str | os.PathLike[str]) -> list[Path]:
    """Return the files that ``path`` names: itself, a folder's Parquet files, or a glob's.

    Names that begin with a dot or an underscore are by convention no data, and left out of
    folders.
    """
    place = Path(path).expanduser()
    if place.is_dir():
        found = sorted(file for file in place.rglob("*.parquet") if _is_data(file, place))
        if not found:
            raise DataError(f"the folder {str(path)!r} holds no .parquet file: name one that does.")
    elif place.exists():
        found = [place]
    else:
        found = sorted(map(Path, glob.glob(str(place), recursive=True)))
        if not found:
            raise DataError(f"there is no file {str(path)!r}: check the path.")
    kinds = {SOURCES.get(ending(file)) for file in found}
    if None in kinds:
        raise DataError(
            f"{str(path)!r} is of an unknown kind: files named {', '.join(SOURCES)} are read."
        )
    if len(kinds) > 1:
        raise DataError(f"{str(path)!r} names Parquet and CSV files: name files of one kind.")
    return found


def _is_data(file: Path, folder: Path) -> bool:
    hidden = any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
    return file.is_file() and not hidden
