"""The bytes of a CSV file, in blocks that end where a row ends.

A row ends at a line feed with an even number of quotes before it. Every byte is looked at once,
however long a row is.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from tametail.engines.tables.files import unreadable
from tametail.parse import Parse

#: Bytes that are read at a time.
_CSV_BLOCK = 1 << 22

#: A row beyond this is one missing record.
_LONGEST_ROW = 1 << 28

_LONE_RETURN = re.compile(rb"\r(?!\n)")

_PACKED = {".gz": "gzip", ".zst": "zstd"}

_ASCII = bytes(range(128)) + b"?" * 128

#: Encodings of which the mark at the beginning of a file is no part of the first name.
to_utf8 = {"utf-8": "utf-8-sig", "ascii": "utf-8-sig"}


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


def blocks(stream: pa.NativeFile, parse: Parse, *, exact: bool = False) -> Iterator[bytes]:
    """Yield the stream in blocks that end where a row ends, in UTF-8; ``exact``: as they are.

    In a file with line feeds a lone carriage return is part of a cell; the reader would take it
    for the end of a row.
    """
    has_line_feeds = False
    for block in _rows(_pieces(stream, parse.encoding)):
        if block.endswith(b"\n"):
            has_line_feeds = True
            whole = _LONE_RETURN.sub(b" ", block)
            yield whole if exact else _readable(whole, parse)
        else:
            last = _LONE_RETURN.sub(b" ", block) if has_line_feeds else block
            yield last + b"\n" if exact else _readable(last + b"\n", parse)


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


def _pieces(stream: pa.NativeFile, encoding: str) -> Iterator[bytes]:
    """Yield the bytes of a stream as they come, in UTF-8."""
    if encoding in to_utf8:
        ahead = stream.read(_CSV_BLOCK).removeprefix(codecs.BOM_UTF8)
        while ahead:
            yield ahead
            ahead = stream.read(_CSV_BLOCK)
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    while ahead := stream.read(_CSV_BLOCK):
        yield decoder.decode(ahead).encode()
    yield decoder.decode(b"", final=True).encode()


def _rows(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield blocks of whole rows; the last may lack its line feed.

    What is read and no whole row yet waits, with the parity of its quotes. If it grows too long
    its bytes are forgotten, and an empty line stands for the row, which is missing like any other
    row without its cells.
    """
    waiting: list[bytes] = []
    length, odd, is_forgotten = 0, 0, False
    for piece in pieces:
        if is_forgotten:
            first = _first_end(piece, odd)
            if not first:
                odd ^= piece.count(b'"') % 2
                continue
            yield b"\n"
            piece, odd, is_forgotten = piece[first:], 0, False  # noqa: PLW2901
        end = _last_end(piece, odd)
        if end:
            yield b"".join([*waiting, piece[:end]])
            waiting, length, odd = [], 0, 0
        waiting.append(piece[end:])
        length += len(piece) - end
        odd ^= piece.count(b'"', end) % 2
        if length > _LONGEST_ROW:
            waiting, length, is_forgotten = [], 0, True
    rest = b"\n" if is_forgotten else b"".join(waiting)
    if rest:
        yield rest


def _last_end(piece: bytes, odd: int) -> int:
    """Return where the last row that ends in the piece does; 0 if none does.

    A line end with an odd number of quotes before it is inside of a quoted cell. To cut there
    would make several records of one.
    """
    end = piece.rfind(b"\n") + 1
    odd ^= piece.count(b'"', 0, end) % 2
    while odd and end:
        start = piece.rfind(b"\n", 0, end - 1) + 1
        odd ^= piece.count(b'"', start, end) % 2
        end = start
    return end


def _first_end(piece: bytes, odd: int) -> int:
    """Return where the first row that ends in the piece does; 0 if none does."""
    start = 0
    while end := piece.find(b"\n", start) + 1:
        odd ^= piece.count(b'"', start, end) % 2
        if not odd:
            return end
        start = end
    return 0
