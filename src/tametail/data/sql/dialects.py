"""What SQL dialects write differently: one small table, and nothing else of SQL in it.

Every text here is filled with names, public numbers and earlier private answers; never with what a
record holds. Each expression is total: no double makes it raise (docs/proofs/databases.md). Beside
each macro stands the trap that it avoids.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tametail.expressions.sql import DUCKDB_IS_NUMBER
from tametail.expressions.sql import Dialect as Spoken

#: What a column is declared as. "number": floats, and unsigned integers of 64 bits; "integer": of
#: at most 64 bits with a sign; "decimal": exact numbers that no double holds; "moment": dates,
#: times and universal ids, which can name a person and nothing else; None: anything else.
Declared = Literal["number", "integer", "boolean", "decimal", "text", "moment"] | None

#: Beyond this center the difference of a record and the center may overflow: a double below the
#: largest is less than 2**970 away from the next one, so that no smaller center leads beyond it.
LARGEST_CENTER = 2.0**969


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a database writes what our questions need.

    Where nothing is said, the database is not asked to compute: its rows are streamed.
    """

    name: str
    spoken: Spoken | None = None
    """The dialect of ``expressions.sql``; None where it is not spoken there."""
    double: str = ""
    long_text: str = ""
    present: str = ""
    """Whether a double is neither NULL nor NaN."""
    steps: tuple[str, ...] = ()
    """From a distance y to ``bin``, its first 16 bits, and ``rest``, the 28 bits that follow: what
    is selected from the step before."""
    bin_is_double: bool = False
    """Whether ``bin`` is a double that has these 16 bits, and nothing else."""
    whole: str = ""
    """A double without a fraction as an integer of 64 bits."""
    words: tuple[tuple[str, int], ...] = (("{t}", 0),)
    """Parts of an integer whose sums cannot overflow, and by how many bits each is shifted."""
    scaled: str = "x * {inverse}"
    """A number in ticks that are longer than 1, before it is clipped."""
    is_brief: bool = False
    """Whether plain literals are doubles and integers, and faster read than casts of texts."""
    bits: str = ""
    """A double by its bits, where one that is written in decimals may be read inexactly."""
    constant: str = ""
    """A double as a column of its own, where a literal would cost more."""
    canonical: str = "{x}"
    """An exact number in a form that is the same for equal numbers."""
    binary: str = "{x}"
    """A text that is compared by its bytes."""
    literal: Literal["plain", "escaped", "hex"] = "plain"
    """How text is written."""
    has_nul: bool = False
    """Whether a text can hold the character 0."""
    has_wide_numbers: bool = False
    """Whether integers of any length can be computed with, and found among others."""
    has_own_functions: bool = False
    """Whether functions of this package can be called there."""
    casts_decimals: bool = False
    """Whether an exact number can be cast to a double, whatever it is."""
    barrier: str = ""
    """What keeps a subquery from being computed anew wherever it is named."""
    member: str = ""
    """Whether something is one of a list."""
    quote: str = '"'

    def identifier(self, *parts: str) -> str:
        """Return a name, quoted.

        >>> POSTGRESQL.identifier("billing", 'a"b')
        '"billing"."a""b"'
        """
        mark = self.quote
        return ".".join(f"{mark}{part.replace(mark, 2 * mark)}{mark}" for part in parts)

    def number(self, number: float) -> str:
        """Return a double, exactly.

        >>> POSTGRESQL.number(-0.1), DUCKDB.number(-0.1), DUCKDB.number(float("inf"))
        ("CAST('-0.1' AS float8)", '-0.1e0', "CAST('Infinity' AS DOUBLE)")
        """
        if self.bits:
            return self.bits.format(bits=int(np.float64(number).view(np.uint64)))
        written = repr(number) if math.isfinite(number) else f"{'-' * (number < 0)}Infinity"
        if self.is_brief and math.isfinite(number):  # without an exponent it would be a decimal
            return written if "e" in written else f"{written}e0"
        return f"CAST('{written}' AS {self.double})"

    def integer(self, number: int) -> str:
        """Return an integer of 64 bits.

        >>> POSTGRESQL.integer(-7), DUCKDB.integer(-7), DUCKDB.integer(-(2**63))
        ("CAST('-7' AS bigint)", '-7', "CAST('-9223372036854775808' AS bigint)")
        """
        # The least of them is minus a literal that 64 bits do not hold.
        if self.is_brief and abs(number) < 1 << 63:
            return str(number)
        return f"CAST('{number}' AS bigint)"

    def text(self, text: str) -> str:
        r"""Return a text in which nothing is a sign of SQL, compared by its bytes.

        Where a text can hold the character 0, it is not part of a literal, which would end there.

        >>> POSTGRESQL.text("it's \\"), SPARK.text("it's")
        ('CAST(E\'it\'\'s \\\\\' AS text) COLLATE "C"', "X'69742773'")
        """
        if self.literal == "hex":
            return f"X'{text.encode().hex()}'"
        doubled = text.replace("'", "''")
        if self.literal == "escaped":  # in E'' a backslash is an escape whatever the settings say
            written = "E'{}'".format(doubled.replace("\\", "\\\\"))
        else:
            written = " || chr(0) || ".join(f"'{part}'" for part in doubled.split("\0"))
        return self.binary.format(x=written)

    def sums(self, term: str) -> str:
        """Return the aggregates whose values :meth:`total` puts together."""
        return ", ".join(f"sum({word.format(t=term)})" for word, _ in self.words)

    def total(self, sums: tuple[int | None, ...]) -> int:
        """Return an exact sum; over no rows it is NULL."""
        if len(self.words) == 1:
            return int(sums[0] or 0)
        shifts = (shift for _, shift in self.words)
        return sum(int(each or 0) << shift for each, shift in zip(sums, shifts, strict=True))

    def bins_of(self, found: Sequence[float]) -> npt.NDArray[np.int64]:
        """Return the bins that rows of profiles are about."""
        if not self.bin_is_double:
            return np.array(found, dtype=np.int64)
        return np.array(found, dtype=np.float64).view(np.int64) >> 48 & 0xFFFF


