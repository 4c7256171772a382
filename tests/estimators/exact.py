"""An ask without noise: an estimator is then plain mathematics on exact answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tametail.api import plan as make_plan
from tametail.ask import Ask
from tametail.doubles import from_key
from tametail.means import Estimate
from tametail.mechanisms.densest_bin import _Near
from tametail.planning.table import find
from tametail.queries.column import Median
from tametail.queries.densest_bin import DensestBin

from ..opened import open_table  # noqa: TID252


class Exact:
    """Answers every query exactly; a choice is the best one, in the middle of several.

    The median is the lower median of all records.
    """

    def __init__(self, data: Any) -> None:
        self.engine = open_table(np.asarray(data, dtype=np.float64))
        self.relation = self.engine.relation

    def prepare(self, query: Any, cost: Any, adjacency: Any) -> Any:
        return self.respond, lambda answer: answer

    def respond(self, query: Any) -> Any:
        if isinstance(query, DensestBin):
            return self._fullest(query)
        if not isinstance(query, Median):
            return self.engine.answer(query)
        keys, counts = self.engine.answer(replace(query, halvings=0))
        if not len(keys):
            return max(min(0.0, query.high), query.low)
        middle = np.searchsorted(np.cumsum(counts), (counts.sum() + 1) // 2)
        return min(max(from_key(int(keys[middle])), query.low), query.high)

    def _fullest(self, query: DensestBin) -> int:
        blocks = list(_Near(self.engine.answer(query), query)._blocks())
        if not blocks:
            return min(max(0, query.low), query.high)
        candidates, scores = (np.concatenate(one) for one in zip(*blocks, strict=True))
        best = candidates[scores == scores.max()]
        return int(best[len(best) // 2])

    def on(self, relation: Any) -> Exact:
        raise NotImplementedError


def estimate(data: Any, **options: Any) -> Estimate:
    """Run the estimator on exact answers; n is told."""
    options = {"epsilon": 1.0, "neighbors": "replace-one", **options}
    plan = make_plan(n=len(data), **options)
    ask = Ask(Exact(data), plan.budget.spendable(), plan.adjacency)
    return find(plan.method).estimate(plan, ask)[0]
