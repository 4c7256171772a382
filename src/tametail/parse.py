"""How numbers are written in files and in text: what the caller may say about it.

Public, checked here once, and never guessed from cells. How cells are read by it is the engines'.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Final

from tametail._json import Json
from tametail._shown import shown
from tametail._validate import one_of
from tametail.errors import ParameterError

#: What files may be.
FORMATS = ("csv", "tsv", "parquet", "arrow", "feather", "jsonl", "json", "xlsx")


def _code_pages(*numbers: int) -> Iterator[str]:
    return (f"cp{number}" for number in numbers)


#: Encodings in which each line can be decoded by itself, whatever bytes the lines before it hold.
#: Those of one byte a character; then those in which a broken character ends with its line. In
#: UTF-16 and UTF-32 lines are made of units of two and four bytes. Not among them are encodings
#: with a state that outlives a line (HZ, ISO 2022, UTF-7), and those whose decoders take a line end
#: for a part of a broken character (EUC, GB 18030).
ENCODINGS: Final = frozenset((
    "ascii", *(f"iso8859-{part}" for part in range(1, 17) if part != 12),
    "cp037", *_code_pages(273, 424, 437, 500, 720, 737, 775, 850, 852, *range(855, 859)),
    *_code_pages(*range(860, 867), 869, 874, 875, 1006, 1026, 1125, 1140, *range(1250, 1259)),
    "hp-roman8", "koi8-r", "koi8-t", "koi8-u", "kz1048", "ptcp154", "tis-620",
    *(f"mac-{name}" for name in ("arabic", "croatian", "cyrillic", "farsi", "greek", "iceland")),
    *(f"mac-{name}" for name in ("latin2", "roman", "romanian", "turkish")),
    "utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be",
    "big5", "big5hkscs", *_code_pages(932, 949, 950), "gb2312", "gbk", "johab",
    "shift_jis", "shift_jis_2004", "shift_jisx0213",
))  # fmt: skip

#: Encodings whose decoders take the order of bytes from the mark at the beginning.
MARKED: Final = ("utf-16", "utf-32")

#: A currency sign is anything that cannot be part of a number: words may hold an E, and a point
#: after a letter ("EUR", "Rs."), but none is a lone E, since 1E5 is a number.
_A_SIGN = re.compile(r"(?![eE]\Z)(?:[^0-9+\-().,%\"\s]|(?<=[^\W\d_])\.){1,8}\Z")


@dataclass(frozen=True)
class Parse:
    """How a CSV file or a column of text writes its numbers: stated by the caller, never guessed.

    Parameters
    ----------
    delimiter
        What stands between the cells of a CSV row. None: a tab in files named .tsv, else a comma.
    decimal, thousands
        The signs before the fraction and between groups of two or three digits, such as "," and
        ".". With ``thousands=None`` digits are not grouped, except in cells that can mean only one
        number: 1,234.50 is 1234.5, and 1,234 is missing.
    currency
        What to leave out before or after a number: "$", "$€" for two signs, "EUR" for a word,
        ``("$", "EUR")`` for several of any kind.
    accounting
        ``(12.50)`` is -12.5.
    percent
        ``12%`` is 0.12; a number without the sign is itself.
    header
        Whether the first row of a CSV file names its columns. None: it does, and is shown in
        messages only if it looks like names. True: it does, whatever it looks like. False: it is
        a record, and columns are called "0", "1", ...
    format
        "csv", "tsv", "parquet", "arrow" (or "feather"), "jsonl", "json" (an array of objects) or
        "xlsx": of a stream, or of files whose names do not say so. None: by the ending of the
        name.
    encoding
        Of a CSV file, one in which each line can be decoded by itself: UTF-8, UTF-16, Latin-1 and
        all others of one byte a character, Shift JIS, GBK, Big5. A byte that is none of its
        characters is part of a cell that is no number.

    Examples
    --------
    >>> import pandas, tametail as tt
    >>> frame = pandas.DataFrame({"paid": ["1.200,50", "(3,50)"] * 5_000}, dtype="string")
    >>> written = tt.Parse(decimal=",", thousands=".", accounting=True)
    >>> abs(tt.mean(frame, "paid", epsilon=1, parse=written).value - 598.5) < 30
    True
    """

    delimiter: str | None = None
    decimal: str = "."
    thousands: str | None = None
    currency: str | tuple[str, ...] = ()
    accounting: bool = False
    percent: bool = False
    header: bool | None = None
    encoding: str = "utf-8"
    format: str | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        _check_sign("delimiter", self.delimiter, "',', ';', '|' or a tab", allowed=",;|:~^!# \t")
        _check_sign("decimal", self.decimal, "'.' or ','", allowed=".,", needed=True)
        _check_sign("thousands", self.thousands, "',', '.', a space or \"'\"", allowed=",.'_ \u00a0\u202f\u2019")  # fmt: skip  # noqa: E501
        if self.thousands == self.decimal:
            raise ParameterError(
                f"decimal and thousands are both {self.decimal!r}. They must differ."
            )
        object.__setattr__(self, "currency", _signs(self.currency))
        for name in ("accounting", "percent"):
            if not isinstance(getattr(self, name), bool):
                raise ParameterError(f"Invalid {name}. Use {name}=True or {name}=False.")
        if self.header is not None and not isinstance(self.header, bool):
            raise ParameterError("Invalid header. Use header=True, header=False or None.")
        object.__setattr__(self, "encoding", _encoding(self.encoding))
        if self.header is False and self.encoding in MARKED:
            raise ParameterError(
                f"With header=False, encoding={self.encoding!r} would take the byte order from a "
                f"record. Use encoding='{self.encoding}-le' or encoding='{self.encoding}-be'."
            )
        if self.format is not None:
            one_of(FORMATS, format=self.format)

    @property
    def is_ascii(self) -> bool:
        """Whether every number is written in ASCII."""
        return "".join((self.thousands or "", *self.currency)).isascii()

    def to_dict(self) -> Json:
        """Return what differs from the defaults as plain values, ready for JSON.

        >>> Parse(decimal=",", currency="$").to_dict()
        {'decimal': ',', 'currency': ['$']}
        """
        usual, said = asdict(Parse()), asdict(self)
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in said.items()
            if value != usual[name]
        }

    @classmethod
    def from_dict(cls, record: Json) -> Parse:
        """Undo :meth:`to_dict`."""
        known = {field.name for field in fields(cls)}
        if not (isinstance(record, dict) and known.issuperset(record)):
            raise ParameterError("This is not a number format. Use the output of Parse.to_dict().")
        return cls(**record)


def parse_parse(value: object) -> Parse | None:
    """Return how numbers are written; None if nothing is said about it."""
    if value is None or isinstance(value, Parse):
        return value
    raise ParameterError(
        f"Invalid parse={shown(value)}. Use parse=Parse(decimal=',', thousands='.'), or remove it."
    )


def _check_sign(
    name: str, sign: object, advice: str, *, allowed: str, needed: bool = False
) -> None:
    if sign is None and not needed:
        return
    if not (isinstance(sign, str) and len(sign) == 1 and sign in allowed):
        raise ParameterError(f"Invalid {name}={shown(sign)}. Use {name}={advice}.")


def _signs(currency: object) -> tuple[str, ...]:
    if isinstance(currency, str) and any(map(str.isalpha, currency)):
        currency = (currency,)  # a word
    signs = tuple(currency) if isinstance(currency, str | tuple | list) else (currency,)
    if not all(isinstance(x, str) and _A_SIGN.match(x) for x in signs):
        raise ParameterError(
            "Invalid currency. Use currency='$', or currency=('USD', 'EUR'), without digits or "
            "spaces."
        )
    return signs


def _encoding(name: object) -> str:
    try:
        info = codecs.lookup(name) if isinstance(name, str) else None
    except (LookupError, ValueError):
        info = None
    if info is None or not getattr(info, "_is_text_encoding", True):
        raise ParameterError(
            f"Unknown encoding={shown(name)}. Use 'utf-8', 'latin-1', 'cp1252' or 'utf-16'."
        )
    found = info.name.removesuffix("-sig")  # a mark at the beginning is left out anyway
    if found not in ENCODINGS:
        raise ParameterError(
            f"encoding={shown(name)} is not supported: one record could change how the next ones "
            "are read. Convert the file to UTF-8."
        )
    return found
