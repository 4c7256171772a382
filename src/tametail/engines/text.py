"""Numbers written as text: what the caller may say about them, and how they are read.

Nothing is guessed from cells: how numbers are written is public, and a cell that is written
otherwise is missing. Every cell takes the same way, so that one odd cell changes neither its
neighbours nor the time that they take.
"""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tametail.engines.cells import Floats, arrow_to_floats, cell_to_float, cells_to_floats
from tametail.errors import ParameterError

_SPACE = " \t\n\v\f\r"
_NOT_A_SIGN = re.compile(r"[0-9eE+\-().,%\"\s]")


@dataclass(frozen=True)
class Parse:
    """How a CSV file or a column of text writes its numbers: said by the caller, never guessed.

    Parameters
    ----------
    delimiter
        What stands between the cells of a CSV row. None: a tab in files named .tsv, else a comma.
    decimal, thousands
        The signs before the fraction and between groups of two or three digits, such as "," and
        "."; ``thousands=None``: digits are not grouped.
    currency
        Signs or words to leave out before or after a number: ``("$", "USD")``, or "$€" for two
        signs.
    accounting
        ``(12.50)`` is -12.5.
    percent
        ``12%`` is 0.12; a number without the sign is itself.
    header
        Whether the first row of a CSV file names its columns. None: it does, and is shown in
        messages only if it looks like names. False: columns are called "0", "1", ...
    encoding
        Of a CSV file. A byte that is none of its characters is part of a cell that is no number.

    Examples
    --------
    >>> text_to_floats(["1.200,50", "(3,5)"], Parse(decimal=",", thousands=".", accounting=True))
    array([1200.5,   -3.5])
    """

    delimiter: str | None = None
    decimal: str = "."
    thousands: str | None = None
    currency: str | tuple[str, ...] = ()
    accounting: bool = False
    percent: bool = False
    header: bool | None = None
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        _check_sign("delimiter", self.delimiter, "',', ';', '|' or a tab", allowed=",;|:~^!# \t")
        _check_sign("decimal", self.decimal, "'.' or ','", allowed=".,", needed=True)
        _check_sign("thousands", self.thousands, "',', '.', a space or \"'\"", allowed=",.'_ \u00a0\u202f\u2019")  # fmt: skip  # noqa: E501
        if self.thousands == self.decimal:
            raise ParameterError(
                f"decimal and thousands are both {self.decimal!r}: one sign cannot be both."
            )
        object.__setattr__(self, "currency", _signs(self.currency))
        for name in ("accounting", "percent"):
            if not isinstance(getattr(self, name), bool):
                raise ParameterError(f"{name} is neither True nor False: write {name}=True.")
        if self.header is not None and not isinstance(self.header, bool):
            raise ParameterError("header is neither None, True nor False: write header=False.")
        object.__setattr__(self, "encoding", _encoding(self.encoding))

    @property
    def is_plain(self) -> bool:
        """Whether numbers are written as programs write them."""
        written = self.decimal, self.thousands, self.currency, self.accounting, self.percent
        return written == (".", None, (), False, False)

    @cached_property
    def grammar(self) -> Grammar:
        """The same as regular expressions."""
        return _grammar(self)


#: Numbers as programs write them.
PLAIN: Parse


class Grammar(NamedTuple):
    """What is rewritten first, what is a number then, and the signs to leave out of it."""

    rewritten: tuple[tuple[str, str], ...]
    number: str
    percent: str
    thousands: str
    decimal: str


def _check_sign(
    name: str, sign: object, advice: str, *, allowed: str, needed: bool = False
) -> None:
    if sign is None and not needed:
        return
    if not (isinstance(sign, str) and len(sign) == 1 and sign in allowed):
        shown = f"{sign!r}" if isinstance(sign, str) and len(sign) < 20 else type(sign).__name__
        raise ParameterError(f"{name}={shown} is not known: write {advice}.")


def _signs(currency: object) -> tuple[str, ...]:
    signs = tuple(currency) if isinstance(currency, str | tuple | list) else (currency,)
    if not all(isinstance(x, str) and 0 < len(x) < 9 and not _NOT_A_SIGN.search(x) for x in signs):
        raise ParameterError(
            "currency holds something that is no currency sign: write currency='$', or "
            "currency=('USD', 'EUR') for words, without digits or spaces."
        )
    return signs


