"""Where bounds turn out to be loose, there is a second look."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import tametail as tt
from tametail.ask import Ask
from tametail.methods.winsorized.column import ColumnPlan
from tametail.methods.winsorized.estimate import SpreadEstimate, estimate_spread
from tametail.privacy.budget import Budget, Pure, compose
from tametail.queries.column import DistanceSum, LogHistogram

from .exact import Exact

#: Numbers of records, by unit.
SIZES = {"add-remove": 550, "replace-one": 1000}
UNITS = pytest.mark.parametrize("adjacency", SIZES)

#: Nearly all records lie between 0.1 and 10.
LOOSE, TIGHT = tt.Bounded(0, 1e6), tt.Bounded(0, 5)


class Recorded(Exact):
    """Answers exactly of so many lognormal records, and keeps what it was asked."""

    def __init__(self, size: int) -> None:
        normal = [NormalDist().inv_cdf((i + 0.5) / size) for i in range(size)]
        super().__init__(np.exp(normal))
        self.asked: list[tuple[Any, Budget]] = []

    def prepare(self, query: Any, cost: Budget, adjacency: Any) -> Any:
        self.asked.append((query, cost))
        return super().prepare(query, cost, adjacency)


def _looked(
    tail: tt.Bounded | None, adjacency: str, size: int
) -> tuple[ColumnPlan, SpreadEstimate, Recorded]:
    """Return a plan, what was seen, and what was asked for, up to the end."""
    plan = ColumnPlan.of(tt.plan(n=size, epsilon=1, neighbors=adjacency, tail=tail))
    responder = Recorded(size)
    ask = Ask(responder, plan.spending, plan.adjacency)
    seen = estimate_spread(plan, ask)
    assert isinstance(seen, SpreadEstimate)
    seen.finish(ask)
    return plan, seen, responder


@UNITS
def test_a_second_look_costs_what_the_sum_would_have_cost(adjacency: str) -> None:
    plan, seen, responder = _looked(LOOSE, adjacency, SIZES[adjacency])
    first, again = (cost for query, cost in responder.asked if isinstance(query, LogHistogram))
    (total,) = (cost for query, cost in responder.asked if isinstance(query, DistanceSum))
    assert first == plan.cost("tail")
    assert total == seen.rest.cost("sum")
    assert compose([again, total], Pure) == plan.cost("sum")


@UNITS
@pytest.mark.parametrize(("tail", "times"), [(None, 1), (TIGHT, 1), (TIGHT, 100)], ids=str)
def test_elsewhere_there_is_one_look(tail: tt.Bounded | None, times: int, adjacency: str) -> None:
    plan, seen, responder = _looked(tail, adjacency, times * SIZES[adjacency])
    looks = [cost for query, cost in responder.asked if isinstance(query, LogHistogram)]
    assert looks == [plan.cost("tail")]
    assert seen.clip.side > 0


@UNITS
def test_both_looks_are_as_sharp_as_one_where_nothing_is_told(adjacency: str) -> None:
    sharp = [
        _looked(tail, adjacency, SIZES[adjacency])[1].tails.scale for tail in (LOOSE, TIGHT, None)
    ]
    both, one, usual = sharp
    assert one > 1.4 * usual
    assert both == pytest.approx(usual, rel=0.2)
