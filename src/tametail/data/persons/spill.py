"""Persons that do not fit into memory: their records wait in temporary files, part by part.

Once the totals in memory have reached the limit, those whom they know go on; the records of all
others are written to one of some files, by a secret hash of the id. Each file is then aggregated
alone, the same way. A person's records are all in memory's part or all in one file, so that the
totals are those of one pass. A hash only says in which file to wait: ids are compared as ever.

The files are unlinked as soon as they are made, so that nothing is left of them whatever happens.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import IO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tametail._shown import shown
from tametail.data.cells import Floats
from tametail.data.kernels import native
from tametail.data.persons.ids import arrow_texts, exact, secret_key
from tametail.data.sources import Cells
from tametail.errors import DataError, ParameterError
from tametail.randomness import random_bits

Integers = npt.NDArray[np.int64]

#: The environment variable that says how much memory totals may take, as in 500MB or 2GB.
VARIABLE = "TAMETAIL_MEMORY"

#: How much that is where nothing is said.
_USUAL = 1 << 30

_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}

#: Rows that are read from a file at a time, or a few more.
_ROWS = 1 << 16

#: Files at a time: a table of 64 times the limit is done after one division.
_FILES = 64

_FULL = (
    "The records do not fit into memory or the temporary folder. Set TMPDIR to a folder with more "
    f"space, or {VARIABLE} to more memory."
)


def memory_limit() -> int:
    """Return how many bytes totals may take before records wait in files.

    >>> memory_limit() > 10**6
    True
    """
    said = os.environ.get(VARIABLE)
    if said is None:
        return _USUAL
    found = re.fullmatch(r"\s*(\d{1,12})\s*([KMGT]B)?\s*", said, re.IGNORECASE)
    if found is None:
        raise ParameterError(f"Invalid {VARIABLE}={shown(said)}. Use a size such as 500MB or 2GB.")
    number, unit = found.groups()
    return int(number) * _UNITS[(unit or "").upper()]


class SpilledRecords:
    """Records in temporary files: all records of an id are in one of them, in their order."""

    def __init__(self) -> None:
        self._files: list[IO[bytes]] = []
        self._writers: list[pa.RecordBatchStreamWriter] = []
        self._factors = [random_bits(64) | 1 for _ in range(2)]
        self._key = secret_key()

    def add(self, cells: Sequence[Cells], matrix: Floats, chosen: npt.NDArray[np.bool_]) -> None:
        """Write the chosen records to the files of their ids."""
        if not chosen.any():
            return
        where, numbers = pa.array(chosen), matrix[chosen]
        ids = [exact(each).filter(where) for each in cells if isinstance(each, pa.Array)]
        names = [f"p{place}" for place in range(len(ids))]
        columns = [pa.array(numbers[:, place]) for place in range(numbers.shape[1])]
        batch = pa.record_batch(
            [*ids, *columns], [*names, *(f"x{place}" for place in range(len(columns)))]
        )
        try:
            if not self._files:
                self._open(batch.schema)
            whose = self._file_of(ids)
            order = np.argsort(whose, kind="stable")
            ends = np.searchsorted(whose[order], np.arange(_FILES + 1))
            sorted_batch = batch.take(pa.array(order))
            for place, writer in enumerate(self._writers):
                size = int(ends[place + 1] - ends[place])
                if size:
                    writer.write_batch(sorted_batch.slice(int(ends[place]), size))
        except OSError:
            pass
        else:
            return
        raise DataError(_FULL)

    def _open(self, schema: pa.Schema) -> None:
        self._files = [scratch() for _ in range(_FILES)]
        self._writers = [
            pa.ipc.new_stream(pa.PythonFile(file, "w"), schema) for file in self._files
        ]

    def _file_of(self, ids: list[pa.Array]) -> Integers:
        """Return the file of every record, by a secret hash of its id."""
        mixed = np.zeros(len(ids[0]), dtype=np.uint64)
        first, second = (np.uint64(factor) for factor in self._factors)
        with np.errstate(over="ignore"):
            for column in ids:
                mixed = (mixed ^ (self._hashes(column) * first)) * second
        return (mixed >> np.uint64(64 - _FILES.bit_length() + 1)).astype(np.int64)

    def _hashes(self, column: pa.Array) -> native.Hashes:
        library = native.library()
        if library is not None and column.type == pa.large_binary():
            return library.hash_texts(arrow_texts(column), self._key)
        encoded, salt = column.dictionary_encode(), self._key.tobytes()
        keys = (repr(key).encode() for key in encoded.dictionary.to_pylist())
        hashes = np.array([hash(salt + key) & 0xFFFFFFFFFFFFFFFF for key in keys], dtype=np.uint64)
        own: native.Hashes = hashes[encoded.indices.to_numpy(zero_copy_only=False)]
        return own

    def parts(self) -> Iterator[Iterator[tuple[Floats, list[pa.Array]]]]:
        """Yield the records of one file after the other; a file is gone when it was read."""
        for writer in self._writers:
            writer.close()
        for file in self._files:
            with file:
                file.seek(0)
                yield _read(file)


def _read(file: IO[bytes]) -> Iterator[tuple[Floats, list[pa.Array]]]:
    with pa.ipc.open_stream(pa.PythonFile(file, "r")) as stream:
        for batch in _together(stream):
            names = batch.schema.names
            ids = [batch[name] for name in names if name.startswith("p")]
            columns = [batch[name].to_numpy() for name in names if name.startswith("x")]
            yield np.column_stack(columns), ids


def _together(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches that are worth their while: what waited was cut into small pieces."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= _ROWS:
            yield pa.concat_batches(waiting)
            waiting = []
    if waiting:
        yield pa.concat_batches(waiting)


def scratch() -> IO[bytes]:
    """Return a temporary file without a name: it is gone when it is closed, or the process is."""
    return tempfile.TemporaryFile(prefix="tametail-")


class SpilledArray:
    """Rows of doubles that are added one by one and then read like an array, from a file."""

    def __init__(self) -> None:
        self._rows, self._file = 0, scratch()

    def add(self, rows: Floats) -> None:
        """Write some rows."""
        try:
            self._file.write(np.ascontiguousarray(rows, dtype=np.float64).tobytes())
            self._rows += len(rows)
        except OSError:
            pass
        else:
            return
        raise DataError(_FULL)

    def read(self, columns: int) -> Floats:
        """Return all rows as an array that lies in the file, not in memory."""
        with self._file:
            if not self._rows:
                return np.zeros((0, columns))
            self._file.flush()
            return np.memmap(self._file, np.float64, "r", shape=(self._rows, columns))
