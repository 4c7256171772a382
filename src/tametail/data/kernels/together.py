"""One question to each of many small groups, answered for all of them in one walk.

The integers are those of the accumulators of ``counts``, group by group (a test compares them). A
group of a few records would otherwise pay for an accumulator, a loop and a lock of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

import numpy as np

from tametail.data.kernels.accumulator import Counts, Floats
from tametail.queries.column import ClippedSum
from tametail.queries.groups import Cells
from tametail.queries.query import Query

#: The most records of a group that is small, and of the groups that are taken together: their sum
#: of ticks, each below 2**37, is exact in 64 bits.
SMALL: Final = 512
TOGETHER: Final = 1 << 18

Kind = TypeVar("Kind")


def answer_each(
    queries: Sequence[Query[object]],
    parts: Sequence[Floats],
    alone: Callable[[Query[object], Floats], object],
) -> list[object]:
    """Return the answer to each query about its own part; large ones and odd ones are asked alone.

    >>> parts = [np.array([1.0, 4.0]), np.array([]), np.array([np.nan, 2.0])]
    >>> answer_each([Cells((2.0,))] * 3, parts, alone=lambda query, part: ())
    [(1, 1), (0, 0), (0, 1)]
    """
    found: list[object] = [()] * len(parts)
    for places in _blocks(queries, parts):
        asked = [queries[place] for place in places]
        values = np.concatenate([parts[place] for place in places])
        sizes = np.array([len(parts[place]) for place in places])
        answers = _together(asked, values, sizes)
        if answers is None:
            answers = [alone(queries[place], parts[place]) for place in places]
        for place, answer in zip(places, answers, strict=True):
            found[place] = answer
    return found


def _blocks(queries: Sequence[Query[object]], parts: Sequence[Floats]) -> Iterator[list[int]]:
    """Yield the places of small parts, some at a time, of queries of one class; of others, one."""
    waiting: list[int] = []
    rows = 0
    for place, (query, part) in enumerate(zip(queries, parts, strict=True)):
        if len(part) > SMALL:
            yield [place]
            continue
        full = rows + len(part) > TOGETHER
        if waiting and (full or type(queries[waiting[0]]) is not type(query)):
            yield waiting
            waiting, rows = [], 0
        waiting.append(place)
        rows += len(part)
    if waiting:
        yield waiting


def _together(queries: list[Query[object]], values: Floats, sizes: Counts) -> list[object] | None:
    """Return the answers of small groups whose values lie one after the other; None: not these."""
    if len(queries) < 2:
        return None
    ends = np.concatenate([[0], np.cumsum(sizes)])
    whose = np.repeat(np.arange(len(sizes)), sizes)
    cells, sums = _all(queries, Cells), _all(queries, ClippedSum)
    if cells and len({len(query.cuts) for query in cells}) == 1:
        return _cells(np.array([query.cuts for query in cells]), values, whose, ends)
    return _clipped(sums, values, whose, ends) if sums else None


def _all(queries: list[Query[object]], kind: type[Kind]) -> list[Kind]:
    found: list[Kind] = [query for query in queries if isinstance(query, kind)]
    return found if len(found) == len(queries) else []


def _by_group(terms: Counts, ends: Counts) -> Counts:
    """Return the sums of whole terms of each group."""
    sums = np.concatenate([[0], np.cumsum(terms, dtype=np.int64)])
    found: Counts = sums[ends[1:]] - sums[ends[:-1]]
    return found


def _cells(cuts: Floats, values: Floats, whose: Counts, ends: Counts) -> list[object]:
    """Count by cuts, which ascend: who reaches one of them and not the next is between them."""
    reached = [_by_group(values >= cut[whose], ends) for cut in cuts.T]
    present = _by_group(~np.isnan(values), ends)
    counts = np.column_stack([present, *reached, np.zeros_like(present)])
    return [tuple(row) for row in (counts[:, :-1] - counts[:, 1:]).tolist()]


def _clipped(
    queries: list[ClippedSum], values: Floats, whose: Counts, ends: Counts
) -> list[object]:
    """Add up floor(clip(x * inverse tick, low, high)) - center, each operation as for one group."""
    lattices = [query.lattice for query in queries]
    inverse = np.array([2.0**-each.exponent for each in lattices])
    low, center, high = (
        np.array([getattr(each, end) for each in lattices], dtype=np.float64)[whose]
        for end in ("low", "center", "high")
    )
    with np.errstate(all="ignore"):
        ticks = np.floor(np.clip(values * inverse[whose], low, high)) - center
    present = ~np.isnan(ticks)
    sums = _by_group(np.where(present, ticks, 0.0).astype(np.int64), ends).tolist()
    counts = _by_group(present, ends).tolist()
    return [
        (total, query.count_weight * count) if query.count_weight else (total,)
        for query, total, count in zip(queries, sums, counts, strict=True)
    ]
