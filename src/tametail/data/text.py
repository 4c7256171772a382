"""Numbers written as text: how they are read, given how the caller says that they are written.

What a cell is depends on that cell and on what the caller says, and on no other cell. A cell that
is written otherwise is missing. Every cell takes the same way, so that one odd cell changes neither
its neighbors nor the time that they take.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tametail.data.cells import Floats, arrow_to_floats, cell_to_float, cells_to_floats, decoded
from tametail.parse import Parse

_SPACE = " \t\n\v\f\r"


#: Numbers as programs write them.
PLAIN = Parse()


class Grammar(NamedTuple):
    """What is rewritten first, what is a number then, and the signs to leave out of it."""

    rewritten: tuple[tuple[str, str], ...]
    number: str
    percent: str
    thousands: str
    decimal: str


@cache
def grammar_of(parse: Parse) -> Grammar:
    """Return expressions that mean the same to Arrow (RE2) and to Python."""
    rewritten = []
    signs = "|".join(re.escape(sign) for sign in sorted(parse.currency, key=len, reverse=True))
    if parse.accounting:
        before, after = (rf"(?:(?:{signs}) *)?", rf"(?: *(?:{signs}))?") if signs else ("", "")
        rewritten.append((rf"\A{before}\(([^()+-]+)\){after}\z", r"-\1"))
    if signs:
        rewritten.append((rf"\A([+-]?) *(?:{signs}) *", r"\1"))
        rewritten.append((rf" *(?:{signs})\z", ""))
    thousands = parse.thousands or _OTHER_SIGN[parse.decimal]
    finite = _finite(parse, re.escape(thousands), re.escape(parse.decimal))
    percent = " *%" if parse.percent else ""
    infinite = "[iI][nN][fF](?:[iI][nN][iI][tT][yY])?"
    number = rf"\A[+-]?(?:{finite}{f'(?:{percent})?' if percent else ''}|{infinite})\z"
    return Grammar(tuple(rewritten), number, percent, thousands, parse.decimal)


#: What may group digits if the caller does not say what does.
_OTHER_SIGN = {".": ",", ",": "."}


def _finite(parse: Parse, comma: str, point: str) -> str:
    """Return what a finite number is.

    If nobody says what groups digits, a cell is read only if it can mean one number: 1,234.50 can,
    since no decimal sign stands before another sign. 1,234 is missing: where a comma is the decimal
    sign it is less than two. So is 1,234,567, which may be a list. What is read is what it would be
    if the sign were said.
    """
    groups = f"(?:{comma}[0-9]{{2,3}})*{comma}[0-9]{{3}}"
    whole, clear = f"(?:[0-9]{{1,3}}{groups}|[0-9]+)", ""
    if parse.thousands is None:
        whole, clear = "[0-9]+", f"|[1-9][0-9]{{0,2}}{groups}{point}[0-9]+"
    return f"(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+{clear})(?:[eE][+-]?[0-9]+)?"


def text_to_floats(cells: pa.Array | Iterable[str | None], parse: Parse = PLAIN) -> Floats:
    """Return the numbers in text cells, NaN where a cell is not a number.

    >>> text_to_floats(pa.array(["1.5", " -2e3 ", "1e400", "n/a", "1_000", None])).tolist()
    [1.5, -2000.0, inf, nan, nan, nan]
    """
    import pyarrow.compute as pc

    if not isinstance(cells, pa.Array):
        cells = pa.array(cells, pa.string())
    text, grammar = pc.ascii_trim_whitespace(cells), grammar_of(parse)
    for pattern, replacement in grammar.rewritten:
        text = pc.replace_substring_regex(text, pattern, replacement)
    # What is no number is null before the cast, which would stop at it.
    text = pc.if_else(pc.match_substring_regex(text, grammar.number), text, None)
    hundredths = None
    if grammar.percent:
        hundredths = pc.fill_null(pc.ends_with(text, "%"), False).to_numpy(zero_copy_only=False)
        text = pc.replace_substring_regex(text, grammar.percent, "")
    text = pc.replace_substring(text, grammar.thousands, "")
    if grammar.decimal != ".":
        text = pc.replace_substring(text, grammar.decimal, ".")
    # Correctly rounded, as Python's float.
    floats = arrow_to_floats(text.cast(pa.float64()))
    return floats if hundredths is None else np.where(hundredths, floats / 100.0, floats)


def arrow_text_to_floats(cells: pa.Array, parse: Parse) -> Floats:
    """Return the numbers in text of any of Arrow's types, also in text that a dictionary holds."""
    # Wide offsets: text of two gigabytes fits, too. What is no UTF-8 is no number.
    return text_to_floats(decoded(cells).cast(pa.large_string()), parse)


def text_to_number(text: str, parse: Parse = PLAIN) -> float:
    """Return the number in one cell of text: what :func:`text_to_floats` says, cell by cell.

    >>> text_to_number("$1,200.50", Parse(thousands=",", currency="$")), text_to_number("$5")
    (1200.5, nan)
    """
    text, grammar = text.strip(_SPACE), grammar_of(parse)
    for pattern, replacement in grammar.rewritten:
        text = re.sub(_for_python(pattern), replacement, text, count=1)
    if not re.search(_for_python(grammar.number), text):
        return math.nan
    divisor = 100.0 if grammar.percent and text.endswith("%") else 1.0
    text = text.rstrip("%").rstrip(" ") if grammar.percent else text
    text = text.replace(grammar.thousands, "")
    return float(text.replace(grammar.decimal, ".")) / divisor


def _for_python(pattern: str) -> str:
    return pattern.replace(r"\z", r"\Z")


def objects_to_floats(cells: Iterable[object], parse: Parse | None) -> Floats:
    """Return the numbers of untyped cells; text is read if the caller said how it is written.

    >>> objects_to_floats([1, "2", None], None), objects_to_floats([1, "2", None], Parse())
    (array([ 1., nan, nan]), array([ 1.,  2., nan]))
    """
    if parse is None:
        return cells_to_floats(cells)

    def number(cell: object) -> float:
        # str's own method: a subclass might run code of its own.
        is_text = issubclass(type(cell), str)
        return text_to_number(str.__str__(cell), parse) if is_text else cell_to_float(cell)

    return np.fromiter((number(cell) for cell in cells), dtype=np.float64)
