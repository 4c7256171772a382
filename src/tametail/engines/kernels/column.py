"""Exact answers over the chunks of one column."""

from __future__ import annotations

from collections.abc import Iterable

from tametail.engines.kernels import native
from tametail.engines.kernels.accumulator import CHUNK, LONG_CHUNK, Floats
from tametail.engines.kernels.passes import PASSES
from tametail.engines.kernels.plain import REST_BITS
from tametail.engines.kernels.profile import Profile, conclude
from tametail.queries.column import Buckets, ColumnQuery, Count, Median, ProfileQuery
from tametail.queries.query import Exact

__all__ = ["CHUNK", "LONG_CHUNK", "REST_BITS", "Profile", "answer", "longest_chunk"]


def answer(
    query: ColumnQuery, chunks: Iterable[Floats], profiles: dict[float, Profile] | None = None
) -> Exact:
    """Return the exact answer to ``query`` over all chunks, in one pass.

    Queries about distances from a centre need only the profile around it, so they share one pass
    if the engine keeps ``profiles``. Any profile knows the number of records, too.
    """
    kept = {} if profiles is None else profiles
    if isinstance(query, Count) and kept:
        return (next(iter(kept.values())).records,)
    if not isinstance(query, ProfileQuery) or query.centre not in kept:
        accumulator = PASSES[type(query)].begin(query)
        for chunk in chunks:
            accumulator.add(chunk)
        if not isinstance(query, ProfileQuery):
            return accumulator.read()
        kept[query.centre] = accumulator.read()
    return conclude(query, kept[query.centre])


def longest_chunk(query: ColumnQuery) -> int:
    """Return how many values a chunk may have that needs no conversion."""
    if isinstance(query, Median | Buckets):
        return LONG_CHUNK if isinstance(query, Median) else CHUNK
    return native.loops().longest
