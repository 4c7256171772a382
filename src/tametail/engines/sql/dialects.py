"""What SQL dialects write differently: one small table, and nothing else of SQL in it.

Every text here is filled with names, public numbers and earlier private answers; never with what a
record holds. Each expression is total: no double makes it raise (docs/proofs/databases.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from tametail.expressions.sql import Dialect as Spoken

#: What a column is declared as. "number": floats, and unsigned integers of 64 bits; "integer": of
#: at most 64 bits with a sign; "decimal": exact numbers that no double holds; "moment": dates,
#: times and universal ids, which can name a person and nothing else; None: anything else.
Declared = Literal["number", "integer", "boolean", "decimal", "text", "moment"] | None

#: Beyond this centre the difference of a record and the centre may overflow: a double below the
#: largest is less than 2**970 away from the next one, so that no smaller centre leads beyond it.
LARGEST_CENTRE = 2.0**969


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
    bits: str = ""
    """A double in the form in which its bits can be read."""
    bin: str = ""
    """The first 16 of these bits, as an integer."""
    rest: str = ""
    """The 28 bits that follow, as an integer."""
    whole: str = ""
    """A double without a fraction as an integer of 64 bits."""
    scaled: str = "{x} * {inverse}"
    """A number in ticks, before it is clipped to ``low`` and ``high``."""
    is_brief: bool = False
    """Whether plain literals are doubles and integers, and faster read than casts of texts."""
    canonical: str = "{x}"
    """An exact number in a form that is the same for equal numbers."""
    binary: str = "{x}"
    """A text that is compared by its bytes."""
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
        r"""Return a text in which nothing is a sign of SQL.

        >>> POSTGRESQL.text("it's \\"), DUCKDB.text("it's")
        ("E'it''s \\\\'", "'it''s'")
        """
        doubled = text.replace("'", "''")
        if self is POSTGRESQL:  # in E'' a backslash is an escape whatever the settings say
            return "E'{}'".format(doubled.replace("\\", "\\\\"))
        return f"'{doubled}'"


POSTGRESQL = Dialect(
    name="PostgreSQL",
    spoken="postgresql",
    double="float8",
    long_text="text",
    # NaN is the largest number, and a comparison with NULL is not true.
    present="({x} <= CAST('Infinity' AS float8))",
    bits="float8send({y})",
    bin="(get_byte({b}, 0) * 256 + get_byte({b}, 1))",
    rest=(
        "(get_byte({b}, 2) * 1048576 + get_byte({b}, 3) * 4096 + get_byte({b}, 4) * 16"
        " + get_byte({b}, 5) / 16)"
    ),
    whole="CAST({x} AS bigint)",
    # It raises where a product overflows or vanishes: clipped first, and a 0 written by hand.
    scaled=(
        "CASE WHEN abs({x}) <= {vanishing} THEN {zero}"
        " ELSE least(greatest({x}, {least}), {most}) * {inverse} END"
    ),
    canonical="trim_scale({x})",
    binary='CAST({x} AS text) COLLATE "C"',
    barrier=" OFFSET 0",
    member="{x} = ANY(CAST('{{{items}}}' AS {kind}[]))",
)

DUCKDB = Dialect(
    name="DuckDB",
    spoken="duckdb",
    double="DOUBLE",
    long_text="VARCHAR",
    present="({x} <= CAST('Infinity' AS DOUBLE))",
    bits="CAST(CAST({y} AS BIT) AS BIGINT)",
    bin="(({b} >> 48) & 65535)",
    rest="(({b} >> 20) & 268435455)",
    whole="CAST({x} AS BIGINT)",
    is_brief=True,
    binary='CAST({x} AS VARCHAR) COLLATE "binary"',
    member="{x} IN (SELECT unnest(CAST([{items}] AS {kind}[])))",
)

#: Its cells have types of their own, so that nothing is computed there.
SQLITE = Dialect(name="SQLite")
