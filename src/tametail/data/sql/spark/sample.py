"""The rows of a Spark frame: how many there are, and secret samples of them.

Spark's rows have no names. A row's *slot*, its partition and its place there, is a name for the
length of one job. Coins are drawn on the driver, for as many slots as there can be rows; those
that fell into the sample go out as a table, and a row meets the coin of its slot.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from tametail.data.sampling import Sampler
from tametail.data.sql.spark.quiet import quiet
from tametail.errors import DataError

Floats = npt.NDArray[np.float64]
#: What a job brings to the driver: integers, floats, text or None, as the job names them.
Cell: TypeAlias = Any

Integers = npt.NDArray[np.int64]

#: ``monotonically_increasing_id`` is the partition's number and, in so many bits, the row's there.
_ROW_BITS = 33
_ROW = (1 << _ROW_BITS) - 1

#: Slots may be this many times the rows; else the rows of each partition are counted.
_LARGEST_WASTE = 64

#: A block has half of the rows that hold one picked slot on average, so that most hold none.
_BLOCK_BITS = 1

#: So many slots are looked at, or twice as many and so on: each number is other code to compile.
_LOOKED_AT = 8

#: About so many missing rows, of all partitions, are sent to the driver to be counted there.
_MOST_MISSING = 1 << 14


class PartitionSizes(NamedTuple):
    """How many rows there are, and what the partitions need at most."""

    rows: int
    partitions: int
    longest: int


class SampleResult(NamedTuple):
    """Numbers in a sample, their groups, and how many records are missing (None: too many)."""

    numbers: Floats
    codes: Integers
    missing: int | None


class SparkRows:
    """The rows of a frame with a column x of doubles and a column ``code`` of groups."""

    def __init__(self, numbers: DataFrame) -> None:
        self._numbers = numbers

    @cached_property
    def shape(self) -> PartitionSizes:
        """The rows, counted without reading a column: little work for most sources."""
        return self._measure(self._identified.select("id"), fn.lit(0))

    def draw(self, halvings: int, *, and_missing: bool = False) -> SampleResult:
        """Return a secret sample: every record is in it with probability 2**-halvings."""
        if halvings == 0:
            numbers, codes = _numbers_and_codes(collect(self._numbers.select("x", "code")))
            missing = np.isnan(numbers)
            return SampleResult(numbers[~missing], codes[~missing], int(missing.sum()))
        for shape in (self.shape, None):
            # A frame may be cut into other partitions when its column is read, too.
            drawn = self._draw(halvings, shape or self._measured_in_full(), and_missing)
            if drawn is not None:
                return drawn
        raise DataError(
            "The Spark frame changes between reads. Write it to a table, and pass that."
        )

    def _draw(self, halvings: int, shape: PartitionSizes, and_missing: bool) -> SampleResult | None:
        """Draw once; None if there are rows beyond those that were counted."""
        widths = self._widths(shape)
        slots = _slots(widths, halvings)
        table, most = _Table(slots, widths, halvings), _most_in_a_partition(slots) + 1
        wanted = table.holds()
        most_missing = _MOST_MISSING // max(len(widths), 1) + 1 if and_missing else 0
        if and_missing:
            wanted |= fn.col("x").isNull() | fn.isnan("x")
        # The start stands beside the number of the row, through which Spark moves no condition:
        # it would look the start up once for each time that the condition names it.
        identity = fn.monotonically_increasing_id()
        start = table.start().alias("start")
        rows = self._numbers.select("x", "code", identity.alias("id"), start)
        met = rows.where(wanted).select("x", "code", "id", _row_of(identity).alias("place"))
        # A power of two: another number each time would be other code to compile.
        limit = 1 << (most + most_missing).bit_length()
        found = collect(met.where(fn.col("place") < limit).select("x", "code", "id"))
        numbers, codes = _numbers_and_codes(row[:2] for row in found)
        ids = np.array([identity for *_, identity in found], dtype=np.int64)
        missing = np.isnan(numbers)
        if and_missing and _most_in_a_partition(ids[missing]) >= most_missing:
            return self._draw(halvings, shape, and_missing=False)  # more than can be sent
        if _are_beyond(ids, widths):
            return None
        sample = np.isin(ids, slots) & ~missing
        gone = int(missing.sum()) if and_missing else None
        return SampleResult(numbers[sample], codes[sample], gone)

    @property
    def _identified(self) -> DataFrame:
        return self._numbers.select("x", fn.monotonically_increasing_id().alias("id"))

    def _measured_in_full(self) -> PartitionSizes:
        return self._measure(self._identified, fn.count("x"))

    def _measure(self, identified: DataFrame, reads: Column) -> PartitionSizes:
        last, place = fn.max("id"), fn.max(_row_of(fn.col("id")))
        ((rows, last, longest, _),) = collect(
            identified.agg(fn.count(fn.lit(1)), last, place, reads)
        )
        parts = (last >> _ROW_BITS) + 1 if rows else 0
        return PartitionSizes(rows, parts, longest + 1 if rows else 0)

    def _widths(self, shape: PartitionSizes) -> Integers:
        """Return how many slots each partition has: as many as rows, or as the longest."""
        if shape.partitions * shape.longest <= _LARGEST_WASTE * shape.rows:
            return np.full(shape.partitions, shape.longest, dtype=np.int64)
        partition = fn.shiftright("id", _ROW_BITS).alias("partition")
        counts = self._identified.groupBy(partition).agg(fn.count("id"), fn.count("x"))
        sizes = {number: rows for number, rows, _ in collect(counts)}
        return np.array([sizes.get(number, 0) for number in range(max(sizes) + 1)])


def _slots(widths: Integers, halvings: int) -> Integers:
    """Toss a coin for every slot, and return the slots in the sample."""
    ends = np.cumsum(widths)
    picked = Sampler(halvings).pick(int(widths.sum()))
    partition = np.searchsorted(ends, picked, side="right")
    return (partition << _ROW_BITS) + picked - (ends - widths)[partition]


def _most_in_a_partition(ids: Integers) -> int:
    return int(np.bincount(ids >> _ROW_BITS, minlength=1).max())


def _are_beyond(ids: Integers, widths: Integers) -> bool:
    """Say whether a row has no slot: then there are more rows than were counted."""
    partitions = np.minimum(ids >> _ROW_BITS, len(widths))
    return bool(((ids & _ROW) >= np.append(widths, 0)[partitions]).any())


class _Table:
    """The picked slots, as arrays that a column expression can look things up in.

    Rows are cut into blocks, and each knows where among all picked slots its own begin. A lookup
    for each row is several times cheaper than a join. After its last slot each partition
    has a marker that is picked, too: a row that meets it was not counted.
    """

    def __init__(self, slots: Integers, widths: Integers, halvings: int) -> None:
        markers = np.append(widths, 0) + (np.arange(len(widths) + 1) << _ROW_BITS)
        self.picked = np.union1d(slots, markers)
        self.bits = max(halvings - _BLOCK_BITS, 0)
        lengths = (np.append(widths, 0) >> self.bits) + 1
        self.first = np.cumsum(lengths) - lengths
        block = self.first[self.picked >> _ROW_BITS] + ((self.picked & _ROW) >> self.bits)
        # Those of a block are among so many that follow.
        self.most = -(-int(np.bincount(block).max()) // _LOOKED_AT) * _LOOKED_AT
        blocks, starts = np.unique(block, return_index=True)
        self.starts = np.full(int(lengths.sum()), len(block))  # where none is picked: behind all
        self.starts[blocks] = starts

    def start(self) -> Column:
        """Return where the slots of a row's block begin; null in a partition without slots."""
        first = fn.get(_array(self.first), fn.spark_partition_id())
        block = fn.shiftright(_row_of(fn.monotonically_increasing_id()), self.bits)
        return fn.get(_array(self.starts), (first + block).cast("int"))

    def holds(self) -> Column:
        """Return whether the slot ``id`` is picked, or in a partition without slots."""
        identity, start = fn.col("id"), fn.col("start").cast("int")
        # Named once: Spark would make the array anew for each time.
        block = fn.slice(_array(self.picked), start + 1, self.most)
        is_picked = (start < len(self.picked)) & fn.array_contains(block, identity)
        return is_picked | (start.isNull() & (_row_of(identity) == 0))


def _row_of(identity: Column) -> Column:
    return identity.bitwiseAND(fn.lit(_ROW))


def _array(numbers: Integers) -> Column:
    """Return a constant array: as text, since one call to the JVM for each number takes long."""
    return fn.split(fn.lit(",".join(map(str, numbers.tolist()))), ",").cast("array<bigint>")


def _numbers_and_codes(rows: Iterable[tuple[Cell, ...]]) -> tuple[Floats, Integers]:
    found = list(rows)
    numbers = np.array([np.nan if x is None else x for x, _ in found], dtype=np.float64)
    return numbers, np.array([code for _, code in found], dtype=np.int64)


def collect(
    frame: DataFrame, advice: str = "Compute it first, and pass the result"
) -> list[tuple[Cell, ...]]:
    """Run the job; what Spark says of a failure may quote cells."""
    try:
        with quiet():
            return [tuple(row) for row in frame.collect()]
    except Exception:  # noqa: S110 - every source has errors of its own
        pass
    raise DataError(f"The Spark frame cannot be computed. {advice}.")
