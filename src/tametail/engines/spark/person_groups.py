"""Persons in groups on Spark: vectors of each person, scaled and added up in the cluster.

A pair is a person and one of their groups, with the exact sum and number of the records there. A
vector is the numbers of a person's pairs; its length, and what becomes of it if it is too long, are
integers, so that all partitions agree (docs/proofs/groups.md, docs/proofs/spark.md).
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from tametail.engines.keys import Kept
from tametail.engines.spark.column import SparkEngine
from tametail.engines.spark.persons import SparkPersons, within_doubles
from tametail.engines.spark.rows import collect, with_constants
from tametail.engines.spark.totals import totals
from tametail.queries.groups import (
    MOST_TICKS,
    SQUARE_BITS,
    KeyCounts,
    ScaledSquares,
    ScaledSums,
)
from tametail.queries.persons import GroupResiduals, PersonNorm, Vector, View
from tametail.queries.query import Exact, Query
from tametail.queries.rows import Rows

#: Bits of the lower half of a number of ticks, for squares in two words.
_HALF = 19


class SparkPersonGroups(SparkPersons):
    """Answers about persons who may have records in many groups."""

    def __init__(
        self, coded: DataFrame, ids: Sequence[str], columns: tuple[str, ...], count: int
    ) -> None:
        self._coded, self._ids, self._names, self._count = coded, tuple(ids), columns, count
        self._kept: list[DataFrame] = []

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._names

    @property
    def _left_out(self) -> None:
        """Who has no number in these groups is nobody here."""

    @cached_property
    def _pairs(self) -> DataFrame:
        """A row for each person and group, with s0, c0, s1, c1, ..."""
        return self._keep(totals(self._coded, [*self._ids, "code"], len(self._names)))

    @cached_property
    def _totals(self) -> DataFrame:
        return self._keep(totals(self._coded, self._ids, len(self._names)).drop(*self._ids))

    def answer(self, query: Query[object]) -> Exact:
        """Return sums of scaled vectors; any other question is about the persons' means."""
        if isinstance(query, Rows):
            return self.size, 0
        sums = query.sums if isinstance(query, ScaledSquares) else query
        if not isinstance(sums, ScaledSums):
            return super().answer(query)
        scaled = self._scaled(sums)
        term = fn.col("scaled")
        if isinstance(query, ScaledSquares):
            term = fn.shiftright(term * term, SQUARE_BITS)
        found: dict[int, int] = dict(collect(scaled.groupBy("code").agg(fn.sum(term))))
        return tuple(found.get(code, 0) for code in range(sums.groups))

    def _vector(self, vector: Vector) -> DataFrame:
        """Return the number v of each person and group, by one or two operations of IEEE 754."""
        s, c = fn.col(f"s{vector.column}"), fn.col(f"c{vector.column}").cast("double")
        pairs = self._pairs.where(c > 0)
        if isinstance(vector, GroupResiduals):
            pairs, ratio = with_constants(pairs, ratio=float(vector.ratio)), fn.col("ratio")
            found = fn.try_divide(s, c) - ratio if vector.by_person else s - ratio * c
            number = within_doubles(found)
        else:
            number = fn.lit(1.0) if vector.by_person else c
        return pairs.select(*self._ids, "code", number.alias("v"))

    def view(self, view: View) -> SparkEngine:
        """Return an engine over one number for each person; lengths are exact sums."""
        if not isinstance(view, PersonNorm):
            return super().view(view)
        size = fn.abs(fn.col("v"))
        terms = self._vector(view.vector).select(
            *self._ids,
            (size * size if view.order == 2 else size).alias("x0"),
            fn.lit(False).alias("left"),
        )
        # Who has no number in this column is missing, as in every view.
        lengths = totals(terms, self._ids, 1).select(
            (fn.sqrt("s0") if view.order == 2 else fn.col("s0")).alias(self._names[view.column])
        )
        return SparkEngine(self._keep(lengths))

    def _scaled(self, query: ScaledSums) -> DataFrame:
        """Return the vectors in ticks, each scaled down if it is longer than the limit."""
        half = -query.exponent // 2
        size = fn.abs("v") * fn.lit(2.0**half) * fn.lit(2.0 ** (-query.exponent - half))
        ticks = fn.floor(fn.least(size, fn.lit(float(MOST_TICKS))))
        sign = fn.when(fn.col("v") < 0, fn.lit(-1)).otherwise(fn.lit(1))
        vectors = self._vector(query.vector).select(
            *self._ids, "code", ticks.alias("ticks"), sign.alias("sign")
        )
        own = Window.partitionBy(*self._ids)
        words = [each.over(own).alias(f"w{j}") for j, each in enumerate(_words(query.order))]
        measured = vectors.select("*", *words)
        lengths = measured.select("code", "ticks", "sign", _length(query.order).alias("length"))
        limit = fn.lit(query.limit).cast("bigint")
        return lengths.select("code", "ticks", "sign", "length", limit.alias("most")).selectExpr(
            "code",
            "sign * CASE WHEN length > most THEN ticks * most div length ELSE ticks END AS scaled",
        )


def _words(order: int) -> list[Column]:
    """Return the sums that a length is made of."""
    ticks = fn.col("ticks")
    if order == 1:
        return [fn.sum(ticks)]
    high, low = fn.shiftright(ticks, _HALF), ticks.bitwiseAND(fn.lit((1 << _HALF) - 1))
    return [fn.sum(each) for each in (high * high, high * low, low * low)]


def _length(order: int) -> Column:
    """Return the length; a root is rounded up, exactly."""
    if order == 1:
        return fn.col("w0")
    square = " + ".join(
        f"CAST(w{j} AS DECIMAL(20, 0)) * {1 << bits}BD"
        for j, bits in enumerate((2 * _HALF, _HALF + 1, 0))
    )
    root = f"CAST(sqrt(CAST({square} AS DOUBLE)) AS BIGINT)"

    def reaches(step: int) -> str:
        at = f"CAST({root} + {step} AS DECIMAL(18, 0))"
        return f"WHEN {at} * {at} >= {square} THEN {root} + {step}"

    return fn.expr(f"CASE {' '.join(map(reaches, (-1, 0, 1)))} ELSE {root} + 2 END")


def weigh_keys(
    rows: DataFrame, ids: Sequence[str], keys: Sequence[str], query: KeyCounts
) -> dict[tuple[Kept, ...], int]:
    """Return what each key weighs; a person with too many has some chosen by secret coins.

    Weights are added up in the cluster. Only the keys of persons with more than ``most`` come to
    the driver, where the coins are.
    """
    own = Window.partitionBy(*ids)
    pairs = rows.select(*ids, *keys).distinct()
    pairs = pairs.select(*ids, *keys, fn.count(fn.lit(1)).over(own).alias("m"))
    few = pairs.where(fn.col("m") <= query.most).selectExpr(*keys, f"{query.whole}L div m AS w")
    found = collect(few.groupBy(*keys).agg(fn.sum("w")))
    weights = Counter({plain(cells): int(weight) for *cells, weight in found})
    many = pairs.where(fn.col("m") > query.most).groupBy(*ids)
    for (theirs,) in collect(many.agg(fn.collect_list(fn.struct(*keys))).drop(*ids)):
        chosen = secrets.SystemRandom().sample(theirs, query.most)
        weights.update({plain(cells): query.whole // query.most for cells in chosen})
    return dict(weights)


def plain(cells: Sequence[Kept | bytearray]) -> tuple[Kept, ...]:
    """Return cells as Python compares them: bytes that do not change."""
    return tuple(bytes(cell) if isinstance(cell, bytearray) else cell for cell in cells)
