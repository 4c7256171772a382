"""Questions that are one row of SQL aggregates for each group: how they are asked and read.

Constants of a question are doubles: columns of their own where groups have different ones, literals
where there is one group. What comes back are integers.
"""

from __future__ import annotations

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


class Aggregate(NamedTuple):
    """How questions of one class are asked."""

    constants: Callable[[Any, Dialect], list[float]]
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


def _no_constants(query: object, dialect: Dialect) -> list[float]:
    del query, dialect
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


def clipping_constants(query: ClippedSum, dialect: Dialect) -> list[float]:
    """Return what :func:`ticks_text` needs of a lattice.

    The inverse tick, clip points and center in ticks; and clip points as records are clipped by,
    and what times the inverse becomes 0, where the dialect scales by them.
    """
    lattice = query.lattice

    def scaled(ticks: int) -> float:
        with np.errstate(over="ignore"):  # an infinity clips nothing, and another clip follows
            return float(np.ldexp(float(ticks), lattice.exponent))

    ends = [2.0**-lattice.exponent, *map(float, (lattice.low, lattice.high, lattice.centre))]
    if "{vanishing}" not in dialect.scaled:
        return ends
    vanishing = 2.0 ** (lattice.exponent + _VANISHES) if lattice.exponent > 0 else 0.0
    return [*ends, scaled(lattice.low), scaled(lattice.high), vanishing]


def ticks_text(dialect: Dialect, names: Sequence[str]) -> str:
    """Return floor(clip(x * inverse, low, high)) - center, so that nothing raises.

    A dialect that raises where a product overflows or vanishes has a guarded form of it
    (docs/proofs/databases.md).
    """
    inverse, low, high, centre, *rest = names
    ends = dict(zip(("least", "most", "vanishing"), rest, strict=False))
    scaled = dialect.scaled.format(x="x", zero=dialect.number(0.0), inverse=inverse, **ends)
    ticks = f"floor(least(greatest({scaled}, {low}), {high}))"
    return f"{dialect.whole.format(x=ticks)} - {dialect.whole.format(x=centre)}"


def _select_clipped(dialect: Dialect, names: Sequence[str]) -> str:
    return f"count(*), {dialect.sums(ticks_text(dialect, names))}"


def _read_clipped(query: ClippedSum, dialect: Dialect, found: Sums) -> tuple[int, ...]:
    count, *sums = found or (0,) * (len(dialect.words) + 1)
    total = dialect.total(tuple(sums))
    return (total, query.count_weight * int(count or 0)) if query.count_weight else (total,)


AGGREGATES: dict[type[Query[object]], Aggregate] = {
    Count: Aggregate(_no_constants, _select_counts, _read_counts, of_all_rows=True),
    Rows: Aggregate(_no_constants, _select_rows, _read_rows, of_all_rows=True),
    Cells: Aggregate(lambda query, _: list(query.cuts), _select_cells, _read_cells),
    ClippedSum: Aggregate(clipping_constants, _select_clipped, _read_clipped),
}


def profile_text(dialect: Dialect, source: str, centre: str, code: str) -> str:
    """Return a row for each group and bin: how many records, and the sums of their rests.

    ``code`` is "code, " where there are groups, and nothing where there are none.
    """
    present = dialect.present.format(x="x")
    text = f"SELECT {code}x - {centre} AS y FROM {source} WHERE {present}"
    for step in dialect.steps:
        text = f"SELECT {code}{step} FROM ({text}{dialect.barrier}) AS d"
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
