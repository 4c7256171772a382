"""Groups on Spark: keys are found by a join with a small table, and all are asked in one job.

Which keys there are, and what each of them is asked, goes to the executors as a table; one row of
integers for each key comes back. Spark keeps the rows with their codes until the release is done,
since every question is about them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from tametail.engines import Engine
from tametail.engines.keys import TEXT, TRUTH, WHOLE, Kept, cell_of, public_columns
from tametail.engines.spark.column import (
    SparkEngine,
    cell_counts,
    cells_answer,
    clipped_answer,
    clipped_term,
    count_true,
    sum_of_words,
)
from tametail.engines.spark.person_groups import SparkPersonGroups, plain, weigh_keys
from tametail.engines.spark.rows import collect, is_present
from tametail.engines.spark.selection import SparkSelection
from tametail.errors import InternalError
from tametail.keys import Key
from tametail.queries.column import ClippedSum, Count
from tametail.queries.groups import Cells, KeyCounts, Keyed
from tametail.queries.query import Exact, Query
from tametail.queries.rows import Rows

_TYPES = {TEXT: "binary", WHOLE: "bigint", TRUTH: "boolean"}
_WHOLE = range(-(1 << 63), 1 << 63)

Found = tuple[int, ...]


class SparkGroups:
    """Rows of a Spark frame with keys, of which none is chosen yet."""

    def __init__(self, selection: SparkSelection) -> None:
        self._selection = selection
        self.columns = selection.columns
        self._endings: list[Callable[[], object]] = []

    def check(self, keys: Sequence[Key]) -> None:
        """Refuse public keys that the declared types of their columns cannot hold."""
        public_columns(keys, self._selection.by, self._selection.kinds)

    def close(self) -> None:
        """Let Spark forget what it kept."""
        while self._endings:
            self._endings.pop()()

    @cached_property
    def size(self) -> int:
        """The number of rows."""
        ((rows,),) = collect(self._selection.frame.agg(fn.count(fn.lit(1))))
        return int(rows)

    def answer(self, query: Query[object]) -> Exact:
        """Return what every key that occurs weighs; other questions are for chosen keys."""
        if not isinstance(query, KeyCounts):
            raise InternalError("the keys are not chosen yet.")
        rows, names = self._selection.of_somebody.where(self._any_present), self._selection.keys
        for name in names:
            rows = rows.where(fn.col(name).isNotNull())
        if self._selection.ids:
            found = weigh_keys(rows, self._selection.ids, names, query)
        else:
            counted = rows.groupBy(*names).agg(fn.count(fn.lit(1)))
            found = {plain(cells): count for *cells, count in collect(counted)}
        return {self._key(cells): weight for cells, weight in found.items()}

    def _key(self, cells: Sequence[Kept]) -> Key:
        pairs = zip(cells, self._selection.kinds, strict=True)
        return Key(tuple(cell_of(x, kind) for x, kind in pairs))

    @property
    def _any_present(self) -> str:
        numbers = range(len(self.columns))
        return " OR ".join(f"(x{j} IS NOT NULL AND NOT isnan(x{j}))" for j in numbers)

    def grouped(self, keys: Sequence[Key], *, other: bool) -> SparkKeyed | SparkPersonGroups:
        """Return the engine for these keys and, last, for ``other`` rows if they are wanted."""
        rows = self._coded(keys, other=other)
        count = len(keys) + other
        if self._selection.ids:
            kept = rows.where(self._any_present)
            engine = SparkPersonGroups(kept, self._selection.ids, self.columns, count)
            self._endings.append(engine.close)
            return engine
        self._endings.append(rows.persist().unpersist)
        return SparkKeyed(rows, self.columns, range(count))

    def _coded(self, keys: Sequence[Key], *, other: bool) -> DataFrame:
        """Return the rows of the groups, with the place of their key as ``code``."""
        selection = self._selection
        cells = zip(*public_columns(keys, selection.by, selection.kinds), strict=True)
        table = [(code, *each) for code, each in enumerate(cells) if _can_be(each)]
        schema = ", ".join(
            ["code int", *(f"c{j} {_TYPES[kind]}" for j, kind in enumerate(selection.kinds))]
        )
        rows = selection.of_somebody
        known = fn.broadcast(rows.sparkSession.createDataFrame(table, schema))
        same = [fn.col(name) == fn.col(f"c{j}") for j, name in enumerate(selection.keys)]
        coded = rows.join(known, same, "left" if other else "inner")
        code = fn.coalesce("code", fn.lit(len(keys))) if other else fn.col("code")
        numbers = [f"x{j}" for j in range(len(self.columns))]
        return coded.select(code.alias("code"), *numbers, *selection.ids, "left")

    def rows(self, start: int, stop: int) -> Engine:  # noqa: ARG002
        """Refuse: rows of groups are found by key."""
        raise InternalError("rows by position are not those of a group.")

    def column(self, index: int) -> Engine:  # noqa: ARG002
        """Refuse: the keys come first."""
        raise InternalError("the keys are not chosen yet.")


def _can_be(cells: Sequence[Kept]) -> bool:
    """Say whether a column can hold these cells at all: no 64-bit column holds 2**70."""
    return all(type(cell) is not int or cell in _WHOLE for cell in cells)


class SparkKeyed(SparkEngine):
    """Answers questions about all records of some keys, and about each key."""

    def __init__(self, coded: DataFrame, columns: tuple[str, ...], places: Sequence[int]) -> None:
        self._coded, self._places = coded, list(places)
        rows = self._joined({}) if len(self._places) != 1 else self._of_one(self._places[0])
        super().__init__(rows.select("x0"), left_out=rows.select("left"))
        self.columns = columns

    def _of_one(self, place: int) -> DataFrame:
        return self._coded.where(fn.col("code") == place)

    def _joined(self, doubles: Mapping[str, Sequence[float]]) -> DataFrame:
        """Return the rows of these keys beside their numbers, from 0, and their own doubles."""
        lines = zip(self._places, range(len(self._places)), *doubles.values(), strict=True)
        schema = ", ".join(["code int", "place int", *(f"{name} double" for name in doubles)])
        table = self._coded.sparkSession.createDataFrame(list(lines), schema)
        return self._coded.join(fn.broadcast(table), "code")

    def answer(self, query: Query[object]) -> Exact:
        """Return the answers for all keys, or one over all records."""
        if isinstance(query, Rows):
            left_out = count_true(self._left_out)
            return self.size - left_out, left_out
        if not isinstance(query, Keyed):
            return super().answer(query)
        parts = query.parts
        for kind, way in _WAYS.items():
            if all(isinstance(part, kind) for part in parts):
                return way(self, parts)
        return self._one_by_one(parts)

    def _one_by_one(self, parts: Sequence[Query[object]]) -> list[tuple[int, ...]]:
        return [self.keys([place]).answer(part) for place, part in enumerate(parts)]

    def _by_key(
        self,
        doubles: Mapping[str, Sequence[float]],
        aggregates: Sequence[Column],
        terms: Sequence[Column] = (),
        *,
        only_present: bool = True,
    ) -> list[Found | None]:
        """Return one row of aggregates for each key, in their order; None for one without rows."""
        rows = self._joined(doubles).withColumnRenamed("x0", "x")
        present = rows.where(is_present()) if only_present else rows
        found = collect(present.select("*", *terms).groupBy("place").agg(*aggregates))
        by_place = {place: tuple(rest) for place, *rest in found}
        return [by_place.get(place) for place in range(len(self._places))]

    def _counts_by_key(self, parts: Sequence[Query[object]]) -> list[tuple[int, ...]]:  # noqa: ARG002
        counts = [fn.count_if(is_present()), fn.count_if("left"), fn.count(fn.lit(1))]
        found = [one or (0, 0, 0) for one in self._by_key({}, counts, only_present=False)]
        return [(numbers, rows - numbers - left, left) for numbers, left, rows in found]

    def _cells_by_key(self, parts: Sequence[Query[object]]) -> list[tuple[int, ...]]:
        cuts = [part.cuts for part in parts if isinstance(part, Cells)]
        if len(set(map(len, cuts))) > 1:
            return self._one_by_one(parts)
        columns = {f"cut{j}": list(each) for j, each in enumerate(zip(*cuts, strict=True))}
        found = self._by_key(columns, cell_counts(list(columns)))
        return [cells_answer(one or (0,) * (len(columns) + 1)) for one in found]

    def _clipped_by_key(self, parts: Sequence[Query[object]]) -> list[tuple[int, ...]]:
        sums = [part for part in parts if isinstance(part, ClippedSum)]
        lattices = [each.lattice for each in sums]
        ends = {
            "inverse": [2.0**-lattice.exponent for lattice in lattices],
            "low": [float(lattice.low) for lattice in lattices],
            "centre": [float(lattice.centre) for lattice in lattices],
            "high": [float(lattice.high) for lattice in lattices],
        }
        words = [*sum_of_words("term"), fn.count(fn.lit(1))]
        found = [one or (0, 0, 0) for one in self._by_key(ends, words, [clipped_term()])]
        return [clipped_answer(*one) for one in zip(sums, found, strict=True)]

    def keys(self, places: Sequence[int]) -> SparkKeyed:
        """Return the engine for some of the keys."""
        chosen = [self._places[place] for place in places]
        return SparkKeyed(self._coded, self.columns, chosen)

    def column(self, index: int) -> SparkKeyed:
        """Return the engine over one column."""
        rows = self._coded.select("code", fn.col(f"x{index}").alias("x0"), "left")
        return SparkKeyed(rows, (self.columns[index],), self._places)


#: How parts of one kind are answered for all keys at once.
_WAYS: dict[type, Callable[[SparkKeyed, Sequence[Query[object]]], list[tuple[int, ...]]]] = {
    Count: SparkKeyed._counts_by_key,
    Cells: SparkKeyed._cells_by_key,
    ClippedSum: SparkKeyed._clipped_by_key,
}
