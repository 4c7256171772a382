"""CSV files as the query specification says that they are read: slow, one character at a time."""

from __future__ import annotations

import math

from .number_reference import number_in

LONGEST = 1 << 28


def rows_of(data: bytes, parse, *, delimiter=",", longest=LONGEST):
    """Return the rows of a file, each a list of cells in UTF-8; None for one that is too long."""
    text = _in_utf8(data, parse.encoding)
    if parse.header is not False and _first_end(text, delimiter) == "\r":
        text = text.replace(b"\n", b" ").replace(b"\r", b"\n")
    rows, cells, cell, raw = [], [], bytearray(), bytearray()
    state = "start"
    for place, sign in enumerate(text):
        one, last = bytes([sign]), place == len(text) - 1
        raw += one
        if state == "quoted":
            if one == b'"':
                state = "behind"
            else:
                cell += one
        elif one == b"\n":
            cells.append(bytes(cell))
            rows.append(_row(cells, raw[:-1], longest))
            cells, cell, raw, state = [], bytearray(), bytearray(), "start"
        elif one == delimiter.encode():
            cells.append(bytes(cell))
            cell, state = bytearray(), "start"
        elif one == b'"' and state == "start":
            state = "quoted"
        elif one == b'"' and state == "behind":
            cell += one
            state = "quoted"
        else:
            state = "plain"
            is_end = one == b"\r" and (last or text[place + 1 : place + 2] == b"\n")
            cell += b"" if is_end else one
    if raw:
        cells.append(bytes(cell))
        rows.append(_row(cells, raw, longest))
    return rows


def _row(cells, raw, longest):
    # A carriage return that ends no row is read as a space, also within quotes.
    if len(raw) > longest:
        return None
    return [_without_lone_returns(cell) for cell in cells]


def _without_lone_returns(cell):
    return b"\r\n".join(part.replace(b"\r", b" ") for part in cell.split(b"\r\n"))


def _in_utf8(data, encoding):
    mark = b"\xef\xbb\xbf"
    if encoding in ("utf-8", "ascii"):
        return data.removeprefix(mark)
    text = data.decode(encoding, "replace").encode()
    return text if encoding in ("utf-16", "utf-32") else text.removeprefix(mark)


def _first_end(text, delimiter):
    """Return the sign that ends the first row."""
    state = "start"
    for place, sign in enumerate(text):
        one = bytes([sign])
        if state == "quoted":
            state = "behind" if one == b'"' else state
        elif one in (b"\r", b"\n"):
            return "\n" if text[place : place + 2] == b"\r\n" else one.decode()
        elif one == delimiter.encode():
            state = "start"
        elif one == b'"' and state in ("start", "behind"):
            state = "quoted"
        else:
            state = "plain"
    return None


def cells_of(data: bytes, position: int, parse, *, delimiter=",", longest=LONGEST):
    """Return the cells of one column, record by record; None where a record has none."""
    rows = rows_of(data, parse, delimiter=delimiter, longest=longest)
    if parse.header is False:
        return [None if r is None or len(r) <= position else r[position] for r in rows]
    while rows and rows[0] in ([b""], None):
        rows = rows[1:]
    width = len(rows[0])
    return [None if row is None or len(row) != width else row[position] for row in rows[1:]]


def numbers_of(data: bytes, position: int, parse, **more):
    """Return the numbers of one column; None where a cell is none."""
    found = (number_in(cell, parse) for cell in cells_of(data, position, parse, **more))
    return [None if math.isnan(x) else x for x in found]
