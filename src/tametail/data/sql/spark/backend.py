"""Spark: SQL like any database, and what is its own, samples, persons, and several columns.

A question about all groups is one job. Rows with codes, and rows of persons, are computed once and
kept by Spark, since every question is about them. Several columns go through the kernels of the
executors' own Python.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from tametail.data.cells import Floats
from tametail.data.count_and_sample import PreparedSample, sample_halvings
from tametail.data.keys import Kept, cell_of
from tametail.data.relation import Groups, Relation
from tametail.data.sql.backend import Sql
from tametail.data.sql.compiler import Compiler, names_of
from tametail.data.sql.spark.partials import Partials
from tametail.data.sql.spark.sample import SparkRows, collect
from tametail.data.sql.spark.session import SparkSession
from tametail.data.sql.spark.totals import totals
from tametail.data.sql.views import number_of
from tametail.doubles import LARGEST
from tametail.errors import InternalError
from tametail.keys import Key
from tametail.queries.column import Buckets, Count
from tametail.queries.groups import (
    MOST_TICKS,
    SQUARE_BITS,
    KeyCounts,
    ScaledSquares,
    ScaledSums,
)
from tametail.queries.persons import GroupResiduals, PersonNorm, Vector
from tametail.queries.query import Exact, Query
from tametail.queries.rows import RowQuery, Rows
from tametail.randomness import random_sample

#: Bits of the lower half of a number of ticks, for squares in two words.
_HALF = 19


class SparkSql(Sql):
    """Answers queries about a relation over a Spark frame."""

    _session: SparkSession

    def __init__(self, session: SparkSession, compiler: Compiler, relation: Relation) -> None:
        super().__init__(session, compiler, relation)
        self._kept: dict[tuple[object, ...], str] = {}
        self._partials: dict[Relation, Partials] = {}
        self._prepared: dict[Relation, PreparedSample] = {}

    @property
    def reading(self) -> str:
        """How the records are read, in the words of a plan."""
        return "computed in Spark; integers and a sample for the center travel"

    def answer(self, query: Query[object]) -> Exact:
        """Return the exact answer to ``query``, in at most one job that reads all records."""
        relation = self.relation
        if isinstance(query, ScaledSums | ScaledSquares):
            return self._scaled_totals(query)
        several = len(relation.columns) > 1 and relation.view is None
        if isinstance(query, RowQuery) and not isinstance(query, Rows):
            return self._over_rows(query)
        if several and not isinstance(query, KeyCounts | Rows):
            raise InternalError("A question about one column is asked of several.")
        if isinstance(query, Count) and relation.groups is None:
            return self._count_and_sample()
        return self._buckets(query) if isinstance(query, Buckets) else super().answer(query)

    def _is_computed(self, query: Query[object]) -> bool:
        del query
        return True

    @property
    def _is_streamed(self) -> bool:
        return False

    def _frame(self, text: str) -> DataFrame:
        return self._session.frame(text)

    def _keep(self, key: tuple[object, ...], frame: DataFrame) -> str:
        """Return the name of a frame that is computed once for all relations of this release."""
        if key not in self._kept:
            self._kept[key] = self._session.keep(frame)
        return self._kept[key]

    # ------------------------------------------------------------------------------------- records

    def _coded(self, *, ids: bool) -> str:
        """Return all rows of the chosen groups with their codes: x0, x1, ..., f, code, p0, ..."""
        relation, compiler = self.relation, self._compiler
        groups = _groups_of(relation)
        key = ("coded", groups, ids)
        if key not in self._kept:
            columns = range(relation.width)
            names = names_of(len(columns))
            rows = compiler.records(relation, columns, ids=ids)
            also = [*names, "f", *(compiler.persons if ids else ())]
            text = compiler.coded(rows, groups, range(len(groups)), also=also)
            known = f" WHERE {compiler.known(compiler.persons)}" if ids else ""
            frame = self._frame(f"SELECT {', '.join([*also, 'code'])} FROM {text}{known}")
            if len(names) == 1:
                frame = frame.withColumnRenamed("x", "x0")
            self._keep(key, frame)
        return self._kept[key]

    @property
    def _coded_number(self) -> str:
        """The number of a row that has a code; where records weigh, that of the view."""
        (column,) = self.relation.columns
        if self.relation.weights is None:
            return f"q.x{column}"
        (view,) = self.relation.views
        return number_of(view, self._session.dialect, f"q.x{column}", "q.x1", weighs=True)

    def _chosen(self, groups: Groups) -> str:
        """Return x and f for the records of the groups that the relation is about."""
        rows, number, codes = self._coded(ids=False), self._coded_number, self.relation.codes
        every = len(codes) == len(groups)
        chosen = "true" if every else f"code IN ({', '.join(map(str, codes)) or 'NULL'})"
        return f"(SELECT {number} AS x, f FROM {rows} AS q WHERE {chosen}) AS c"

    def _grouped(self, codes: Sequence[int], constants: Sequence[Sequence[str]] | None) -> str:
        """Return x, f, code and constants e0, e1, ... for the records of some groups."""
        rows, number = self._coded(ids=False), self._coded_number
        own = [[str(code), *each] for code, each in
               zip(codes, constants or [[]] * len(codes), strict=True)]  # fmt: skip
        names = ["code", *(f"e{place}" for place in range(len(own[0]) - 1 if own else 0))]
        items = ", ".join(["q.code", *(f"e.{name}" for name in names[1:])])
        if not own:
            return f"(SELECT {number} AS x, f, code FROM {rows} AS q WHERE false) AS c"
        table = ", ".join(f"({', '.join(line)})" for line in own)
        return (
            f"(SELECT {number} AS x, q.f, {items} FROM {rows} AS q JOIN "
            f"(VALUES {table}) AS e({', '.join(names)}) ON q.code = e.code) AS c"
        )

    def _count_and_sample(self) -> tuple[int, ...]:
        """Count, and prepare a sample for the center: one job for both where few are missing."""
        relation = self.relation
        rows = SparkRows(self._frame(f"SELECT x, 0 AS code FROM {self._numbers()}"))
        size = rows.shape.rows
        halvings = sample_halvings(size)
        drawn = rows.draw(halvings, and_missing=True)
        self._prepared[relation] = PreparedSample(halvings, drawn.numbers)
        if drawn.missing is None or self._compiler.is_filtered:
            return self._answers([Count()], None)[0]  # type: ignore[no-any-return]
        return size - drawn.missing, drawn.missing, 0

    def _sample(self, halvings: int, *, grouped: bool) -> dict[int, Floats]:
        """Return the numbers of a secret sample, by group; -1 for all."""
        prepared = self._prepared.pop(self.relation, None)  # used once: coins of its own
        sample = prepared.take(halvings) if prepared is not None and not grouped else None
        if sample is not None:
            return {-1: sample}
        code = "code" if grouped else "-1 AS code"
        source = self._numbers(self.relation.codes if grouped else None)
        drawn = SparkRows(self._frame(f"SELECT x, {code} FROM {source}")).draw(halvings)
        return {code: drawn.numbers[drawn.codes == code] for code in set(drawn.codes.tolist())}

    def _buckets(self, query: Buckets) -> dict[int, int]:
        """Count by buckets; Spark's floor is a bigint, and from 2**53 on a double is its own."""
        source, (width,) = self._rows([[query.inverse_width]], None)
        present = self._session.dialect.present.format(x="x")
        found = self._session.rows(
            f"SELECT CASE WHEN abs(s) < {2.0**53!r}D THEN CAST(floor(s) AS DOUBLE) ELSE s END"
            f" AS k, count(*) FROM (SELECT x * {width} AS s FROM {source} WHERE {present}) AS d "
            "WHERE abs(s) < double('Infinity') GROUP BY k"
        )
        counts = ((int(key), int(count)) for key, count in found)
        return {key: count for key, count in counts if query.low <= key <= query.high}

    def _over_rows(self, query: RowQuery) -> Exact:
        """Return the answer about several columns, made on the executors."""
        relation = self.relation
        if relation not in self._partials:
            self._partials[relation] = Partials(self._several(), relation.products)
        return self._partials[relation].read(query)

    def _several(self) -> DataFrame:
        relation = self.relation
        if not relation.person:
            names = ", ".join(names_of(len(relation.columns)))
            return self._frame(f"SELECT {names} FROM "
                               f"{self._compiler.records(relation, relation.columns)}")  # fmt: skip
        persons = self._person_totals()
        means = [f"{number_of(view, self._session.dialect, *_columns(view.column))} AS x{place}"
                 for place, view in enumerate(relation.views)]  # fmt: skip
        return self._frame(f"SELECT {', '.join(means)} FROM {persons}")

    # ------------------------------------------------------------------------------------- persons

    def _person_rows(self) -> DataFrame:
        """Return the rows of somebody, in chosen groups if there are any: x0, ..., f, p0, ..."""
        relation, compiler = self.relation, self._compiler
        if relation.groups is not None:
            names = [f"x{place}" for place in range(relation.width)]
            present = compiler.some_number(names)
            frame = self._frame(f"SELECT * FROM {self._coded(ids=True)} WHERE {present}")
            if relation.groups_per_person == 1:
                frame = _one_group(frame, compiler.persons, dropped=relation.is_dropped)
            codes = relation.codes
            every = len(codes) == len(relation.groups)
            return frame if every else frame.where(fn.col("code").isin(list(codes)))
        names = names_of(relation.width)
        items = ", ".join([*names, "f", *compiler.persons])
        rows = compiler.records(relation, range(relation.width), ids=True)
        known = compiler.known(compiler.persons)
        frame = self._frame(f"SELECT {items} FROM {rows} WHERE {known}")
        return frame.withColumnRenamed("x", "x0") if len(names) == 1 else frame

    @property
    def _whose(self) -> tuple[object, ...]:
        """What the rows of persons depend on, beside the records."""
        relation = self.relation
        return relation.groups, relation.part, relation.groups_per_person, relation.is_dropped

    def _person_totals(self, *, by_group: bool = False) -> str:
        """Return a row for each person, or for each person and group: s0, c0, s1, c1, ..., f."""
        relation = self.relation
        key = ("totals", by_group, *self._whose)
        if key not in self._kept:
            by = [*self._compiler.persons, *(["code"] if by_group else [])]
            found = totals(self._person_rows(), by, relation.width)
            if relation.groups is not None:  # who has no number in these groups is nobody here
                found = found.withColumn("f", fn.lit(0))
            self._keep(key, found if by_group else found.drop(*by))
        return self._kept[key]

    def _persons(self) -> tuple[str, str]:
        """Return a row for each person behind FROM, and the number of a view."""
        (view,) = self.relation.views
        if isinstance(view, PersonNorm):
            return self._norms(view), "x"
        persons, dialect = self._person_totals(), self._session.dialect
        if self.relation.weights is None:
            return persons, number_of(view, dialect, *_columns(view.column))
        weight = "CASE WHEN c1 > 0 THEN s1 END"  # NULL for whom no record has both numbers
        rows = f"(SELECT s0, {weight} AS s1, f FROM {persons}) AS w"
        return rows, number_of(view, dialect, "s0", "s1", weighs=True)

    def _vector(self, vector: Vector) -> DataFrame:
        """Return the number v of each person and group, by one or two operations of IEEE 754.

        It is missing where a person has no number of the column in the group.
        """
        pairs = self._frame(f"SELECT * FROM {self._person_totals(by_group=True)}")
        s, c = fn.col(f"s{vector.column}"), fn.col(f"c{vector.column}").cast("double")
        number = fn.lit(1.0) if vector.by_person else c
        if isinstance(vector, GroupResiduals):
            ratio = fn.lit(float(vector.ratio))
            found = fn.try_divide(s, c) - ratio if vector.by_person else s - ratio * c
            large = fn.when(found > 0, fn.lit(LARGEST)).otherwise(fn.lit(-LARGEST))
            number = fn.when(fn.abs(found) == float("inf"), large).otherwise(found)
        return pairs.select(*self._compiler.persons, "code", fn.when(c > 0, number).alias("v"))

    def _norms(self, view: PersonNorm) -> str:
        """Return the length of each person's vector; lengths are exact sums, rounded once."""
        key = ("norms", view, *self._whose)
        if key not in self._kept:
            size = fn.abs(fn.col("v"))
            terms = self._vector(view.vector).select(
                *self._compiler.persons,
                (size * size if view.order == 2 else size).alias("x0"),
                fn.lit(0).alias("f"),
            )
            found = totals(terms, self._compiler.persons, 1)
            length = fn.sqrt("s0") if view.order == 2 else fn.col("s0")
            self._keep(key, found.select(fn.when(fn.col("c0") > 0, length).alias("x"), "f"))
        return self._kept[key]

    def _scaled_totals(self, query: ScaledSums | ScaledSquares) -> tuple[int, ...]:
        """Return the sums, or the sums of squares, of scaled vectors, group by group."""
        sums = query.sums if isinstance(query, ScaledSquares) else query
        term = fn.col("scaled")
        if isinstance(query, ScaledSquares):
            term = fn.shiftright(term * term, SQUARE_BITS)
        found = collect(self._scaled(sums).groupBy("code").agg(fn.sum(term)))
        by_code: dict[int, int] = {int(code): int(total) for code, total in found}
        return tuple(by_code.get(code, 0) for code in range(sums.groups))

    def _scaled(self, query: ScaledSums) -> DataFrame:
        """Return the vectors in ticks, each scaled down if it is longer than the limit."""
        ids = self._compiler.persons
        half = -query.exponent // 2
        size = fn.abs("v") * fn.lit(2.0**half) * fn.lit(2.0 ** (-query.exponent - half))
        ticks = fn.floor(fn.least(size, fn.lit(float(MOST_TICKS))))
        sign = fn.when(fn.col("v") < 0, fn.lit(-1)).otherwise(fn.lit(1))
        vectors = self._vector(query.vector).where("v IS NOT NULL")
        vectors = vectors.select(*ids, "code", ticks.alias("ticks"), sign.alias("sign"))
        own = Window.partitionBy(*ids)
        words = [each.over(own).alias(f"w{j}") for j, each in enumerate(_words(query.order))]
        lengths = vectors.select("*", *words).select(
            "code", "ticks", "sign", _length(query.order).alias("length")
        )
        limit = fn.lit(query.limit).cast("bigint")
        return lengths.select("code", "ticks", "sign", "length", limit.alias("most")).selectExpr(
            "code",
            "sign * CASE WHEN length > most THEN ticks * most div length ELSE ticks END AS scaled",
        )

    # ---------------------------------------------------------------------------------------- keys

    def _key_counts(self, query: KeyCounts) -> dict[Key, int]:
        if not self.relation.person:
            return super()._key_counts(query)
        found = _weigh_keys(self._keyed_rows(), self._compiler.persons, self._compiler.keys, query)
        return {self._key(cells): weight for cells, weight in found.items()}

    def _keyed_rows(self) -> DataFrame:
        """Return the rows of somebody that have a number and a key."""
        compiler, names = self._compiler, names_of(len(self.relation.values))
        rows = compiler.records(self.relation, range(len(names)), ids=True)
        known = compiler.known([*compiler.keys, *compiler.persons])
        return self._frame(f"SELECT * FROM {rows} WHERE {compiler.some_number(names)} AND {known}")

    def _key(self, cells: Sequence[Any]) -> Key:
        pairs = zip(_plain(cells), self._compiler.kinds, strict=True)
        return Key(tuple(cell_of(cell, kind) for cell, kind in pairs))


