"""Private choices for many columns at one cost."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tametail.budget import Budget
from tametail.choices import choice_rate
from tametail.column_queries import ChoiceQuery, ColumnMedians
from tametail.mechanisms.medians import choose_many_medians
from tametail.mechanisms.select import select, uniform_integer
from tametail.unit import Unit

Counts = NDArray[np.int64]


def choose_medians(
    columns: Sequence[tuple[Counts, Counts]], query: ColumnMedians, cost: Budget, unit: Unit
) -> tuple[float, ...]:
    """Choose a median for every column, as :func:`tametail.mechanisms.median.choose_median` does.

    Notes
    -----
    **Formal guarantee**: all choices together cost at most ``cost`` under ``unit``; each is made
    from a secret sample of its own. See ``docs/proofs/vectors.md``.
    """
    rate = choice_rate(cost, query.choices, query.halvings)
    return tuple(choose_many_medians(columns, query.ranges, rate, unit))


def choose_ranks(
    table: Sequence[Counts], query: ChoiceQuery, cost: Budget, unit: Unit
) -> tuple[int, ...]:
    """Choose, for every list of counts, between which neighbours the count passes the target.

    With descending counts c_0 >= c_1 >= ... >= c_(m-1), candidate i lies between the i-th and the
    (i+1)-th entry and has the score

        -max(0, target - c_(i-1), c_i - target, least - (c_(i-1) - c_(i-1+window))),

    where c is 0 beyond the list, and i = 0 has the third term only.

    Notes
    -----
    **Formal guarantee**: all choices together cost at most ``cost`` under both units. See
    ``docs/proofs/vectors.md``.
    """
    del unit  # one row moves a count by at most 1, under both
    rate = choice_rate(cost, query.choices, query.halvings)
    weights = np.array(query.weights, dtype=np.int64)
    return tuple(_select(scores, weights, rate) for scores in _scores(np.array(table), query))


def _select(scores: Counts, weights: Counts, rate: Fraction) -> int:
    """Choose as :func:`select` does, with candidates of equal score gathered by NumPy."""
    levels, level_of = np.unique(scores, return_inverse=True)
    masses = np.zeros(len(levels), dtype=np.int64)
    np.add.at(masses, level_of, weights)
    level = select(levels, masses, rate)
    ends = np.cumsum(np.where(level_of == level, weights, 0))
    return int(np.searchsorted(ends, uniform_integer(0, int(ends[-1]) - 1), side="right"))


def _scores(table: Counts, query: ChoiceQuery) -> Counts:
    """Return the scores of the candidates, a line for each list of counts."""
    nothing = np.zeros((len(table), max(query.window, 1)), dtype=np.int64)
    above = np.hstack([table, nothing])[:, query.window : query.window + table.shape[1]]
    short = np.maximum(query.target - table, query.least - (table - above))
    worse = np.maximum(
        np.hstack([nothing[:, :1], short]), np.hstack([table - query.target, nothing[:, :1]])
    )
    scores: Counts = -np.maximum(worse, 0)
    return scores
