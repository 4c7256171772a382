"""Exact sums of doubles by key on Spark: the integers of ``data.persons.sums``, in the cluster.

Every finite double is a whole multiple of 2**-1074. A record is taken apart into a word, the place
of its lowest 32 bits, and three digits; digits are added up by key and word, in 64-bit integers, so
that neither the order of rows nor partitions nor a task that runs twice can show. What the words of
a key are together is read as a double by the operations of ``persons.sums``, one by one. Spark does
not show the bits of a double everywhere: expressions that are public everywhere take it apart
(docs/proofs/spark.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from tametail.data.persons.sums import BITS, DIGITS, LEAST_EXPONENT
from tametail.doubles import LARGEST

#: Doubles beyond 2**512, or below 2**-512, are first brought nearer to 1.
_FAR = 512

#: Words of a sum: the highest bit of the largest double is in word 65, and carries follow.
_WORDS = 72

#: Veltkamp's factor: a product with it carries over all but the first bit of a double.
_SPLIT = "4503599627370497D"

#: A positive number as an integer below 2**53 and the place of its last bit, counted from 2**-1074.
_STEPS: tuple[tuple[str, ...], ...] = (
    ("x", f"CASE WHEN abs(x) > {LARGEST!r}D THEN {LARGEST!r}D ELSE abs(x) END AS size"),
    (
        "x",
        f"CASE WHEN size >= {2.0**_FAR!r}D THEN {2.0**-_FAR!r}D "
        f"WHEN size < {2.0**-_FAR!r}D THEN {2.0**_FAR!r}D ELSE 1D END AS scale",
        "CASE WHEN size > 0D THEN size ELSE 1D END AS size",
    ),
    ("x", "scale", "size * scale AS size"),
    ("x", "scale", "size", f"size * {_SPLIT} AS product"),
    ("x", "scale", "size", "product - (product - size) AS rounded"),
    ("x", "scale", "size", "CASE WHEN rounded > size THEN rounded / 2D ELSE rounded END AS octave"),
    (
        "x",
        f"CASE WHEN x = 0D THEN 0L ELSE CAST(size / octave * {2.0**52!r}D AS BIGINT) END AS bits",
        f"CAST(round(log2(octave)) AS INT) - 52 - {LEAST_EXPONENT} + CASE WHEN scale > 1D THEN "
        f"-{_FAR} WHEN scale < 1D THEN {_FAR} ELSE 0 END AS place",
    ),
    (
        "CASE WHEN x < 0D THEN -1L WHEN x >= 0D THEN 1L END AS sign",
        "shiftright(bits, greatest(-place, 0)) AS bits",
        "greatest(place, 0) AS place",
    ),
    (
        "sign",
        f"place div {BITS} AS word",
        f"shiftleft(bits & {DIGITS}L, CAST(place % {BITS} AS INT)) AS low",
        f"shiftleft(shiftright(bits, {BITS}), CAST(place % {BITS} AS INT)) AS high",
    ),
    ("sign", "word", "low", f"high + shiftright(low, {BITS}) AS high"),
    (
        "CASE WHEN sign IS NOT NULL THEN CAST(word AS INT) END AS word",
        f"sign * (low & {DIGITS}L) AS one",
        f"sign * (high & {DIGITS}L) AS two",
        f"sign * shiftright(high, {BITS}) AS three",
    ),
)


def totals(rows: DataFrame, by: Sequence[str], count: int) -> DataFrame:
    """Return a row for each key: ``by``, and s0, c0, s1, c1, ... of the columns x0, x1, ...

    c is the number of records that are not missing and s their sum, as the nearest double but one
    at most; an infinity counts as the largest double. A key without such a record has s = c = 0.
    The last column, ``f``, is 1 if all of the rows of a key were left out.
    """
    each = [fn.struct(fn.lit(j).alias("j"), fn.col(f"x{j}").alias("x")) for j in range(count)]
    own = [*by, "f"]
    long = rows.select(*own, fn.explode(fn.array(*each)).alias("e")).select(*own, "e.j", "e.x")
    long = long.select(*own, "j", fn.when(~fn.isnan("x"), fn.col("x")).alias("x"))
    for step in _STEPS:
        long = long.selectExpr(*own, "j", *step)
    words = long.groupBy(*by, "j", "word").agg(
        *(fn.sum(digit).alias(digit) for digit in ("one", "two", "three")),
        fn.count(fn.lit(1)).alias("c"),
        fn.min("f").alias("f"),
    )
    return _read(words, by, count)


def _read(words: DataFrame, by: Sequence[str], count: int) -> DataFrame:
    """Return the sums of the words of each key; a word of NULL has the missing records."""
    is_word, entry = fn.col("word").isNotNull(), fn.struct("word", "one", "two", "three")
    found = words.groupBy(*by).agg(
        *(
            fn.collect_list(fn.when((fn.col("j") == j) & is_word, entry)).alias(f"w{j}")
            for j in range(count)
        ),
        *(
            fn.coalesce(fn.sum(fn.when((fn.col("j") == j) & is_word, fn.col("c"))), fn.lit(0))
            .alias(f"c{j}")
            for j in range(count)
        ),
        fn.min("f").alias("f"),
    )  # fmt: skip
    for j in range(count):
        found = found.withColumn(f"f{j}", fn.array_min(f"w{j}.word"))
        found = found.withColumn(f"w{j}", fn.expr(_DENSE.format(j=j)))
        found = found.withColumn(f"n{j}", fn.expr(_CARRIED.format(j=j)))
        found = found.withColumn(f"w{j}", fn.expr(_TOP.format(j=j)))
    values = [(_double(j).alias(f"s{j}"), f"c{j}") for j in range(count)]
    return found.select(*by, *(column for pair in values for column in pair), "f")


#: All words from the lowest to where carries end, those between without records as 0.
_DENSE = (
    "transform(sequence(f{j}, array_max(w{j}.word) + 5), k -> aggregate(w{j}, 0L, (sum, e) -> sum"
    " + CASE k - e.word WHEN 0 THEN e.one WHEN 1 THEN e.two WHEN 2 THEN e.three ELSE 0L END))"
)

#: What is left above all words: negative exactly if the sum is.
_CARRIED = f"aggregate(w{{j}}, 0L, (carry, w) -> shiftright(carry + w, {BITS}))"

_DIGIT = f"((a.carry + CASE WHEN n{{j}} < 0 THEN -w ELSE w END) & {DIGITS}L)"

#: The highest digit that is not 0, with the two below it, as a double; and its place.
_TOP = f"""aggregate(w{{j}},
 named_struct('carry', 0L, 'one', 0L, 'two', 0L, 'place', 0, 'top', -1, 'size', 0D),
 (a, w) -> named_struct(
  'carry', shiftright(a.carry + CASE WHEN n{{j}} < 0 THEN -w ELSE w END, {BITS}),
  'one', {_DIGIT}, 'two', a.one, 'place', a.place + 1,
  'top', CASE WHEN {_DIGIT} = 0 THEN a.top ELSE a.place END,
  'size', CASE WHEN {_DIGIT} = 0 THEN a.size ELSE (CAST({_DIGIT} AS DOUBLE) * 4294967296D
   + CAST(a.one AS DOUBLE)) * 4294967296D + CAST(a.two AS DOUBLE) END))"""


def _power(word: int) -> float:
    exponent = BITS * word + LEAST_EXPONENT
    return math.ldexp(1.0, exponent) if exponent < 1024 else math.inf


def _double(j: int) -> Column:
    """Return the sum: its three highest digits, times a power of two, within all doubles."""
    powers = fn.array(*(fn.lit(_power(word)) for word in range(_WORDS)))
    top = fn.col(f"w{j}")
    factor = fn.get(powers, fn.col(f"f{j}") + top["top"])
    size = fn.least(top["size"] * fn.lit(2.0 ** (-2 * BITS)) * factor, fn.lit(LARGEST))
    signed = size * fn.when(fn.col(f"n{j}") < 0, fn.lit(-1.0)).otherwise(fn.lit(1.0))
    return fn.when(top["top"] >= 0, signed).otherwise(fn.lit(0.0))
