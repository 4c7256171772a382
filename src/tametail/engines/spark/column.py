"""Data on Spark: exact answers by column expressions, so that no row enters Python.

Whatever Spark can do to a frame it can do here: tables of a catalogue, views, joins. An answer is
one job; what comes to the driver is small and does not grow with the rows (docs/clusters.md).
Missing records are filtered before any arithmetic, since Spark orders NaN and NULL in its own way.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from tametail.engines.kernels.passes import Passes
from tametail.engines.kernels.plain import BINS, REST_BITS
from tametail.engines.kernels.profile import Profile
from tametail.engines.spark.bits import double_bits
from tametail.engines.spark.rows import (
    Cell,
    Floats,
    SparkRows,
    collect,
    is_present,
    to_numbers,
    with_constants,
)
from tametail.engines.survey import Held, held_halvings
from tametail.engines.tables.frames import pick_column
from tametail.errors import InternalError
from tametail.queries.column import (
    Buckets,
    ClippedSum,
    Count,
    DistanceSum,
    Median,
    Squares,
    TailNodes,
)
from tametail.queries.groups import Cells
from tametail.queries.query import Exact, Query

#: Bits of the low word of a sum.
_WORD_BITS = 20

#: Veltkamp's factor: a product with it carries over all but the first bit of a double.
_SPLIT = 2.0**52 + 1

#: Beyond this distance, that product might overflow, and 2**-100 is a factor before.
_FAR = 2.0**900


#: Up to so many rows their rests, of 28 bits each, add up within 64 bits.
_MOST_ROWS = 1 << 34


class SparkEngine:
    """Answers queries over one column of a Spark frame.

    Rows are counted without reading the column, where Spark can. The first job that reads it
    counts the missing records and draws the sample for the centre; one more makes a mean.
    """

    def __init__(
        self, frame: DataFrame, column: str | None = None, left_out: DataFrame | None = None
    ) -> None:
        self.columns: tuple[str, ...] = (pick_column(frame.columns, column),)
        self._numbers = to_numbers(frame, {"x": column})
        self._rows = SparkRows(self._numbers)
        self._present_count: int | None = None
        self._left_out = left_out  # a column of truth values, if a condition leaves records out
        self._held: Held | None = None
        self._passes = Passes()  # profiles, by their centres

    @property
    def size(self) -> int:
        """The number of records, missing ones included."""
        return self._rows.shape.rows

    def answer(self, query: Query[object]) -> Exact:
        """Return the exact answer to ``query``."""
        match query:
            case Count():
                numbers, left_out = self._count(), count_true(self._left_out)
                return numbers, self.size - numbers - left_out, left_out
            case ClippedSum():
                return self._clipped_sum(query)
            case Cells():
                return self._cells(query)
            case Buckets():
                return self._buckets(query)
            case Median():
                everybody = Median(0, query.low, query.high)
                sample = self._sample(query.halvings)
                return Passes().answer(everybody, lambda _: [sample])
            case TailNodes() | Squares() | DistanceSum():
                if query.centre not in self._passes.found:
                    self._passes.found[query.centre] = self._profile(query.centre)
                return self._passes.answer(query, lambda _: ())
            case _:
                raise InternalError("a question about rows is asked of one column.")

    def rows(self, start: int, stop: int) -> SparkEngine:
        """Refuse: rows have no stable positions, so no two asks can share the budget by them."""
        raise InternalError(f"rows {start}..{stop} of a Spark frame have no stable positions.")

    def column(self, index: int) -> SparkEngine:
        """Return the engine itself: there is one column."""
        if index:
            raise InternalError(f"there is no column number {index}.")
        return self

    @property
    def _present(self) -> DataFrame:
        return self._numbers.where(is_present())

    def _count(self) -> int:
        if self._present_count is None:
            halvings = held_halvings(self.size)
            numbers, missing = self._rows.draw(halvings, and_missing=True)
            self._held = Held(halvings, numbers)
            if missing is None:
                ((self._present_count,),) = collect(self._present.agg(fn.count("x")))
            else:
                self._present_count = self.size - missing
        return self._present_count

    def _sample(self, halvings: int) -> Floats:
        """Return the numbers in a secret sample; that which came with the count is used once."""
        held, self._held = self._held, None
        sample = held.take(halvings) if held else None
        return self._rows.draw(halvings).numbers if sample is None else sample

    def _clipped_sum(self, query: ClippedSum) -> tuple[int, ...]:
        lattice = query.lattice
        numbers = with_constants(
            self._present,
            inverse=2.0**-lattice.exponent,
            low=float(lattice.low),
            high=float(lattice.high),
            centre=float(lattice.centre),
        )
        terms = numbers.select(clipped_term())
        (found,) = collect(terms.agg(*sum_of_words("term"), fn.count(fn.lit(1))))
        return clipped_answer(query, found)

    def _cells(self, query: Cells) -> tuple[int, ...]:
        cuts = {f"cut{place}": float(cut) for place, cut in enumerate(query.cuts)}
        rows = with_constants(self._present, **cuts)
        (found,) = collect(rows.agg(*cell_counts(list(cuts))))
        return cells_answer(found)

    def _buckets(self, query: Buckets) -> dict[int, int]:
        scaled = fn.col("x") * fn.lit(query.inverse_width)
        size = fn.abs("scaled")
        # Spark's floor is a bigint; from 2**53 on a double is its own floor.
        key = fn.when(size < 2.0**53, fn.floor("scaled").cast("double")).otherwise(fn.col("scaled"))
        finite = self._present.select(scaled.alias("scaled")).where(size < float("inf"))
        counts = collect(finite.groupBy(key.alias("key")).count())
        keys = ((int(key), count) for key, count in counts)
        return {key: count for key, count in keys if query.low <= key <= query.high}

    def _profile(self, centre: float) -> Profile:
        """Count the distances from ``centre`` by their top 16 bits, and add up the next 28."""
        bits_of = double_bits(self._numbers)
        if bits_of is None or self.size > _MOST_ROWS:
            return self._profile_by_splitting(centre)
        distance = fn.col("x") - fn.col("centre")
        bits = with_constants(self._numbers, centre=centre).select(bits_of(distance).alias("bits"))
        found = collect(
            bits.select(
                fn.shiftrightunsigned("bits", 48).cast("int").alias("bin"),
                fn.shiftright("bits", 20).bitwiseAND(fn.lit((1 << REST_BITS) - 1)).alias("rest"),
            )
            .groupBy("bin")
            .agg(fn.count(fn.lit(1)), fn.sum("rest"))
        )
        counts, rests = np.zeros(BINS, dtype=np.int64), np.zeros(BINS, dtype=np.int64)
        for place, count, rest in found:
            if place is not None:  # NULL; the bins of NaN are left out of a profile
                counts[place], rests[place] = count, rest
        return Profile.of(counts, rests)

    def _profile_by_splitting(self, centre: float) -> Profile:
        """Return the profile by public expressions.

        They cannot see bits. But |y| rounded to one bit, by Veltkamp's splitting, is the power of
        two below or above it. With the former the first 33 bits of |y| are an integer, and there
        are few doubles of five bits: they can be grouped by (docs/proofs/spark.md).
        """
        y, size, rounded, octave, bits = map(fn.col, ("y", "size", "rounded", "octave", "bits"))
        is_normal = (fn.abs(y) >= 2.0**-1022) & (fn.abs(y) < float("inf"))
        scale = fn.when(fn.abs(y) < _FAR, fn.lit(1.0)).otherwise(fn.lit(2.0**-100))
        start = fn.shiftright(bits, REST_BITS).cast("double") * fn.lit(2.0**-4)
        key = fn.signum(y) * octave * start / scale
        found = collect(
            with_constants(self._present, centre=centre)
            .select((fn.col("x") - fn.col("centre")).alias("y"))
            .select("y", fn.when(is_normal, fn.abs(y) * scale).otherwise(fn.lit(1.0)).alias("size"))
            .select("y", "size", _to_one_bit(size).alias("rounded"))
            .select(
                "y", "size", fn.when(rounded > size, rounded / 2).otherwise(rounded).alias("octave")
            )
            .select("y", "octave", fn.floor(size / octave * fn.lit(2.0**32)).alias("bits"))
            .select(
                fn.when(is_normal, key).when(fn.abs(y) < 1.0, 0.0).otherwise(y).alias("key"),
                bits.bitwiseAND((1 << REST_BITS) - 1).alias("rest"),
            )
            # The hash adds no group; grouping by it too took about an eighth less time.
            .groupBy("key", fn.hash("key"))
            .agg(fn.count(fn.lit(1)), *sum_of_words("rest"))
        )
        return _to_profile(found)


def _to_one_bit(size: Column) -> Column:
    product = size * fn.lit(_SPLIT)
    return product - (product - size)


def count_true(truths: DataFrame | None) -> int:
    """Return how many rows of a column of truth values are true; without one, none."""
    if truths is None:
        return 0
    ((count,),) = collect(truths.agg(fn.count_if(fn.col(truths.columns[0]))))
    return int(count)


def cell_counts(cuts: Sequence[str]) -> list[Column]:
    """Return the aggregates of cells: how many records there are, and how many from each cut on."""
    return [fn.count(fn.lit(1)), *(fn.count_if(fn.col("x") >= fn.col(cut)) for cut in cuts)]


def cells_answer(found: Sequence[int]) -> tuple[int, ...]:
    """Return the number of records of each cell from these aggregates."""
    return tuple(before - after for before, after in pairwise([*found, 0]))


def clipped_term() -> Column:
    """Return the whole ticks of x, clipped, from the centre; these are columns, too."""
    ticks = fn.col("x") * fn.col("inverse")
    clipped = fn.least(fn.greatest(ticks, fn.col("low")), fn.col("high"))
    return (fn.floor(clipped) - fn.col("centre").cast("bigint")).alias("term")


def clipped_answer(query: ClippedSum, found: Sequence[int | None]) -> tuple[int, ...]:
    """Return the answer that is made of two words and a count."""
    high, low, count = (each or 0 for each in found)  # a sum over no rows is NULL
    total = (high << _WORD_BITS) + low
    return (total, query.count_weight * count) if query.count_weight else (total,)


def sum_of_words(name: str) -> tuple[Column, Column]:
    """Sum high and low words apart, so that up to 2**43 records stay within 64 bits."""
    high = fn.shiftright(name, _WORD_BITS)
    return fn.sum(high), fn.sum(fn.col(name).bitwiseAND((1 << _WORD_BITS) - 1))


def _to_profile(found: list[tuple[Cell, ...]]) -> Profile:
    bins = np.array([key for key, *_ in found], dtype=np.float64).view(np.int64) >> 48 & 0xFFFF
    counts, rests = np.zeros(1 << 16, dtype=np.int64), np.zeros(1 << 16, dtype=object)
    for place, (_, _, count, high, low) in zip(bins.tolist(), found, strict=True):
        counts[place] += count
        rests[place] += (high << _WORD_BITS) + low
    return Profile.of(counts, rests)
