"""The bytes of a CSV file, in blocks of whole rows.

A row ends at a line feed outside of quotes, and a quote opens a quoted cell only where a cell
begins; any other quote is a character. Where blocks begin depends on the lengths of all rows
before, so nothing that is read may depend on it. Every byte is looked at once, however long a row
is.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tametail.data.sources.files import unreadable
from tametail.errors import DataError
from tametail.parse import MARKED, Parse

#: Bytes that are read at a time.
_CSV_BLOCK = 1 << 22

#: A row of more bytes than this, its line feed not counted, is one missing record.
_LONGEST_ROW = 1 << 28

#: Bytes that are looked at to find the first rows.
_WINDOW = 1 << 16

_LONE_RETURN = re.compile(rb"\r(?!\n)")

_PACKED = {".gz": "gzip", ".zst": "zstd"}

_ASCII = bytes(range(128)) + b"?" * 128

#: What becomes of line ends where rows end with carriage returns.
_RETURNS_END_ROWS = bytes.maketrans(b"\r\n", b"\n ")

_QUOTE, _LINE_FEED = ord('"'), ord("\n")

#: Text after which a reader is at the start of a cell, in an unquoted cell (or behind a quoted
#: one), in a quoted cell, and behind a quote in a quoted cell, which may end it or be doubled.
_AT_CELL, _IN_CELL, _IN_QUOTES, _BEHIND_QUOTE = b"\n", b"\nx", b'\n"', b'\n""'


def open_bytes(path: Path) -> pa.NativeFile:
    """Open a file, or say that it cannot be read."""
    try:
        return pa.OSFile(str(path))
    except OSError:
        raise unreadable(path, "CSV") from None


def decompressed(path: Path, file: pa.NativeFile) -> pa.NativeFile:
    """Return the stream of what a file holds."""
    packed = _PACKED.get(path.suffix.lower())
    return file if packed is None else pa.CompressedInputStream(file, packed)


def blocks(
    stream: pa.NativeFile, parse: Parse, delimiter: str, *, exact: bool = False
) -> Iterator[bytes]:
    """Yield the stream in blocks of whole rows, in UTF-8; ``exact``: with all of its characters.

    A carriage return that ends no row is a space: Arrow's reader would take it for the end of one.
    """
    for block in _rows(_with_line_feeds(stream, parse, delimiter), delimiter.encode()):
        whole = block if block.endswith(b"\n") else block + b"\n"
        whole = _LONE_RETURN.sub(b" ", whole)
        yield whole if exact else _readable(whole, parse)


def _readable(block: bytes, parse: Parse) -> bytes:
    """Return text that no encoding stops the reader at.

    No number has a byte beyond ASCII unless the caller said so, and replacing it loses nothing.
    """
    if parse.is_ascii:
        return block.translate(_ASCII)
    return block.decode("utf-8", "replace").encode()


def text_for_numbers(cells: pa.Array, parse: Parse) -> pa.Array:
    """Return cells of bytes as text: a byte that no number is written with is replaced."""
    if not parse.is_ascii:
        cells = (
            None if cell is None else cell.decode("utf-8", "replace") for cell in cells.to_pylist()
        )
        return pa.array(cells, pa.string())
    valid, offsets, data = cells.buffers()
    text = pa.py_buffer(b"" if data is None else data.to_pybytes().translate(_ASCII))
    return pa.StringArray.from_buffers(
        len(cells), offsets, text, valid, cells.null_count, cells.offset
    )


def _with_line_feeds(stream: pa.NativeFile, parse: Parse, delimiter: str) -> Iterator[bytes]:
    """Yield pieces of text in UTF-8 in which rows end with line feeds.

    Rows end with carriage returns if the row of names does. Without names no row decides that:
    one record would decide it for all.
    """
    pieces = _pieces(stream, parse.encoding)
    first = next(pieces, b"")
    named = parse.header is not False
    if named and _names_end_with_return(delimiter).match(first):
        return (piece.translate(_RETURNS_END_ROWS) for piece in chain([first], pieces))
    return chain([first], pieces)


def _pieces(stream: pa.NativeFile, encoding: str) -> Iterator[bytes]:
    """Yield the bytes of a stream as they come, in UTF-8, without the mark at its beginning."""
    pieces, first = _decoded(stream, encoding), b""
    for piece in pieces:
        first += piece
        if len(first) >= len(codecs.BOM_UTF8):
            break
    yield first if encoding in MARKED else first.removeprefix(codecs.BOM_UTF8)
    yield from pieces


def _decoded(stream: pa.NativeFile, encoding: str) -> Iterator[bytes]:
    if encoding in ("utf-8", "ascii"):
        yield from _read(stream)
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for piece in chain(_read(stream), [b""]):
        text = _text(decoder, piece)
        if text is None:
            raise DataError(
                "The file has no byte order mark, so its byte order is unknown. Use "
                f"encoding='{encoding}-le' or encoding='{encoding}-be'."
            )
        yield text.encode("utf-8", "replace")


def _text(decoder: codecs.IncrementalDecoder, piece: bytes) -> str | None:
    """Return a piece as text, all of it if nothing follows; None if a mark is missing."""
    with suppress(UnicodeError):  # not raised from here: its words quote what is no text
        return decoder.decode(piece, final=not piece)
    return None


def _read(stream: pa.NativeFile) -> Iterator[bytes]:
    """Yield the bytes of a stream; few at first, as whoever wants the names takes no more."""
    size = min(_WINDOW, _CSV_BLOCK)
    while piece := stream.read(size):
        yield piece
        size = _CSV_BLOCK


@cache
def _names_end_with_return(delimiter: str) -> re.Pattern[bytes]:
    """Match a first row that ends with a carriage return and no line feed behind it."""
    sign = re.escape(delimiter)
    cell = rf'(?:"(?:[^"]++|"")*+(?:"[^{sign}\r\n]*+)?+|[^"{sign}\r\n][^{sign}\r\n]*+)?+'
    return re.compile(rf"{cell}(?:{sign}{cell})*+\r[^\n]".encode())


def _rows(pieces: Iterator[bytes], delimiter: bytes) -> Iterator[bytes]:
    """Yield blocks of whole rows; the last may lack its line feed.

    What is read and no whole row yet waits. If it grows too long its bytes are forgotten, and an
    empty line stands for the row, which is missing like any other row without its cells. How long
    a row is does not depend on how pieces cut it.
    """
    waiting: list[bytes] = []
    length, state = 0, _AT_CELL
    for piece in pieces:
        text, start = _without_stray_quotes(state + piece, delimiter), len(state)
        end = _last_end(text)
        if end:
            first = _first_end(text)
            if length + first - start - 1 > _LONGEST_ROW:
                yield b"\n" + piece[first - start : end - start]
            else:
                yield b"".join([*waiting, piece[: end - start]])
            waiting, length = [], 0
        rest = piece[end - start :] if end else piece
        length += len(rest)
        waiting = [*waiting, rest] if length <= _LONGEST_ROW else []
        state = _state_after(text, end, delimiter)
    rest = b"\n" if length > _LONGEST_ROW else b"".join(waiting)
    if rest:
        yield rest


def split_rows(block: bytes, delimiter: str) -> Iterator[bytes]:
    r"""Yield the rows of a block of whole rows, with their line ends.

    >>> list(split_rows(b'5" pipe,1\n"a\nb",2\n', ","))
    [b'5" pipe,1\n', b'"a\nb",2\n']
    """
    start, size = 0, _WINDOW
    while start < len(block):
        window = block[start : start + size]
        ends = _row_ends(_AT_CELL + window, delimiter.encode()) - len(_AT_CELL)
        if not len(ends) and start + size >= len(block):  # a quoted cell that nothing closes
            ends = np.array([len(window)])
        for first, end in pairwise([0, *ends.tolist()]):
            yield window[first:end]
        start, size = start + int(ends[-1] if len(ends) else 0), size if len(ends) else 2 * size


def rows_apart(block: bytes, delimiter: str, width: int) -> tuple[bytes, list[int]]:
    r"""Return the rows of so many cells, and the places of all others.

    >>> rows_apart(b'1,2\n3\n"4,",5\n', ",", 2)
    (b'1,2\n"4,",5\n', [1])
    """
    rows = list(split_rows(block, delimiter))
    others = [place for place, row in enumerate(rows) if count_cells(row, delimiter) != width]
    for place in others:
        rows[place] = b""
    return b"".join(rows), others


def count_cells(row: bytes, delimiter: str) -> int:
    """Return how many cells a row has; an empty one has one, which is empty."""
    if b'"' not in row:
        return row.count(delimiter.encode()) + 1
    return len(split_cells(row, delimiter))


def split_cells(row: bytes, delimiter: str) -> list[bytes]:
    r"""Return the cells of a row, as Arrow's reader does.

    >>> split_cells(b'5" pipe,"a ""b"", c"\r\n', ",")
    [b'5" pipe', b'a "b", c']
    """
    found = []
    for cell in _cell(delimiter).finditer(row):
        quoted, behind, plain, end = cell.groups(b"")
        found.append(quoted.replace(b'""', b'"') + behind + plain)
        if end != delimiter.encode():
            break
    return found


@cache
def _cell(delimiter: str) -> re.Pattern[bytes]:
    """Match a cell: what is in quotes, what stands behind them, or what has none; and its end."""
    sign = re.escape(delimiter)
    text = rf"[^{sign}\r\n]*+"
    pattern = rf'(?:"((?:[^"]++|"")*+)(?:"({text}))?+|({text}))({sign}|\r?\n|\Z)'
    return re.compile(pattern.encode())


def _without_stray_quotes(text: bytes, delimiter: bytes) -> bytes:
    """Return as many bytes of which every quote opens or closes a quoted cell, or is doubled in it.

    The text begins with a line feed, which stands for the row before. Usually it is returned as
    it is, once it is known that quotes open and close in turns.
    """
    if b'"' not in text:
        return text
    signs = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(signs == _QUOTE)
    opening, closing = quotes[::2], quotes[1::2]
    before = signs[opening - 1]
    may_open = (before == delimiter[0]) | (before == _LINE_FEED)
    may_open[1:] |= opening[1:] == closing[: len(opening) - 1] + 1  # a quote in a cell, doubled
    if may_open.all():
        return text
    found, end = [], 0
    for cell in _quoted_cell(delimiter).finditer(text):
        found += [text[end : cell.start()].replace(b'"', b"x"), cell[0]]
        end = cell.end()
    return b"".join([*found, text[end:].replace(b'"', b"x")])


@cache
def _quoted_cell(delimiter: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"(?<=[" + re.escape(delimiter) + rb'\n])"(?:[^"]++|"")*+"?+')


def _row_ends(text: bytes, delimiter: bytes) -> npt.NDArray[np.int64]:
    """Return where the rows in a text end, as :func:`_without_stray_quotes` takes it.

    A line end with an odd number of quotes before it is inside of a quoted cell. To cut there
    would make several records of one.
    """
    signs = np.frombuffer(_without_stray_quotes(text, delimiter), np.uint8)
    ends, quotes = (np.flatnonzero(signs == sign) for sign in (_LINE_FEED, _QUOTE))
    found: npt.NDArray[np.int64] = ends[1:][np.searchsorted(quotes, ends[1:]) % 2 == 0] + 1
    return found


def _last_end(text: bytes) -> int:
    """Return where the last row that ends in a text without stray quotes does; 0 if none does."""
    end = text.rfind(b"\n", 1) + 1
    odd = text.count(b'"', 0, end) % 2
    while odd:
        start = text.rfind(b"\n", 1, end - 1) + 1
        odd ^= text.count(b'"', start, end) % 2
        end = start
    return end


def _first_end(text: bytes) -> int:
    """Return where the first row that ends in such a text does; 0 if none does."""
    start, odd = 1, 0
    while end := text.find(b"\n", start) + 1:
        odd ^= text.count(b'"', start, end) % 2
        if not odd:
            return end
        start = end
    return 0


def _state_after(text: bytes, end: int, delimiter: bytes) -> bytes:
    """Return a short text that leads to the same state as a text whose last row ends at ``end``."""
    if text.count(b'"', end) % 2:
        return _IN_QUOTES
    last = text[-1:]
    if last == b'"':
        return _BEHIND_QUOTE
    return _AT_CELL if last in (delimiter, b"\n") else _IN_CELL
