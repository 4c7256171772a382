"""Persons in PostgreSQL: exact totals of each, by a subquery in every question.

Every finite double is a whole multiple of 2**-1074. A record is taken apart into a word, the place
of its lowest 32 bits, and two integers of 64 bits; these are added up by person and word, and the
words of a person become one integer of any length (``numeric``). The double that it is read as
is that of ``engines.persons.sums``, operation by operation (docs/proofs/databases.md). No table is
made, so that the right to read is enough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

from tametail.doubles import LARGEST
from tametail.engines import Engine
from tametail.engines.persons.engine import PersonsEngine
from tametail.engines.persons.sums import BITS, LEAST_EXPONENT
from tametail.engines.sql.column import SqlColumn
from tametail.engines.sql.dialects import Declared, Dialect
from tametail.engines.sql.records import Asked, Records
from tametail.engines.sql.sessions import Session
from tametail.errors import DataError
from tametail.expressions import Expression
from tametail.expressions.sql import sql_value
from tametail.expressions.tree import Arithmetic, Name, Negate, Number, Value
from tametail.queries.persons import PersonMean, PersonNorm, PersonRows, View
from tametail.queries.query import Exact, Query

#: Words of the integers: the highest bit of the largest double is in word 65, and carries follow.
_WORDS = 70

#: GREATEST and LEAST leave NULL out: what is missing must not become the least number.
_TAKEN_APART = """
SELECT {ids}, x, place / {bits} AS word, sign * (low << place % {bits}) AS low,
 sign * (high << place % {bits}) AS high
