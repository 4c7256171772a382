"""Persons on Spark: one row for each, made and asked about in the cluster.

The records are read once, into a frame with the sum and the number of each person's records, which
Spark keeps until the release is done. A view is a column of that frame, so that the engine of one
column answers about it; no record and no person's total comes to the driver but in a secret sample.
"""

from __future__ import annotations

from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from tametail.doubles import LARGEST
from tametail.engines.spark.column import SparkEngine
from tametail.engines.spark.rows import collect, with_constants
from tametail.engines.spark.selection import SparkSelection
from tametail.engines.spark.table import SparkTableEngine
from tametail.engines.spark.totals import totals
from tametail.errors import DataError, InternalError
from tametail.queries.persons import PersonMean, PersonNorm, PersonResidual, PersonRows, View
from tametail.queries.query import Exact, Query


class SparkPersons:
    """Answers queries over persons: one number for each, by a view; by default their means."""

    def __init__(self, selection: SparkSelection) -> None:
        self._selection = selection
        self._kept: list[DataFrame] = []

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._selection.columns

    @property
    def size(self) -> int:
        """The number of persons. Public under replace-one only."""
        ((count,),) = collect(self._totals.agg(fn.count(fn.lit(1))))
        return int(count)

    def close(self) -> None:
        """Let Spark forget what it kept."""
        while self._kept:
            self._kept.pop().unpersist()

    def _keep(self, frame: DataFrame) -> DataFrame:
        """Have Spark keep a frame once it is computed: several questions are about it."""
        self._kept.append(frame.persist())
        return frame

    @cached_property
    def _totals(self) -> DataFrame:
        """One row for each person, with s0, c0, s1, c1, ..."""
        selection = self._selection
        found = totals(selection.of_somebody, selection.ids, len(self.columns))
        return self._keep(found.drop(*selection.ids))

    def view(self, view: View) -> SparkEngine:
        """Return an engine over one number for each person."""
        name = self.columns[view.column]
        return SparkEngine(self._viewed(view).withColumnRenamed("x", name), name, self._left_out)

    @property
    def _left_out(self) -> DataFrame | None:
        """A condition leaves a person out if it leaves all of their records out."""
        return self._totals.select("left") if self._selection.is_filtered else None

    def _viewed(self, view: View) -> DataFrame:
        if isinstance(view, PersonNorm):
            raise InternalError("the records are not known by group.")
        found = self._totals
        if isinstance(view, PersonResidual):
            found = with_constants(found, ratio=float(view.ratio))
        return found.select(self._number(view).alias("x"))

    def _number(self, view: View) -> Column:
        """Return the number of a view; each operation is one of IEEE 754, person by person."""
        total, rows = fn.col(f"s{view.column}"), fn.col(f"c{view.column}").cast("double")
        number = rows
        if isinstance(view, PersonMean):
            number = fn.try_divide(total, rows)
        elif not isinstance(view, PersonRows):
            number = within_doubles(total - fn.col("ratio") * rows)
        return fn.when(rows > 0, number)

    def answer(self, query: Query[object]) -> Exact:
        """Return the exact answer to ``query`` about the persons' means."""
        return self._means.answer(query)

    @cached_property
    def _means(self) -> SparkEngine | SparkTableEngine:
        if len(self.columns) == 1:
            return self.view(PersonMean())
        means = (
            self._number(PersonMean(index)).alias(name) for index, name in enumerate(self.columns)
        )
        return SparkTableEngine(self._totals.select(*means), self.columns, self._left_out)

    def rows(self, start: int, stop: int) -> SparkEngine:  # noqa: ARG002 - an engine's verb
        """Persons have no positions."""
        raise DataError("persons have no order: ask about all of them.")

    def column(self, index: int) -> SparkEngine:
        """Return an engine over the persons' means in one column."""
        return self.view(PersonMean(index))


def within_doubles(number: Column) -> Column:
    """Return a number, an infinity as the largest double; NULL and NaN as they are."""
    large = fn.when(number > 0, fn.lit(LARGEST)).otherwise(fn.lit(-LARGEST))
    return fn.when(fn.abs(number) == float("inf"), large).otherwise(number)
