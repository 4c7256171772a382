"""Private choices for many columns at one cost."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tametail.mechanisms.medians import (
    MOST_COLUMNS,
    choose_many_medians,
    clear_choices,
    exact_level,
)
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Budget
from tametail.privacy.choices import choice_rate

if TYPE_CHECKING:
    from tametail.queries.rows import ChoiceQuery, ColumnMedians

Counts = NDArray[np.int64]


def choose_medians(
    columns: Sequence[tuple[Counts, Counts]],
    query: ColumnMedians,
    cost: Budget,
    adjacency: Adjacency,
) -> tuple[float, ...]:
    """Choose a median for every column, as :func:`tametail.mechanisms.medians.choose_median` does.

    **Formal guarantee**: all choices together cost at most ``cost`` under ``adjacency``; each is
    made from a secret sample of its own. See ``docs/proofs/vectors.md``.
    """
    rate = choice_rate(cost, query.choices, query.halvings)
    return tuple(choose_many_medians(columns, query.ranges, rate, adjacency))


def choose_ranks(
    table: Sequence[Counts], query: ChoiceQuery, cost: Budget, adjacency: Adjacency
) -> tuple[int, ...]:
    """Choose, for every list of counts, between which neighbors the count passes the target.

    With descending counts c_0 >= c_1 >= ... >= c_(m-1), candidate i lies between the i-th and the
    (i+1)-th entry and has the score

        min(lead, c_(i-1) - target, target - c_i, (c_(i-1) - c_(i-1+window)) - least,
            lead - (min(body, c_0) - c_(i-1-window))),

    where c is 0 beyond the list and c_0 before it, and i = 0 has the first and third term only.

    **Formal guarantee**: all choices together cost at most ``cost`` under both units. See
    ``docs/proofs/vectors.md``.
    """
    del adjacency  # one row moves a count by at most 1, under both
    rate = choice_rate(cost, query.choices, query.halvings)
    weights = np.array(query.weights, dtype=np.int64)
    present = np.flatnonzero(weights)
    scores = _scores(np.array(table), query)[:, present]
    turns = range(0, len(scores), MOST_COLUMNS)
    chosen = [_select_many(scores[i : i + MOST_COLUMNS], weights[present], rate) for i in turns]
    return tuple(present[np.concatenate(chosen)].tolist())


def _select_many(scores: Counts, weights: Counts, rate: Fraction) -> Counts:
    """Choose a candidate from every line, as :func:`tametail.mechanisms.select.select` does.

    The candidates of a line are ordered best first, and the first 64 bits of a draw are compared
    with their cumulative weights in floating point; where they do not decide for certain, exact
    weights and more bits of the same draw do.
    """
    distances = scores.max(axis=1, keepdims=True) - scores
    # NumPy sorts 16-bit numbers in linear time.
    small = distances.max() < 1 << 16
    order = np.argsort(distances.astype(np.uint16) if small else distances, axis=1, kind="stable")
    distances = np.take_along_axis(distances, order, axis=1)
    masses = weights[order]
    sizes = np.ravel(masses * np.exp(-float(rate) * distances)).astype(np.float64)
    starts = np.arange(len(scores)) * len(weights)
    chosen = np.empty(len(scores), dtype=np.int64)
    for line, (place, draw) in enumerate(clear_choices(sizes, starts)):
        if place is not None:
            chosen[line] = order.flat[place]
        else:
            levels = list(zip(distances[line].tolist(), masses[line].tolist(), strict=True))
            chosen[line] = order[line, exact_level(levels, rate, draw)]
    return chosen


def _scores(table: Counts, query: ChoiceQuery) -> Counts:
    """Return the scores of the candidates, a line for each list of counts."""
    (lines, length), first = table.shape, table[:, :1]
    above = np.hstack([table, np.zeros((lines, query.window), np.int64)])[:, query.window :]
    below = np.hstack([np.repeat(first, query.window, axis=1), table])[:, :length]
    lacking = np.minimum(query.body, first) - below
    enough = [table - query.target, table - above - query.least, query.lead - lacking]
    lead = np.full((lines, 1), query.lead)
    lower = np.hstack([lead, np.minimum.reduce(enough)])
    upper = np.hstack([query.target - table, lead])
    scores: Counts = np.minimum.reduce([lower, upper, np.broadcast_to(lead, upper.shape)])
    return scores
