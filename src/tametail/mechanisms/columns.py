"""Private choices for many columns at one cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tametail.budget import Budget
from tametail.choices import choice_rate
from tametail.column_queries import ChoiceQuery, ColumnMedians
from tametail.mechanisms.median import choose_median
from tametail.mechanisms.select import select
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
    return tuple(
        choose_median(keys, counts, rate, unit=unit, low=low, high=high)
        for (keys, counts), (low, high) in zip(columns, query.ranges, strict=True)
    )


def choose_ranks(
    table: Sequence[Counts], query: ChoiceQuery, cost: Budget, unit: Unit
) -> tuple[int, ...]:
    """Choose, for every list of counts, between which neighbours the count passes the target.

    With descending counts c_0 >= c_1 >= ... >= c_(m-1), candidate i lies between the i-th and the
    (i+1)-th entry and has the score ``-max(0, target - c_(i-1), c_i - target)``, without the
    terms that do not exist for i = 0 and i = m.

    Notes
    -----
    **Formal guarantee**: all choices together cost at most ``cost`` under both units. See
    ``docs/proofs/vectors.md``.
    """
    del unit  # one row moves a count by at most 1, under both
    rate = choice_rate(cost, query.choices, query.halvings)
    return tuple(select(_scores(counts, query.target), query.weights, rate) for counts in table)


def _scores(counts: Counts, target: int) -> NDArray[Any]:
    short = np.concatenate([[0], target - counts])
    beyond = np.concatenate([counts - target, [0]])
    worse: NDArray[Any] = np.maximum(np.maximum(short, beyond), 0)
    return -worse
