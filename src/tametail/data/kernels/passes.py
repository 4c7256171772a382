"""One pass for every question, or none if an earlier pass has seen what it needs.

A query declares its pass: which accumulator takes in the chunks, and what the answer is made of.
Queries whose passes have one key share one: those about distances from one center, and those
about one ball. A pass with coins has no key, as every answer tosses coins of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

from tametail.data.kernels import ball, counts, profile, rows, tournament
from tametail.data.kernels.accumulator import Accumulator, Floats
from tametail.data.kernels.threads import add_in_threads
from tametail.queries.column import (
    Buckets,
    ClippedSum,
    Count,
    DistanceSum,
    LogHistogram,
    Median,
    Quantiles,
    Squares,
)
from tametail.queries.densest_bin import DensestBin
from tametail.queries.groups import Cells
from tametail.queries.paper import BallMean, Scores
from tametail.queries.query import Exact, Query
from tametail.queries.rows import (
    BallLevels,
    BallSquares,
    BallSum,
    ColumnMedians,
    Distances,
    Rows,
)

#: What an accumulator has found: an answer, or what several answers are made of.
Found: TypeAlias = Any

#: Gives the chunks anew for every pass, with at most so many values, or rows.
Chunks = Callable[[int], Iterable[Floats]]


@dataclass(frozen=True, slots=True)
class Declared:
    """How a query of one class is answered."""

    begin: Callable[[Any], Accumulator[Found]]
    conclude: Callable[[Any, Found], Exact] = lambda _, found: found
    key: Callable[[Any], Hashable] = lambda _: None


_PROFILE = Declared(profile.ProfilePass, profile.conclude, lambda query: query.center)
_BALL = Declared(ball.BallTotals, ball.conclude, lambda query: (query.ball, query.level))

PASSES: dict[type[Query[object]], Declared] = {
    Count: Declared(counts.Present, key=lambda _: Count),
    ClippedSum: Declared(counts.ClippedTotal),
    Buckets: Declared(counts.BucketCounts),
    DensestBin: Declared(counts.BucketCounts),
    Median: Declared(counts.SampledKeys),
    Quantiles: Declared(counts.SampledKeys),
    Cells: Declared(counts.CellCounts),
    LogHistogram: _PROFILE,
    Squares: _PROFILE,
    DistanceSum: _PROFILE,
    Rows: Declared(rows.RowCount, key=lambda _: Rows),
    ColumnMedians: Declared(rows.ColumnKeys),
    Distances: Declared(rows.BeyondCounts),
    BallLevels: Declared(ball.LevelCounts),
    BallSum: _BALL,
    BallSquares: _BALL,
    BallMean: Declared(tournament.BallTotal),
    Scores: Declared(tournament.NearRows),
}


#: Chunks that are taken in before others help. For fewer a thread would not pay: with 4, 1e7
#: records in memory took 1.02 to 1.15 times as much CPU time on two cores, and 1e8 as much as now.
_ALONE = 32
#: How two of them are answered if a condition, which is public, leaves records out.
FILTERED: dict[type[Query[object]], Declared] = {
    Count: Declared(partial(counts.Present, filtered=True), key=lambda _: Count),
    Rows: Declared(partial(rows.RowCount, filtered=True), key=lambda _: Rows),
}


class Passes:
    """What the passes over some records have found, kept by their keys.

    >>> import numpy as np
    >>> passes = Passes()
    >>> passes.answer(LogHistogram(0.0, 0, 1), lambda longest: [np.array([1.0, -2.0])])
    (0, 32, 31, 1)
    """

    def __init__(self, threads: int = 1, *, filtered: bool = False) -> None:
        self._passes = PASSES | FILTERED if filtered else PASSES
        self.found: dict[Hashable, Found] = {}
        self.threads = threads

    def answer(self, query: Query[object], chunks: Chunks) -> Exact:
        """Return the exact answer to ``query`` over all chunks, in at most one pass."""
        declared = self._passes[type(query)]
        key = declared.key(query)
        if key is None or key not in self.found:
            accumulator = declared.begin(query)
            rest = iter(chunks(accumulator.longest))
            for chunk in islice(rest, _ALONE):
                accumulator.add(chunk)
            add_in_threads(accumulator, rest, lambda: declared.begin(query), self.threads)
            found = accumulator.read()
            if key is None:
                return declared.conclude(query, found)
            self.found[key] = found
        return declared.conclude(query, self.found[key])
