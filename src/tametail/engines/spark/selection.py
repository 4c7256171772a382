"""Which numbers each row of a Spark frame has, whose they are and which key: column expressions.

Ids and keys are brought into a type whose equality in Spark is that of the specification: text as
binary, since a column may have a collation; floats without NaN, which names nobody. Spark itself
takes -0.0 for 0.0 when it groups, as everybody does.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, types
from pyspark.sql import functions as fn

from tametail.engines.half_lines import HalfLines, half_line
from tametail.engines.keys import TEXT, TRUTH, WHOLE
from tametail.engines.spark.rows import to_numbers
from tametail.engines.tables.computed import value_of
from tametail.engines.tables.frames import pick_column
from tametail.errors import ColumnError
from tametail.expressions import Expression
from tametail.expressions.spark import spark_condition, spark_value

#: Types whose values Spark compares exactly.
_IDS = (
    types.StringType, types.BinaryType, types.IntegralType, types.BooleanType, types.DecimalType,
    types.DateType, types.TimestampType, types.TimestampNTZType, types.FractionalType,
    types.NullType,
)  # fmt: skip

_TEXT = (types.StringType, types.BinaryType)


class SparkSelection:
    """Values, all missing where the condition is not true, beside ids and keys."""

    def __init__(
        self,
        frame: DataFrame,
        values: Sequence[str],
        where: str | None = None,
        ids: Sequence[str] = (),
        keys: Sequence[str] = (),
        lines: HalfLines | None = None,
    ) -> None:
        self._lines = lines
        self.columns = tuple(values)
        self.by = tuple(pick_column(frame.columns, name) for name in keys)
        self.kinds = tuple(_kind_of_keys(frame, name) for name in self.by)
        self.ids = tuple(f"p{place}" for place in range(len(ids)))
        self.keys = tuple(f"k{place}" for place in range(len(keys)))
        self.is_filtered = where is not None
        kept = self._kept(frame, where)
        numbers = self._numbers(frame, kept)
        people = [_id(frame, pick_column(frame.columns, name)) for name in ids]
        groups = [_exact(frame, name) for name in self.by]
        self.frame = frame.select(
            *(number.alias(f"x{place}") for place, number in enumerate(numbers)),
            *(each.alias(name) for each, name in zip(people, self.ids, strict=True)),
            *(each.alias(name) for each, name in zip(groups, self.keys, strict=True)),
            (~fn.coalesce(kept, fn.lit(False))).alias("left"),
        )

    def _kept(self, frame: DataFrame, where: str | None) -> Column:
        if where is None:
            return fn.lit(True)
        condition = Expression.parse_condition(where)
        for name in condition.columns:
            pick_column(frame.columns, name)
        return spark_condition(condition, frame)

    def _numbers(self, frame: DataFrame, kept: Column) -> list[Column]:
        values = [value_of(frame.columns, text) for text in self.columns]
        for value in values:
            if value.is_name:
                to_numbers(frame, {"x": value.columns[0]})  # refuses what is declared as text
        numbers = [spark_value(value, frame) for value in values]
        if self._lines is not None:
            found = enumerate(numbers)
            numbers = [_clipped(number, *half_line(self._lines, index)) for index, number in found]
        return [fn.when(kept, number) for number in numbers] if self.is_filtered else numbers

    @property
    def left_out(self) -> DataFrame | None:
        """Whether the condition leaves a row out, for every row; None without a condition."""
        return self.frame.select("left") if self.is_filtered else None

    @property
    def values(self) -> DataFrame:
        """The values alone, by the names that were asked for."""
        renamed = (fn.col(f"x{place}").alias(name) for place, name in enumerate(self.columns))
        return self.frame.select(*renamed)

    @property
    def of_somebody(self) -> DataFrame:
        """The rows that belong to somebody."""
        rows = self.frame
        for name in self.ids:
            rows = rows.where(fn.col(name).isNotNull())
        return rows


def _clipped(number: Column, low: float, high: float) -> Column:
    """Return numbers on a half line; NULL stays, and NaN, which Spark takes for the largest."""
    above = fn.when(number < low, fn.lit(low)).otherwise(number)
    return fn.when((above > high) & ~fn.isnan(above), fn.lit(high)).otherwise(above)


def _id(frame: DataFrame, name: str) -> Column:
    kind = _declared(frame, name)
    if not isinstance(kind, _IDS):
        raise ColumnError(
            f"column {name!r} has type {kind.simpleString()}, which names nobody: choose a column "
            "of text, whole numbers, dates or decimals."
        )
    column = _exact(frame, name)
    if isinstance(kind, types.FloatType | types.DoubleType):
        return fn.when(~fn.isnan(column), column)
    return column


def _exact(frame: DataFrame, name: str) -> Column:
    """Return a column in a type whose equality is that of its cells."""
    column, kind = _quoted(name), _declared(frame, name)
    if isinstance(kind, _TEXT):
        return column.cast("binary")
    return column.cast("bigint") if isinstance(kind, types.IntegralType) else column


def _kind_of_keys(frame: DataFrame, name: str) -> str:
    kind = _declared(frame, name)
    if isinstance(kind, _TEXT):
        return TEXT
    if isinstance(kind, types.IntegralType):
        return WHOLE
    if isinstance(kind, types.BooleanType):
        return TRUTH
    raise ColumnError(
        f"column {name!r} has type {kind.simpleString()}, which cannot be grouped by exactly: "
        "convert it to text or to whole numbers of 64 bits before."
    )


def _declared(frame: DataFrame, name: str) -> types.DataType:
    try:
        return frame.select(_quoted(name).alias("x")).schema["x"].dataType
    except AnalysisException:
        pass
    raise ColumnError(f"column {name!r} has the name of another: rename all but one.")


def _quoted(name: str) -> Column:
    return fn.col("`{}`".format(name.replace("`", "``")))
