"""Data on Spark: exact answers by column expressions, so that no row enters Python.

Whatever Spark can do to a frame it can do here: tables of a catalogue, views, joins. An answer is
one job; what comes to the driver is small and does not grow with the rows (docs/clusters.md).
Missing records are filtered before any arithmetic, since Spark orders NaN and NULL in its own way.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import functions as fn
from pyspark.sql import types

from tametail.engines import kernel
from tametail.engines.frames import pick_column
from tametail.engines.sampling import Sampler
from tametail.errors import ColumnError, DataError, InternalError
from tametail.queries import Buckets, ClippedSum, Count, Median, Query

Integers = npt.NDArray[np.int64]

#: ``monotonically_increasing_id`` is the partition's number and, in so many bits, the row's there.
_ROW_BITS = 33

#: Sums of high and low words are apart, so that up to 2**43 records stay within 64 bits.
_WORD_BITS = 20

#: Veltkamp's factor: a product with it carries over all but the first five bits of a double.
_SPLIT = 2.0**48 + 1

#: Beyond this distance, that product might overflow, and 2**-100 is a factor before.
_FAR = 2.0**900

#: A table of slots may be this much larger than the rows; else the partitions are counted.
_LARGEST_WASTE = 64


class _Shape(NamedTuple):
    """How many rows there are, how many are not missing, and what the partitions need at most."""

    rows: int
    present: int
    partitions: int
    longest: int


class SparkEngine:
    """Answers queries over one column of a Spark frame.

    Rows are counted once and profiles are kept, so that a mean takes four jobs at most.
    """

    def __init__(self, frame: Any, column: str | None = None) -> None:
        self._session = frame.sparkSession
        self._numbers = _numbers(frame, column)
        self._profiles: dict[float, kernel.Counts] = {}

    @property
    def size(self) -> int:
        """The number of records, missing ones included."""
        return self._shape.rows

    def answer(self, query: Query) -> Any:
        """Return the exact answer to ``query``, in at most one job (two for a first sample)."""
        match query:
            case Count():
                return (self._shape.present,)
            case ClippedSum():
                return self._clipped_sum(query)
            case Buckets():
                return self._buckets(query)
            case Median():
                everybody = Median(0, query.low, query.high)
                return kernel.answer(everybody, [self._sample(query.halvings)])
            case _:
                if query.centre not in self._profiles:
                    self._profiles[query.centre] = self._profile(query.centre)
                return kernel.answer(query, (), self._profiles)

    def rows(self, start: int, stop: int) -> SparkEngine:
        """Refuse: rows have no stable positions, so no two asks can share the budget by them."""
        raise InternalError(f"rows {start}..{stop} of a Spark frame have no stable positions.")

    @cached_property
    def _shape(self) -> _Shape:
        identity = fn.col("id")
        counts = self._identified.agg(
            fn.count(fn.lit(1)),
            fn.count_if(_is_present()),
            fn.max(fn.shiftright(identity, _ROW_BITS)),
            fn.max(identity.bitwiseAND((1 << _ROW_BITS) - 1)),
        )
        ((rows, present, last, longest),) = _collect(counts)
        return _Shape(rows, present, last + 1, longest + 1) if rows else _Shape(0, 0, 0, 0)

    @property
    def _identified(self) -> Any:
        return self._numbers.select("x", fn.monotonically_increasing_id().alias("id"))

    @property
    def _present(self) -> Any:
        return self._numbers.where(_is_present())

    def _clipped_sum(self, query: ClippedSum) -> tuple[int, ...]:
        lattice = query.lattice
        ticks = fn.col("x") * fn.lit(2.0**-lattice.exponent)
        clipped = fn.least(
            fn.greatest(ticks, fn.lit(float(lattice.low))), fn.lit(float(lattice.high))
        )
        terms = self._present.select((fn.floor(clipped) - fn.lit(lattice.centre)).alias("term"))
        words = terms.agg(
            fn.sum(fn.shiftright("term", _WORD_BITS)),
            fn.sum(fn.col("term").bitwiseAND((1 << _WORD_BITS) - 1)),
            fn.count(fn.lit(1)),
        )
        ((high, low, count),) = _collect(words)
        total = ((high or 0) << _WORD_BITS) + (low or 0)
        return (total, query.count_weight * count) if query.count_weight else (total,)

    def _buckets(self, query: Buckets) -> dict[int, int]:
        scaled = fn.col("x") * fn.lit(query.inverse_width)
        size = fn.abs("scaled")
        # Spark's floor is a bigint; from 2**53 on a double is its own floor.
        key = fn.when(size < 2.0**53, fn.floor("scaled").cast("double")).otherwise(fn.col("scaled"))
        finite = self._present.select(scaled.alias("scaled")).where(size < float("inf"))
        counts = _collect(finite.groupBy(key.alias("key")).count())
        keys = ((int(key), count) for key, count in counts)
        return {key: count for key, count in keys if query.low <= key <= query.high}

    def _profile(self, centre: float) -> kernel.Counts:
        """Count the distances from ``centre`` by their top 16 bits.

        Spark cannot see bits. But with r = |y| rounded to five bits, by Veltkamp's splitting, r
        itself (if r <= |y|) or r less a 128th (if r > |y|) has the top 16 bits of |y|, and there
        are few such doubles: they can be grouped by (docs/proofs/spark.md).
        """
        y, scale, product, rounded = map(fn.col, ("y", "scale", "product", "rounded"))
        far = fn.when(fn.abs("y") < _FAR, fn.lit(1.0)).otherwise(fn.lit(2.0**-100))
        too_large = fn.abs("rounded") > fn.abs(y * scale)
        key = fn.when(too_large, rounded * fn.lit(1 - 2.0**-7)).otherwise(rounded) / scale
        keys = (
            self._present.select((fn.col("x") - fn.lit(centre)).alias("y"))
            .select("y", far.alias("scale"))
            .select("y", "scale", (y * scale * fn.lit(_SPLIT)).alias("product"))
            .select("y", "scale", (product - (product - y * scale)).alias("rounded"))
            .select(fn.when(fn.abs("y") < float("inf"), key).otherwise(y).alias("key"))
        )
        # The hash adds no group; grouping by it too took about an eighth less time.
        found = _collect(keys.groupBy("key", fn.hash("key")).count())
        bits = np.array([key for key, _, _ in found], dtype=np.float64).view(np.int64)
        counts = np.zeros(1 << 16, dtype=np.int64)
        np.add.at(counts, (bits >> 48) & 0xFFFF, [count for _, _, count in found])
        return counts.reshape(2, -1, 16)

    def _sample(self, halvings: int) -> npt.NDArray[np.float64]:
        """Return the numbers in a secret sample of the records.

        The coins are drawn here, for as many slots as there can be rows, and only the slots that
        fell into the sample go out: a row meets the coin of its slot in one job.
        """
        sampled = self._numbers
        if halvings:
            picked = self._session.createDataFrame(pa.table({"id": self._slots(halvings)}))
            sampled = self._identified.join(fn.broadcast(picked), "id", "left_semi")
        return np.array([x for (x,) in _collect(sampled.select("x").where(_is_present()))])

    def _slots(self, halvings: int) -> Integers:
        """Toss a coin for every slot, and return the slots in the sample."""
        shape = self._shape
        if shape.partitions * shape.longest <= _LARGEST_WASTE * shape.rows:
            widths = np.full(shape.partitions, shape.longest, dtype=np.int64)
        else:
            widths = self._partition_sizes(shape.partitions)
        ends = np.cumsum(widths)
        picked = Sampler(halvings).pick(int(widths.sum()))
        partition = np.searchsorted(ends, picked, side="right")
        return (partition << _ROW_BITS) + picked - (ends - widths)[partition]

    def _partition_sizes(self, partitions: int) -> Integers:
        sizes = np.zeros(partitions, dtype=np.int64)
        by_partition = self._identified.groupBy(fn.shiftright("id", _ROW_BITS).alias("partition"))
        for partition, rows in _collect(by_partition.agg(fn.count("id"))):
            sizes[partition] = rows
        return sizes


def _numbers(frame: Any, column: str | None) -> Any:
    """Return a frame of one column x, the numbers; refuse a type that declares none."""
    name = pick_column(frame.columns, column)
    quoted = name.replace("`", "``")
    try:
        chosen = frame.select(fn.col(f"`{quoted}`").alias("x"))
        kind = chosen.schema["x"].dataType
    except AnalysisException:
        kind = None
    if kind is None:
        raise ColumnError(f"column {name!r} has the name of another: rename all but one.")
    if not isinstance(kind, types.NumericType | types.BooleanType | types.NullType):
        raise ColumnError(
            f"column {name!r} has type {kind.simpleString()}, which is not numeric: choose a "
            "numeric column or convert it before."
        )
    return chosen.select(fn.col("x").cast("double").alias("x"))


def _is_present() -> Any:
    return fn.col("x").isNotNull() & ~fn.isnan("x")


def _collect(frame: Any) -> list[Any]:
    """Run the job; what Spark says of a failure may quote cells."""
    try:
        return [tuple(row) for row in frame.collect()]
    except Exception:  # noqa: S110 - every source has errors of its own
        pass
    raise DataError("the Spark frame cannot be computed: compute it before, and pass the result.")
