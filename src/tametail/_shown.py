"""How a message shows what a caller passed: what is short and public, else only of what type.

A slip such as ``mean(frame, frame["salary"])`` hands records over as an argument. A message that
printed the argument would print the records, into a log that nobody protects.
"""

from __future__ import annotations

import numbers
import os
import re

#: A longer text, or a larger integer, is no argument that somebody typed.
_MOST_CHARACTERS, _MOST_BITS = 60, 128

#: A longer text is no path.
_LONGEST_PATH = 400

#: What stands behind the name of a column in a folder's name: year=2025/.
_HIVE_CELL = re.compile(r"=[^/]*(?=/)")


def shown(value: object) -> str:
    """Return a value for a message: short text, numbers and None; of all else the type's name.

    Asked is the type alone, and a text or a number prints as its built-in type does: no code that
    came with a value runs.

    >>> shown("salary"), shown(0.5), shown(None), shown([52_000, 61_000]), shown("a" * 99)
    ("'salary'", '0.5', 'None', 'list', 'str')
    """
    kind = type(value)
    if value is None or kind is bool:
        return repr(value)
    if isinstance(value, str) and issubclass(kind, str):
        plain = str.__str__(value)
        return repr(plain) if len(plain) <= _MOST_CHARACTERS else kind.__name__
    if isinstance(value, float) and issubclass(kind, float):
        return float.__repr__(value)
    if isinstance(value, int) and issubclass(kind, int):
        return int.__repr__(value) if value.bit_length() <= _MOST_BITS else kind.__name__
    if issubclass(kind, numbers.Real) and kind.__module__ in ("numpy", "fractions"):
        text = str(value)
        return text if len(text) <= _MOST_CHARACTERS else kind.__name__
    return kind.__name__


def printable(text: str) -> str:
    r"""Return text that every terminal, page and file takes: what does not print is written out.

    The key of a group may hold anything: bytes that are no text, signs that command a terminal.

    >>> printable("Zürich"), printable("\x1b[2J\udcff")
    ('Zürich', '\\x1b[2J\\udcff')
    """
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


def shown_path(path: str | os.PathLike[str]) -> str:
    r"""Return a path for a message, unless it cannot be one: then it may be the file's own text.

    >>> shown_path("data/claims.csv"), shown_path("paid\n52000"), shown_path("/proc/self/fd/4")
    ("'data/claims.csv'", 'of this name', 'The stream')

    What the name of a folder says of its records, as Hive writes it, is a cell:

    >>> shown_path("data/name=Mallory/0.csv")
    "'data/name=.../0.csv'"
    """
    text = _HIVE_CELL.sub("=...", str(path))
    if text.startswith("/proc/self/fd/"):  # the copy of a stream, which has no name
        return "The stream"
    return repr(text) if text.isprintable() and len(text) <= _LONGEST_PATH else "of this name"