FROM (
 SELECT {ids}, x, CASE WHEN get_byte(b, 0) > 127 THEN -1 ELSE 1 END AS sign,
  greatest(field, 1) - 1 AS place,
  (CAST(get_byte(b, 4) AS bigint) << 24) + (get_byte(b, 5) << 16) + (get_byte(b, 6) << 8)
   + get_byte(b, 7) AS low,
  CAST((get_byte(b, 1) % 16) * 65536 + get_byte(b, 2) * 256 + get_byte(b, 3)
   + CASE WHEN field > 0 THEN 1048576 ELSE 0 END AS bigint) AS high
 FROM (
  SELECT {ids}, x, b, (get_byte(b, 0) % 128) * 16 + get_byte(b, 1) / 16 AS field
  FROM (
   SELECT {ids}, x,
    CASE WHEN x IS NOT NULL THEN float8send(least(greatest(x, {least}), {most})) END AS b
   FROM (SELECT {named}, CASE WHEN {present} THEN {value} END AS x FROM {source} OFFSET 0) AS v
   WHERE {known} OFFSET 0
  ) AS v OFFSET 0
 ) AS v OFFSET 0
) AS v
"""

_TOTALS = """
SELECT {ids}, sum((low + high * 4294967296) * ({powers})[word + 1]) AS total, sum(c) AS c
FROM (
 SELECT {ids}, word, sum(low) AS low, sum(high) AS high, count(x) AS c
 FROM ({apart}) AS v GROUP BY {ids}, word
) AS v GROUP BY {ids}
"""

#: The three highest digits in base 2**32, and then one product with a power of two.
_READ = """
(SELECT CASE WHEN size >= ({limits})[j] THEN {most} ELSE size * ({factors})[j] END
  * CASE WHEN total < 0 THEN -1 ELSE 1 END AS s, CAST(c AS float8) AS c
 FROM (
  SELECT total, c, j, (CAST(div(t, 18446744073709551616) AS float8) * 4294967296
    + CAST(mod(div(t, 4294967296), 4294967296) AS float8)) * 4294967296
    + CAST(mod(t, 4294967296) AS float8) AS size
  FROM (
   SELECT total, c, j, div(abs(total), ({powers})[j]) AS t
   FROM (
    SELECT coalesce(total, 0) AS total, c,
     greatest(width_bucket(abs(coalesce(total, 0)), {powers}) - 2, 1) AS j
    FROM ({totals}) AS v OFFSET 0
   ) AS v OFFSET 0
  ) AS v OFFSET 0
 ) AS v OFFSET 0
) AS person
"""


def _array(items: Sequence[object], kind: str) -> str:
    return f"CAST('{{{','.join(map(str, items))}}}' AS {kind}[])"


_POWERS = _array([1 << BITS * word for word in range(_WORDS)], "numeric")
_EXPONENTS = [BITS * word + LEAST_EXPONENT for word in range(_WORDS)]


def _power(exponent: int) -> str:
    """Return a power of two that is a double, or an infinity."""
    return repr(math.ldexp(1.0, exponent)) if exponent < 1024 else "Infinity"


_FACTORS = _array([_power(exponent) for exponent in _EXPONENTS], "float8")
_LIMITS = _array([_power(1024 - exponent) for exponent in _EXPONENTS], "float8")


def persons_text(dialect: Dialect, ids: Sequence[str], records: Records) -> str:
    """Return one row (s, c) for each person, behind FROM; ids as SQL that is compared exactly."""
    names = [f"p{j}" for j in range(len(ids))]
    apart = _TAKEN_APART.format(
        ids=", ".join(names),
        named=", ".join(f"{text} AS {name}" for text, name in zip(ids, names, strict=True)),
        known=" AND ".join(f"{name} IS NOT NULL" for name in names),
        present=dialect.present.format(x=f"({records.value})"),
        value=records.value,
        source=records.source,
        least=dialect.number(-LARGEST),
        most=dialect.number(LARGEST),
        bits=BITS,
    )
    totals = _TOTALS.format(ids=", ".join(names), powers=_POWERS, apart=apart)
    return _READ.format(
        totals=totals,
        powers=_POWERS,
        factors=_FACTORS,
        limits=_LIMITS,
        most=dialect.number(LARGEST),
    )


def exact_id(dialect: Dialect, name: str, declared: Declared) -> str:
    """Return a column of ids as SQL whose equality is that of the ids."""
    column = dialect.identifier(name)
    return dialect.binary.format(x=column) if declared == "text" else column


class SqlPersons:
    """Answers queries over persons: one number for each, computed in the database."""

    def __init__(
        self, session: Session, asked: Asked, people: Sequence[str], streamed: PersonsEngine
    ) -> None:
        self._session, self._asked, self._streamed = session, asked, streamed
        self._ids = [exact_id(session.dialect, name, session.columns[name]) for name in people]
        self.columns = asked.columns

    @property
    def locator(self) -> str | None:
        """Where the table lies, for a ledger."""
        return self._session.locator

    @property
    def reading(self) -> str:
        """How the records are read, in the words of a plan."""
        name = self._session.dialect.name
        if len(self.columns) > 1:
            return f"rows stream from {name} through this process, which keeps persons' sums"
        return f"computed in {name}, persons by a subquery; integers and a sample travel"

    def close(self) -> None:
        """End the session."""
        self._session.close()

    @cached_property
    def size(self) -> int:
        """The number of persons. Public under replace-one only."""
        known = " AND ".join(f"{each} IS NOT NULL" for each in self._ids)
        ((count,),) = self._session.rows(
            f"SELECT count(*) FROM (SELECT 1 FROM {self._session.source} WHERE {known} "
            f"GROUP BY {', '.join(self._ids)}) AS v"
        )
        return int(count)

    def view(self, view: View) -> Engine:
        """Return an engine over one number of each person."""
        if isinstance(view, PersonNorm):
            return self._streamed.view(view)
        dialect = self._session.dialect
        source = persons_text(dialect, self._ids, self._asked.records(view.column))
        value = f"CASE WHEN c > 0 THEN {self._number(view)} END"
        left_out = self._asked.left_out(self._ids)
        records = Records(dialect, source, value, is_plain=False, left_out=left_out)
        return SqlColumn(self._session, records, self.columns[view.column])

    def _number(self, view: View) -> str:
        """Return the number of a view by the guarded operations of ``expressions.sql``."""
        tree: Value = Name("c")
        if isinstance(view, PersonMean):
            tree = Arithmetic("/", Name("s"), Name("c"))
        elif not isinstance(view, PersonRows | PersonNorm):
            size: Value = Number(abs(view.ratio))
            ratio = Negate(size) if view.ratio < 0 else size
            tree = Arithmetic("-", Name("s"), Arithmetic("*", ratio, Name("c")))
        number = sql_value(Expression(tree), {"s": "number", "c": "number"}, "postgresql")
        least, most = (self._session.dialect.number(end) for end in (-LARGEST, LARGEST))
        return f"least(greatest({number}, {least}), {most})"

    def answer(self, query: Query[object]) -> Exact:
        """Return the exact answer to ``query`` about the persons' means."""
        if len(self.columns) > 1:
            return self._streamed.answer(query)
        return self._means.answer(query)

    @cached_property
    def _means(self) -> Engine:
        return self.view(PersonMean())

    def rows(self, start: int, stop: int) -> Engine:  # noqa: ARG002 - an engine's verb
        """Persons have no positions."""
        raise DataError("persons have no order: ask about all of them.")

    def column(self, index: int) -> Engine:
        """Return an engine over the persons' means in one column."""
        return self.view(PersonMean(index))
