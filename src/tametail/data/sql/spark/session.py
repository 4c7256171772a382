"""A Spark frame as a table: SQL text over views of ours, of a classic session or Spark Connect.

The columns of the frame get names of ours before any SQL is written: Spark puts variables into text
that looks like one, and takes upper and lower case for the same. What several questions are about
is kept by Spark where it may be, until the session is closed.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from itertools import count
from math import isnan
from typing import Final

from pyspark.sql import DataFrame, types
from pyspark.sql import SparkSession as PySparkSession
from pyspark.sql import functions as fn

from tametail.data.sql.dialects import SPARK, Declared
from tametail.data.sql.sessions import Row, Session
from tametail.data.sql.spark.sample import collect
from tametail.errors import ColumnError, DataError
from tametail.expressions.elementary import exp_of, log_of

#: Numbers in the names of views.
_NUMBERS: Final = count()

_TYPES: Final[tuple[tuple[type[types.DataType], Declared], ...]] = (
    (types.BooleanType, "boolean"),
    (types.IntegralType, "integer"),
    (types.DecimalType, "decimal"),
    (types.NumericType, "number"),
    (types.NullType, "number"),
    (types.StringType, "text"),
    (types.BinaryType, "text"),
    (types.DateType, "moment"),
    (types.TimestampType, "moment"),
    (types.TimestampNTZType, "moment"),
)


def declared_type(kind: types.DataType) -> Declared:
    """Return what a type of Spark holds."""
    return next((found for base, found in _TYPES if isinstance(kind, base)), None)


def register_functions(spark: PySparkSession) -> None:
    """Let SQL call the functions of this package, which the executors' own Python computes."""
    for name, function in (("log", _log), ("exp", _exp)):
        spark.udf.register(f"tametail_{name}", function, types.DoubleType())


def _log(number: float | None) -> float | None:
    return log_of(number) if number is not None and number > 0 else None


def _exp(number: float | None) -> float | None:
    return None if number is None or isnan(number) else exp_of(number)


class SparkSession(Session):
    """A frame, read as often as asked."""

    dialect = SPARK
    shown = "the Spark frame"
    compares_floats = True

    def __init__(self, frame: DataFrame) -> None:
        self._spark = frame.sparkSession
        self._views: list[str] = []
        self._kept: list[DataFrame] = []
        lower = Counter(name.lower() for name in frame.columns)
        fields = [field for field in frame.schema if lower[field.name.lower()] == 1]
        self._own = {field.name: f"c{place}" for place, field in enumerate(fields)}
        self._ambiguous = {name for name in frame.columns if name not in self._own}
        self.columns = {field.name: declared_type(field.dataType) for field in fields}
        self.columns |= dict.fromkeys(self._ambiguous, "number")  # refused where they are named
        quoted = (fn.col(SPARK.identifier(field.name)).alias(own) for field, own in
                  zip(fields, self._own.values(), strict=True))  # fmt: skip
        self.source = self._view(frame.select(*quoted))

    def column(self, name: str) -> str:
        """Return a column as SQL: a name of ours."""
        if name in self._ambiguous:
            raise ColumnError(f"Column {name!r} has the same name as another. Rename one of them.")
        return self._own[name]

    def frame(self, text: str) -> DataFrame:
        """Return the frame of a question; nothing is computed yet."""
        return self._spark.sql(text)

    def rows(self, text: str) -> list[Row]:
        """Return all rows that a question gives."""
        return collect(self.frame(text))

    def _view(self, frame: DataFrame) -> str:
        name = f"tametail_{next(_NUMBERS)}"
        frame.createOrReplaceTempView(name)
        self._views.append(name)
        return name

    def keep(self, frame: DataFrame) -> str:
        """Return a name for a frame that several questions are about; Spark keeps it if it may."""
        with suppress(Exception):  # a serverless session refuses, and computes it anew each time
            self._kept.append(frame.persist())
        return self._view(frame)

    def close(self) -> None:
        """Let Spark forget what it kept."""
        while self._kept:
            self._kept.pop().unpersist()
        while self._views:
            self._spark.catalog.dropTempView(self._views.pop())

    def _reason(self, error: Exception) -> str:
        del error
        raise DataError("The Spark frame cannot be computed. Compute it first.")
