"""JSON files: an object in every line, or one array with an object for every record."""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

import pyarrow as pa

from tametail._shown import shown_path
from tametail.data.sources import Block, Tell, Wanted, names_of
from tametail.data.sources.blocks import open_bytes
from tametail.data.sources.files import UNREADABLE, unreadable
from tametail.data.sources.frames import UntypedSource
from tametail.data.sources.names import AnyName
from tametail.errors import DataError
from tametail.parse import Parse

#: The cells of a record, by name.
Record = dict[str, object]

#: Records that are handed on at a time.
_RECORDS: Final = 1 << 14

#: A longer record is a missing one, and its bytes are skipped.
_LONGEST: Final = 1 << 24

_CHUNK: Final = 1 << 20

_BLANK: Final = b" \t\r\n"

#: What tells where a record of an array ends: an escaped sign is no quote.
_TOKEN: Final = re.compile(rb'\\.|["\[\]{},]', re.DOTALL)


class JsonSource(UntypedSource):
    """Columns of JSON lines. Nothing declares them.

    A line that is no object is a missing record, and so is one too long; a name that a line lacks
    is a missing cell. Numbers are numbers; text is read as numbers if the caller says how.
    """

    def __init__(self, files: list[Path], parse: Parse | None) -> None:
        super().__init__(AnyName(), parse)
        self._files = files

    def blocks(self, wanted: Sequence[Wanted], tell: Tell) -> Iterator[Block]:
        """Yield some records at a time."""
        names = names_of(wanted)
        total, before = sum(path.stat().st_size for path in self._files), 0
        for path in self._files:
            with open_bytes(path) as file:
                records = self._records(path, file)
                while some := list(islice(records, _RECORDS)):
                    cells = {name: [one.get(name) for one in some] for name in names}
                    yield self._block(wanted, cells)
                    tell(min((before + file.tell()) / max(total, 1), 1.0))
            before += path.stat().st_size

    def _records(self, path: Path, file: pa.NativeFile) -> Iterator[Record]:
        """Yield what every line holds by name; nothing, if it is no object."""
        stream = io.BufferedReader(file)
        for line in _lines(path, stream):
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):  # thousands of digits are a ValueError, too
                found = None
            yield found if isinstance(found, dict) else {}
        stream.detach()  # otherwise it would close the file


def _lines(path: Path, stream: io.BufferedReader) -> Iterator[bytes]:
    """Yield the lines; an empty one stands for one that is too long."""
    while line := _read(path, stream.readline, _LONGEST):
        rest = line
        while len(rest) == _LONGEST and not rest.endswith(b"\n"):
            line, rest = b"", _read(path, stream.readline, _LONGEST)
        yield line


def _read(path: Path, read: Callable[[int], bytes], size: int) -> bytes:
    with suppress(*UNREADABLE):
        return read(size)
    raise unreadable(path, "JSON")


class JsonArraySource(JsonSource):
    """Columns of arrays of objects. Nothing declares them.

    What is no object is a missing record, and so is one that is too long or nested too deeply; a
    name that an object lacks is a missing cell. Where one record ends and the next begins, quotes
    and brackets tell: a file in which they do not match, or a record is no JSON, is not read.
    """

    def __init__(self, files: list[Path], parse: Parse | None) -> None:
        super().__init__(files, parse)
        for path in files:
            _check_begin(path)

    def _records(self, path: Path, file: pa.NativeFile) -> Iterator[Record]:
        """Yield what every element holds by name."""
        return (_record(path, element) for element in _elements(path, file))


def _check_begin(path: Path) -> None:
    with open_bytes(path) as file:
        begin = _read(path, file.read, _CHUNK).removeprefix(codecs.BOM_UTF8).lstrip(_BLANK)
    if not begin.startswith(b"["):
        raise DataError(
            f"{shown_path(path)} cannot be read as JSON: a .json file is an array of objects, as "
            'in [{"charge": 12.5}]. If it has an object in every line, write '
            "parse=Parse(format='jsonl')."
        )


def _elements(path: Path, file: pa.NativeFile) -> Iterator[bytes]:
    """Yield the text of every element of an array."""
    cutter, carried = _Cutter(), b""
    chunk = _read(path, file.read, _CHUNK).removeprefix(codecs.BOM_UTF8)
    while chunk:
        chunk = carried + chunk
        # A backslash at the end escapes what comes next.
        whole = len(chunk) - (len(chunk) - len(chunk.rstrip(b"\\"))) % 2
        carried = chunk[whole:]
        yield from cutter.cut(chunk[:whole])
        chunk = _read(path, file.read, _CHUNK)
    if carried or not cutter.is_whole:
        raise unreadable(path, "JSON")


class _Cutter:
    """Cuts the text of an array at the commas between its elements, piece by piece."""

    def __init__(self) -> None:
        self._depth, self._in_text, self._is_over = 0, False, False
        self._kept, self._size, self._elements = bytearray(), 0, 0

    @property
    def is_whole(self) -> bool:
        """Whether the array has come to its end, and nothing else behind it."""
        return self._is_over and self._size == len(self._kept) and not self._kept.strip(_BLANK)

    def cut(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the elements that end here; "null" for one that is too long."""
        start = 0
        for token in _TOKEN.finditer(chunk):
            if self._is_over:
                break
            before = self._depth
            self._pass(token[0])
            if (before, self._depth) == (0, 1):
                start = token.end()
                continue
            self._is_over = (before, self._depth) == (1, 0)
            if self._is_over or (self._depth == 1 and not self._in_text and token[0] == b","):
                self._keep(chunk[start : token.start()])
                yield from self._element()
                start = token.end()
        self._keep(chunk[start:])

    def _pass(self, sign: bytes) -> None:
        if sign == b'"':
            self._in_text = not self._in_text
        elif not self._in_text:
            self._depth += (sign in (b"[", b"{")) - (sign in (b"]", b"}"))

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= _LONGEST:
            self._kept += part
        else:
            self._kept.clear()

    def _element(self) -> Iterator[bytes]:
        found = bytes(self._kept) if self._size <= _LONGEST else b"null"
        self._kept, self._size = bytearray(), 0
        if self._elements or not self._is_over or found.strip(_BLANK):  # [] has none
            self._elements += 1
            yield found


def _record(path: Path, element: bytes) -> Record:
    """Return what an element holds by name; nothing, if it is no object."""
    try:
        found = json.loads(element)
    except json.JSONDecodeError:
        found = _NOT_JSON
    except (ValueError, RecursionError):  # thousands of digits, no UTF-8, nested too deeply
        return {}
    if found is _NOT_JSON:  # raised outside of the handler, whose error quotes the record
        raise unreadable(path, "JSON")
    return found if isinstance(found, dict) else {}


_NOT_JSON: Final = object()