def _groups_of(relation: Relation) -> Groups:
    if relation.groups is None:
        raise InternalError("The groups are not chosen yet.")
    return relation.groups


def _columns(column: int) -> tuple[str, str]:
    return f"s{column}", f"CAST(c{column} AS DOUBLE)"


def _one_group(frame: DataFrame, ids: Sequence[str], *, dropped: bool) -> DataFrame:
    """Return the rows in the group that most rows of their person are in; ties by the code.

    Or all others, which are ``dropped``.
    """
    own = Window.partitionBy(*ids, "code")
    counted = frame.withColumn("n", fn.count(fn.lit(1)).over(own))
    best = fn.max(fn.struct("n", (-fn.col("code")).alias("c"))).over(Window.partitionBy(*ids))
    is_best = fn.col("code") == -fn.col("best.c")
    chosen = counted.withColumn("best", best).where(~is_best if dropped else is_best)
    return chosen.drop("n", "best")


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


def _weigh_keys(
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
    weights = Counter({_plain(cells): int(weight) for *cells, weight in found})
    many = pairs.where(fn.col("m") > query.most).groupBy(*ids)
    for (theirs,) in collect(many.agg(fn.collect_list(fn.struct(*keys))).drop(*ids)):
        chosen = random_sample(theirs, query.most)
        weights.update({_plain(cells): query.whole // query.most for cells in chosen})
    return {key: weight for key, weight in weights.items() if weight}


def _plain(cells: Sequence[Kept | bytearray]) -> tuple[Kept, ...]:
    """Return cells as Python compares them: bytes that do not change."""
    return tuple(bytes(cell) if isinstance(cell, bytearray) else cell for cell in cells)