POSTGRESQL = Dialect(
    name="PostgreSQL",
    spoken="postgresql",
    double="float8",
    long_text="text",
    # NaN is the largest number, and a comparison with NULL is not true.
    present="({x} <= CAST('Infinity' AS float8))",
    steps=(
        "float8send(y) AS b",
        "(get_byte(b, 0) * 256 + get_byte(b, 1)) AS bin, (get_byte(b, 2) * 1048576"
        " + get_byte(b, 3) * 4096 + get_byte(b, 4) * 16 + get_byte(b, 5) / 16) AS rest",
    ),
    whole="CAST({x} AS bigint)",
    # It raises where a product vanishes: a 0 is written by hand.
    scaled="CASE WHEN abs(x) <= {vanishing} THEN CAST('0' AS float8) ELSE x * {inverse} END",
    canonical="trim_scale({x})",
    binary='CAST({x} AS text) COLLATE "C"',
    literal="escaped",
    has_wide_numbers=True,
    barrier=" OFFSET 0",
    member="{x} = ANY(CAST('{{{items}}}' AS {kind}[]))",
)

DUCKDB = Dialect(
    name="DuckDB",
    spoken="duckdb",
    double="DOUBLE",
    long_text="VARCHAR",
    present=DUCKDB_IS_NUMBER,  # comparisons and isnan are answered by statistics of files
    steps=(
        "CAST(CAST(y AS BIT) AS BIGINT) AS b",
        "((b >> 48) & 65535) AS bin, ((b >> 20) & 268435455) AS rest",
    ),
    whole="CAST({x} AS BIGINT)",
    is_brief=True,
    binary='CAST(({x}) AS VARCHAR) COLLATE "binary"',
    has_nul=True,
    member="{x} IN (SELECT unnest(CAST([{items}] AS {kind}[])))",
)

_FAR, _SPLIT = f"{2.0**900!r}D", "4503599627370497D"

SPARK = Dialect(
    name="Spark",
    spoken="spark",
    double="DOUBLE",
    long_text="STRING",
    present="({x} IS NOT NULL AND NOT isnan({x}))",
    # No function shows the bits of a double. But |y| rounded to one bit, by Veltkamp's splitting,
    # is the power of two below or above it; with the former its first 33 bits are an integer.
    steps=(
        f"y, abs(y) >= {2.0**-1022!r}D AND abs(y) < double('Infinity') AS normal, "
        f"CASE WHEN abs(y) < {_FAR} THEN 1D ELSE {2.0**-100!r}D END AS scale",
        "y, normal, scale, CASE WHEN normal THEN abs(y) * scale ELSE 1D END AS size",
        f"y, normal, scale, size, size * {_SPLIT} - (size * {_SPLIT} - size) AS rounded",
        "y, normal, scale, size, CASE WHEN rounded > size THEN rounded / 2D ELSE rounded END"
        " AS octave",
        f"y, normal, scale, octave, CAST(floor(size / octave * {2.0**32!r}D) AS BIGINT) AS bits",
        "CASE WHEN normal THEN signum(y) * octave * (CAST(shiftright(bits, 28) AS DOUBLE)"
        " * 0.0625D) / scale WHEN abs(y) < 1D THEN 0D ELSE y END AS bin, bits & 268435455 AS rest",
    ),
    bin_is_double=True,
    whole="CAST({x} AS BIGINT)",
    # Sums of 64 bits wrap around, or raise in ANSI mode.
    words=(("shiftright({t}, 26)", 26), ("(({t}) & 67108863)", 0)),
    # A literal is part of the code that Spark generates, and the JVM would compile it anew for
    # every release. The items of an array are not, if Spark cannot tell which of them is meant.
    constant="get(array({x}), spark_partition_id() * 0)",
    binary="CAST({x} AS BINARY)",
    literal="hex",  # escapes in literals of text depend on a setting
    has_nul=True,
    has_own_functions=True,
    casts_decimals=True,
    quote="`",
)

#: Its cells have types of their own, so that nothing is computed there.
SQLITE = Dialect(name="SQLite")