def _encoding(name: object) -> str:
    try:
        info = codecs.lookup(name) if isinstance(name, str) else None
    except (LookupError, ValueError):
        info = None
    if info is None or not getattr(info, "_is_text_encoding", True):
        shown = f"{name!r}" if isinstance(name, str) and len(name) < 40 else type(name).__name__
        raise ParameterError(
            f"encoding={shown} is not known: write 'utf-8', 'latin-1', 'cp1252' or 'utf-16'."
        )
    return info.name


def _grammar(parse: Parse) -> Grammar:
    """Return expressions that mean the same to Arrow (RE2) and to Python."""
    point, rewritten, digits = re.escape(parse.decimal), [], "[0-9]+"
    if parse.accounting:
        rewritten.append((r"\A\(([^()+-]+)\)\z", r"-\1"))
    if parse.currency:
        signs = "|".join(re.escape(sign) for sign in sorted(parse.currency, key=len, reverse=True))
        rewritten.append((rf"\A([+-]?) *(?:{signs}) *", r"\1"))
        rewritten.append((rf" *(?:{signs})\z", ""))
    if parse.thousands:
        comma = re.escape(parse.thousands)
        digits = f"(?:[0-9]{{1,3}}(?:{comma}[0-9]{{2,3}})*{comma}[0-9]{{3}}|[0-9]+)"
    finite = f"(?:{digits}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?"
    percent = " *%" if parse.percent else ""
    infinite = "[iI][nN][fF](?:[iI][nN][iI][tT][yY])?"
    number = rf"\A[+-]?(?:{finite}{f'(?:{percent})?' if percent else ''}|{infinite})\z"
    return Grammar(tuple(rewritten), number, percent, parse.thousands or "", parse.decimal)


PLAIN = Parse()


def text_to_floats(cells: pa.Array | Iterable[str | None], parse: Parse = PLAIN) -> Floats:
    """Return the numbers in text cells, NaN where a cell is not a number.

    >>> text_to_floats(pa.array(["1.5", " -2e3 ", "1e400", "n/a", "1_000", None])).tolist()
    [1.5, -2000.0, inf, nan, nan, nan]
    """
    import pyarrow.compute as pc

    if not isinstance(cells, pa.Array):
        cells = pa.array(cells, pa.string())
    text, grammar = pc.ascii_trim_whitespace(cells), parse.grammar
    for pattern, replacement in grammar.rewritten:
        text = pc.replace_substring_regex(text, pattern, replacement)
    # What is no number is null before the cast, which would stop at it.
    text = pc.if_else(pc.match_substring_regex(text, grammar.number), text, None)
    hundredths = None
    if grammar.percent:
        hundredths = pc.fill_null(pc.ends_with(text, "%"), False).to_numpy(zero_copy_only=False)
        text = pc.replace_substring_regex(text, grammar.percent, "")
    if grammar.thousands:
        text = pc.replace_substring(text, grammar.thousands, "")
    if grammar.decimal != ".":
        text = pc.replace_substring(text, grammar.decimal, ".")
    # Correctly rounded, as Python's float.
    floats = arrow_to_floats(text.cast(pa.float64()))
    return floats if hundredths is None else np.where(hundredths, floats / 100.0, floats)


def text_to_number(text: str, parse: Parse = PLAIN) -> float:
    """Return the number in one cell of text: what :func:`text_to_floats` says, cell by cell.

    >>> text_to_number("$1,200.50", Parse(thousands=",", currency="$")), text_to_number("$5")
    (1200.5, nan)
    """
    text, grammar = text.strip(_SPACE), parse.grammar
    for pattern, replacement in grammar.rewritten:
        text = re.sub(_for_python(pattern), replacement, text, count=1)
    if not re.search(_for_python(grammar.number), text):
        return math.nan
    divisor = 100.0 if grammar.percent and text.endswith("%") else 1.0
    text = text.rstrip("%").rstrip(" ") if grammar.percent else text
    text = text.replace(grammar.thousands, "") if grammar.thousands else text
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
