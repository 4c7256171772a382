"""Samples and distances of the cells of several columns, from chunks of rows in float64.

What becomes of a cell depends on that cell alone, never on its place in a chunk.
"""

from __future__ import annotations

import numpy as np

from tametail.data.cells import are_left_out
from tametail.data.kernels import native
from tametail.data.kernels.accumulator import Counts, Floats
from tametail.data.kernels.counts import distinct_keys
from tametail.data.kernels.plain import distances_of, rows_per_chunk
from tametail.data.sampling import Sampler
from tametail.queries.rows import MOST_ROWS, ColumnMedians, Distances, Rows

#: Chunks are this many times as large where only a sample of their cells is read.
_SPARSE = 4

#: Gaps between sampled cells that are drawn at a time.
_GAPS = 1 << 12


class RowCount:
    """The number of rows, and of those that a condition leaves out, with all of their cells."""

    longest = MOST_ROWS

    def __init__(self, query: Rows, *, filtered: bool = False) -> None:  # noqa: ARG002
        self.filtered = filtered
        self.count = self.left_out = 0

    def add(self, chunk: Floats) -> None:
        """Take in one chunk."""
        self.count += len(chunk)
        if self.filtered:
            self.left_out += int(np.count_nonzero(are_left_out(chunk[:, 0])))

    def merge(self, other: RowCount) -> None:
        """Add other counts."""
        self.count += other.count
        self.left_out += other.left_out

    def read(self) -> tuple[int, ...]:
        """Return both counts."""
        return self.count - self.left_out, self.left_out


class ColumnKeys:
    """The cells of a secret sample as ordered keys, column by column; missing ones are left out.

    Every cell has a coin of its own, and parts toss their own coins.
    """

    def __init__(self, query: ColumnMedians) -> None:
        self.n_columns = query.choices
        self.longest = _SPARSE * rows_per_chunk(self.n_columns)
        self.sampler = Sampler(query.halvings, _GAPS)
        self.values, self.columns = [np.empty(0)], [np.empty(0, dtype=np.int64)]

    def add(self, chunk: Floats) -> None:
        """Take in one chunk."""
        places = self.sampler.pick(chunk.size)
        cells = chunk.reshape(-1)[places]
        present = ~np.isnan(cells)
        self.values.append(cells[present])
        self.columns.append((places % self.n_columns)[present])

    def merge(self, other: ColumnKeys) -> None:
        """Take in another sample of the same rate, of other rows."""
        self.values += other.values
        self.columns += other.columns

    def read(self) -> list[tuple[Counts, Counts]]:
        """Return the distinct keys and their counts, column by column."""
        column = np.concatenate(self.columns)
        # NumPy sorts 16-bit numbers in linear time.
        small = column.astype(np.uint16) if self.n_columns <= 1 << 16 else column
        order = np.argsort(small, kind="stable")
        ends = np.cumsum(np.bincount(column, minlength=self.n_columns))
        return list(map(distinct_keys, np.split(np.concatenate(self.values)[order], ends[:-1])))


class BeyondCounts:
    """How many cells, or rows, lie at least so far from their centers, for every distance."""

    def __init__(self, query: Distances) -> None:
        self.query = query
        self.centers = np.array(query.centers)
        self.chosen = None if query.columns is None else list(query.columns)
        n_columns = len(self.centers) if self.chosen is None else max(self.chosen) + 1
        self.longest = _SPARSE * rows_per_chunk(n_columns)
        self.sampler = Sampler(query.halvings, _GAPS)
        first = query.distances[0]
        alike = all(steps is first or steps == first for steps in query.distances)
        self.edges = [np.array(steps) for steps in ([first] if alike else query.distances)]
        # The cells of every column, by how many of its steps they reach.
        self.seen = np.zeros((query.choices, len(first) + 1), dtype=np.int64)

    def add(self, chunk: Floats) -> None:
        """Take in one chunk."""
        rows = chunk if self.chosen is None else chunk[:, self.chosen]
        if self.query.by_row:
            far = np.maximum(distances_of(rows, self.centers), 0.0).max(axis=1)
            self._count(far, np.zeros(len(far), dtype=np.int64))
            return
        if self.query.halvings == 0 and len(self.edges) == 1:
            native.loops().count_beyond(rows, self.centers, self.edges[0], self.seen)
            return
        places = self.sampler.pick(rows.size)
        columns = places % len(self.centers)
        self._count(distances_of(rows.reshape(-1)[places], self.centers[columns]), columns)

    def _count(self, distances: Floats, columns: Counts) -> None:
        """Count numbers by column and by how many of its steps they reach."""
        size = self.seen.shape[1]
        if len(self.edges) == 1:
            passed = np.searchsorted(self.edges[0], distances, side="right")
        else:
            passed = np.empty(len(distances), dtype=np.int64)
            for column, steps in enumerate(self.edges):
                here = columns == column
                passed[here] = np.searchsorted(steps, distances[here], side="right")
        counts = np.bincount(columns * size + passed, minlength=self.seen.size)
        self.seen += counts.reshape(self.seen.shape)

    def merge(self, other: BeyondCounts) -> None:
        """Add the counts of another one."""
        self.seen += other.seen

    def read(self) -> list[Counts]:
        """Return the table of counts."""
        return list(np.cumsum(self.seen[:, ::-1], axis=1)[:, -2::-1])
