"""Questions that are one row of SQL aggregates for each group: how they are asked and read.

Constants of a question are doubles: columns of their own where groups have different ones, literals
where there is one group. What comes back are integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tametail.data.kernels.profile import Profile
from tametail.data.sql.dialects import Dialect
from tametail.data.sql.sessions import Row
from tametail.queries.column import ClippedSum, Count
from tametail.queries.groups import Cells
from tametail.queries.query import Query
from tametail.queries.rows import Rows

#: A row of aggregates: whole numbers, as Decimal in PostgreSQL; NULL over no rows.
Sums = tuple[int | None, ...]

#: The least positive double is 2**-1074, and what is not above its half becomes 0.
_VANISHES = -1075

#: How many constants a clipped sum has whose ticks are at most 1.
_OF_SHORT_TICKS = 3


class Aggregate(NamedTuple):
    """How questions of one class are asked."""

    constants: Callable[[Any], list[float]]
    """The doubles of a question."""
    select: Callable[[Dialect, Sequence[str]], str]
    """The aggregates, by the names of these doubles."""
    read: Callable[[Any, Dialect, Sums], tuple[int, ...]]
    """The answer, of a row of aggregates, which is empty where a group has no rows."""
    of_all_rows: bool = False
    """Whether rows without a number count, too."""


def how_many(condition: str) -> str:
    """Return the aggregate of how many rows a condition is true for; NULL where there are none.

    A sum of ones: DuckDB counts by CASE or FILTER at half of that speed.
    """
    return f"sum(CAST({condition} AS integer))"


def _no_constants(query: object) -> list[float]:
    del query
    return []


def _select_rows(dialect: Dialect, names: Sequence[str]) -> str:
    del dialect, names
    return "count(*), sum(f)"


def _read_rows(query: Rows, dialect: Dialect, found: Sums) -> tuple[int, ...]:
    del query, dialect
    rows, left_out = (int(each or 0) for each in found or (0, 0))
    return rows - left_out, left_out


def _select_counts(dialect: Dialect, names: Sequence[str]) -> str:
    return f"{_select_rows(dialect, names)}, {how_many(dialect.present.format(x='x'))}"


def _read_counts(query: Count, dialect: Dialect, found: Sums) -> tuple[int, ...]:
    del query, dialect
    rows, left_out, numbers = (int(each or 0) for each in found or (0, 0, 0))
    return numbers, rows - numbers - left_out, left_out


def _select_cells(dialect: Dialect, names: Sequence[str]) -> str:
    del dialect
    return ", ".join(["count(*)", *(how_many(f"x >= {cut}") for cut in names)])


def _read_cells(query: Cells, dialect: Dialect, found: Sums) -> tuple[int, ...]:
    del dialect
    beyond = [*(int(count or 0) for count in found or (0,) * (len(query.cuts) + 1)), 0]
    return tuple(from_here - from_next for from_here, from_next in pairwise(beyond))


def _clipping_constants(query: ClippedSum) -> list[float]:
    """Return the clip points and the inverse tick; where ticks are longer than 1, in another order.

    Then clip points are in ticks, and what times the inverse becomes 0 comes last.
    """
    lattice = query.lattice
    inverse, ends = 2.0**-lattice.exponent, (float(lattice.low), float(lattice.high))
    if lattice.exponent <= 0:
        return [*(math.ldexp(end, lattice.exponent) for end in ends), inverse]
    return [inverse, *ends, 2.0 ** (lattice.exponent + _VANISHES)]


def _select_clipped(dialect: Dialect, names: Sequence[str]) -> str:
    """Return the count and the sum of floor(clip(x * inverse, low, high)), so that nothing raises.

    Clip points of short ticks and products with them are exact, so that clipping first is the same
    and no product overflows. With longer ones a product may vanish, where some dialects raise
    (docs/proofs/databases.md).
    """
    if len(names) == _OF_SHORT_TICKS:
        least, most, inverse = names
        ticks = f"least(greatest(x, {least}), {most}) * {inverse}"
    else:
        inverse, low, high, vanishing = names
        scaled = dialect.scaled.format(inverse=inverse, vanishing=vanishing)
        ticks = f"least(greatest({scaled}, {low}), {high})"
    return f"count(*), {dialect.sums(dialect.whole.format(x=f'floor({ticks})'))}"


def _read_clipped(query: ClippedSum, dialect: Dialect, found: Sums) -> tuple[int, ...]:
    """Return the sum of ticks from the center, and the count if it has a weight."""
    count, *sums = found or (0,) * (len(dialect.words) + 1)
    total = dialect.total(tuple(sums)) - query.lattice.centre * int(count or 0)
    return (total, query.count_weight * int(count or 0)) if query.count_weight else (total,)


AGGREGATES: dict[type[Query[object]], Aggregate] = {
    Count: Aggregate(_no_constants, _select_counts, _read_counts, of_all_rows=True),
    Rows: Aggregate(_no_constants, _select_rows, _read_rows, of_all_rows=True),
    Cells: Aggregate(lambda query: list(query.cuts), _select_cells, _read_cells),
    ClippedSum: Aggregate(_clipping_constants, _select_clipped, _read_clipped),
}


def profile_text(dialect: Dialect, source: str, centre: str, code: str) -> str:
    """Return a row for each group and bin: how many records, and the sums of their rests.

    ``code`` is "code, " where there are groups, and nothing where there are none.
    """
    present = dialect.present.format(x="x")
    text = f"SELECT {code}x - {centre} AS y FROM {source} WHERE {present}"
    for place, step in enumerate(dialect.steps):
        barrier = dialect.barrier if place else ""  # a dialect that has one names y once
        text = f"SELECT {code}{step} FROM ({text}{barrier}) AS d"
    return (
        f"SELECT {code}bin, count(*), {dialect.sums('rest')} FROM ({text}) AS d GROUP BY {code}bin"
    )


def profiles_of(dialect: Dialect, rows: Sequence[Row]) -> dict[int, Profile]:
    """Return the profile of each group, from rows of its code, a bin, its count and its sums."""
    if not rows:
        return {}
    codes, places, counts, *sums = zip(*rows, strict=True)
    bins = dialect.bins_of(places)
    order = np.lexsort((bins, whose := np.array(codes, dtype=np.int64)))
    found = np.array(counts, dtype=np.int64)
    rests = np.array([dialect.total(each) for each in zip(*sums, strict=True)], dtype=object)
    groups, starts = np.unique(whose[order], return_index=True)
    parts = np.split(order, starts[1:])
    profiles = (Profile.of_bins(bins[part], found[part], rests[part]) for part in parts)
    return dict(zip(groups.tolist(), profiles, strict=True))
