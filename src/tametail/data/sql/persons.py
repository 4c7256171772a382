"""Persons in PostgreSQL: exact totals of each, by a subquery in every question.

Every finite double is a whole multiple of 2**-1074. A record is taken apart into a word, the place
of its lowest 32 bits, and two integers of 64 bits; these are added up by person and word, and the
words of a person become one integer of any length (``numeric``). The double that it is read as is
that of ``tametail.data.persons.sums``, operation by operation (docs/proofs/databases.md). No table
is made, so that the right to read is enough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tametail.data.persons.sums import BITS, LEAST_EXPONENT
from tametail.data.relation import Relation
from tametail.data.sql.compiler import Compiler
from tametail.doubles import LARGEST

#: Words of the integers: the highest bit of the largest double is in word 65, and carries follow.
_WORDS = 70

#: GREATEST and LEAST leave NULL out: what is missing must not become the least number.
_TAKEN_APART = """
SELECT {ids}, x, f, place / {bits} AS word, sign * (low << place % {bits}) AS low,
 sign * (high << place % {bits}) AS high
FROM (
 SELECT {ids}, x, f, CASE WHEN get_byte(b, 0) > 127 THEN -1 ELSE 1 END AS sign,
  greatest(field, 1) - 1 AS place,
  (CAST(get_byte(b, 4) AS bigint) << 24) + (get_byte(b, 5) << 16) + (get_byte(b, 6) << 8)
   + get_byte(b, 7) AS low,
  CAST((get_byte(b, 1) % 16) * 65536 + get_byte(b, 2) * 256 + get_byte(b, 3)
   + CASE WHEN field > 0 THEN 1048576 ELSE 0 END AS bigint) AS high
 FROM (
  SELECT {ids}, x, f, b, (get_byte(b, 0) % 128) * 16 + get_byte(b, 1) / 16 AS field
  FROM (
   SELECT {ids}, x, f,
    CASE WHEN x IS NOT NULL THEN float8send(least(greatest(x, {least}), {most})) END AS b
   FROM (SELECT {ids}, f, CASE WHEN {present} THEN x END AS x FROM {records} OFFSET 0) AS v
   WHERE {known} OFFSET 0
  ) AS v OFFSET 0
 ) AS v OFFSET 0
) AS v
"""

_TOTALS = """
SELECT {ids}, sum((low + high * 4294967296) * ({powers})[word + 1]) AS total, sum(c) AS c,
 min(f) AS f
FROM (
 SELECT {ids}, word, sum(low) AS low, sum(high) AS high, count(x) AS c, min(f) AS f
 FROM ({apart}) AS v GROUP BY {ids}, word
) AS v GROUP BY {ids}
"""

#: The three highest digits in base 2**32, and then one product with a power of two.
_READ = """
(SELECT CASE WHEN size >= ({limits})[j] THEN {most} ELSE size * ({factors})[j] END
  * CASE WHEN total < 0 THEN -1 ELSE 1 END AS s, CAST(c AS float8) AS c, f
 FROM (
  SELECT total, c, f, j, (CAST(div(t, 18446744073709551616) AS float8) * 4294967296
    + CAST(mod(div(t, 4294967296), 4294967296) AS float8)) * 4294967296
    + CAST(mod(t, 4294967296) AS float8) AS size
  FROM (
   SELECT total, c, f, j, div(abs(total), ({powers})[j]) AS t
   FROM (
    SELECT coalesce(total, 0) AS total, c, f,
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


def persons_text(compiler: Compiler, relation: Relation, column: int) -> str:
    """Return one row (s, c, f) for each person, behind FROM; f: all of their rows are left out."""
    dialect, names = compiler.session.dialect, compiler.persons
    apart = _TAKEN_APART.format(
        ids=", ".join(names),
        known=compiler.known(names),
        present=dialect.present.format(x="x"),
        records=compiler.records(relation, [column], ids=True),
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
