"""Several columns of a Spark frame: each partition answers in Python, the driver adds up.

Rows go to the executors' own Python by ``mapInArrow``, through the kernel of every other engine;
what a partition sends back are integers, written as text so that none is too large. The coins of
a sample are drawn where the rows are, anew for every attempt at a partition
(docs/proofs/spark.md). The executors need tametail installed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from tametail.data.cells import Floats, arrow_to_floats
from tametail.data.computed import products_of
from tametail.data.kernels.accumulator import Counts
from tametail.data.kernels.ball import Totals, conclude
from tametail.data.kernels.passes import PASSES
from tametail.data.sql.spark.sample import Cell, collect
from tametail.queries.products import Products
from tametail.queries.query import Exact
from tametail.queries.rows import Ball, BallSquares, BallSum, ColumnMedians, RowQuery

#: What a partition answers: integers in lists.
Partial = list[Cell]

_ADVICE = "Compute it first, and check that tametail is installed on the executors"

Batches = Iterator[pa.RecordBatch]


class Partials:
    """Passes over several columns of a Spark frame, in one job each.

    The sums and the squares of one ball share a job.
    """

    def __init__(self, numbers: DataFrame, products: Products | None = None) -> None:
        self._numbers, self._products = numbers, products
        self._totals: tuple[tuple[Ball, int], Totals] | None = None

    def read(self, query: RowQuery) -> Exact:
        """Return the exact answer, of what every partition says."""
        if isinstance(query, ColumnMedians):
            return [_merged(columns) for columns in zip(*self._partials(query), strict=True)]
        if isinstance(query, BallSum | BallSquares):
            return conclude(query, self._ball_totals(query))
        tables = self._partials(query)
        return [np.sum(counts, axis=0, dtype=np.int64) for counts in zip(*tables, strict=True)]

    def _ball_totals(self, query: BallSum | BallSquares) -> Totals:
        key = query.ball, query.level
        if self._totals is None or self._totals[0] != key:
            self._totals = key, _added([Totals(**part) for (part,) in self._partials(query)])
        return self._totals[1]

    def _partials(self, query: RowQuery) -> list[Partial]:
        """Ask every partition."""
        answers = self._numbers.mapInArrow(_answerer(query, self._products), "answer string")
        # A frame may have no partitions at all: the answer over no rows stands in for them.
        return [json.loads(text) for (text,) in collect(answers, _ADVICE)] or [
            _partial(query, iter(()), self._products)
        ]


def _answerer(query: RowQuery, products: Products | None) -> Callable[[Batches], Batches]:
    """Return what runs on the executors."""

    def answer(batches: Batches) -> Batches:
        text = json.dumps(_partial(query, batches, products))
        yield pa.RecordBatch.from_pydict({"answer": [text]})

    return answer


def _partial(query: RowQuery, batches: Batches, products: Products | None) -> Partial:
    """Return the answer over the rows of one partition, as integers in lists."""
    accumulator = PASSES[type(query)].begin(query)
    for batch in batches:
        block = _to_rows(batch)
        if products is not None:
            block = products_of(block, products)
        for start in range(0, len(block), accumulator.longest):
            accumulator.add(block[start : start + accumulator.longest])
    answer = accumulator.read()
    if isinstance(answer, Totals):
        return [asdict(answer)]
    return [np.asarray(column).tolist() for column in answer]


def _to_rows(batch: pa.RecordBatch) -> Floats:
    return np.column_stack([arrow_to_floats(column) for column in batch.columns])


def _added(parts: list[Totals]) -> Totals:
    """Add up Python integers, which never overflow."""

    def columns(name: str) -> list[int]:
        return [sum(cells) for cells in zip(*(getattr(part, name) for part in parts), strict=True)]

    return Totals(
        columns("sums"),
        columns("squares"),
        columns("missing"),
        sum(part.outside for part in parts),
        sum(part.rows for part in parts),
    )


def _merged(parts: Sequence[Partial]) -> tuple[Counts, Counts]:
    """Return the distinct keys of one column over all partitions, with their counts."""
    keys = np.concatenate([np.array(keys, dtype=np.int64) for keys, _ in parts])
    counts = np.concatenate([np.array(counts, dtype=np.int64) for _, counts in parts])
    distinct, place = np.unique(keys, return_inverse=True)
    added = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(added, place, counts)
    return distinct, added
