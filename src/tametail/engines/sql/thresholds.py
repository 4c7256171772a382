"""The profile without bit casts: by comparisons with the powers of two, which are public.

For databases that show no bits of a double. |y| is found among the powers of two; with the one at
or below it, |y| / 2**j is in [1, 2) exactly, and its first 33 bits are floor(|y| / 2**j * 2**32).
PostgreSQL can write it so, too, and is tested with it. **BigQuery and Snowflake are not tested**:
their text follows their documentation, no server of theirs has run it, and no session opens them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

#: The exponents of the doubles that are no subnormal numbers.
_OCTAVES = range(-1022, 1024)

_PROFILE = """
SELECT CASE WHEN y < 0 THEN 32768 ELSE 0 END + k * 16
  + CASE WHEN {normal} THEN {sixteenths} - 16 ELSE 0 END AS bin, count(*), sum({rest})
FROM (SELECT y, k, CASE WHEN {normal} THEN {bits} ELSE 0 END AS bits FROM ({found}) AS f) AS b
GROUP BY 1
"""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """How a database finds a number among thresholds, and works with whole numbers."""

    name: str
    double: str
    found: str
    """Rows y, k, inverse: how many powers are at or below abs(y), and the last one inverted."""
    whole: str
    quotient: str
    remainder: str
    array: str
    is_tested: bool

    def number(self, number: float) -> str:
        """Return a double, exactly."""
        written = repr(number) if math.isfinite(number) else "Infinity"
        return f"CAST('{written}' AS {self.double})"

    def profile(self, records: str, present: str, centre: float) -> str:
        """Return the question for the profile of x in ``records`` around a centre."""
        starts = [math.ldexp(1.0, j) for j in _OCTAVES] + [math.inf]
        inverses = [math.ldexp(1.0, -j) for j in _OCTAVES] + [0.0]
        distances = f"SELECT x - {self.number(centre)} AS y FROM {records} WHERE {present}"
        bits = self.whole.format(x=f"floor(abs(y) * inverse * {self.number(2.0**32)})")
        return _PROFILE.format(
            normal="k BETWEEN 1 AND 2046",
            sixteenths=self.quotient.format(a="bits", b=1 << 28),
            rest=self.remainder.format(a="bits", b=1 << 28),
            bits=bits,
            found=self.found.format(
                distances=distances,
                starts=self._array(starts),
                inverses=self._array(inverses),
                rows=", ".join(
                    f"({k}, {self.number(start)}, {self.number(inverse)})"
                    for k, (start, inverse) in enumerate(zip(starts, inverses, strict=True), 1)
                )
                if "{rows}" in self.found
                else "",
            ),
        )

    def _array(self, numbers: list[float]) -> str:
        plain = ",".join(repr(x) if math.isfinite(x) else "Infinity" for x in numbers)
        each = ", ".join(map(self.number, numbers)) if "{each}" in self.array else ""
        return self.array.format(plain=plain, each=each)


POSTGRESQL_THRESHOLDS = Thresholds(
    name="PostgreSQL",
    double="float8",
    found="SELECT y, k, ({inverses})[k] AS inverse FROM (SELECT y, width_bucket(abs(y), {starts})"
    " AS k FROM ({distances} OFFSET 0) AS d OFFSET 0) AS w OFFSET 0",
    whole="CAST({x} AS bigint)",
    quotient="({a} / {b})",
    remainder="({a} % {b})",
    array="CAST('{{{plain}}}' AS float8[])",
    is_tested=True,
)

BIGQUERY_THRESHOLDS = Thresholds(
    name="BigQuery",
    double="FLOAT64",
    found="SELECT y, k, {inverses}[SAFE_ORDINAL(k)] AS inverse FROM (SELECT y, "
    "RANGE_BUCKET(abs(y), {starts}) AS k FROM ({distances}) AS d) AS w",
    whole="CAST({x} AS INT64)",
    quotient="DIV({a}, {b})",
    remainder="MOD({a}, {b})",
    array="[{each}]",
    is_tested=False,
)

SNOWFLAKE_THRESHOLDS = Thresholds(
    name="Snowflake",
    double="DOUBLE",
    # No function takes a list of thresholds: the last one at or below is joined.
    found="SELECT y, coalesce(t.k, 0) AS k, t.inverse AS inverse FROM ({distances}) AS d "
    "ASOF JOIN (VALUES {rows}) AS t(k, start, inverse) MATCH_CONDITION(abs(d.y) >= t.start)",
    whole="CAST({x} AS BIGINT)",
    quotient="FLOOR({a} / {b})",
    remainder="MOD({a}, {b})",
    array="",
    is_tested=False,
)
