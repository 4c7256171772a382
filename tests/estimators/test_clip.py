from __future__ import annotations

import numpy as np
import pytest

import tametail as tt
from tametail.estimators.clip import GAP, choose_clip, raise_anchors
from tametail.estimators.tails import Tails, noise_of_counts

FIRST, LAST = -128, 127
LIMITS = (np.inf, np.inf)


def _tails(plan: tt.Plan, above: dict[int, float]) -> Tails:
    """Counts above the centre by octaves, in units of the noise; none below."""
    tails = Tails(
        np.zeros(LAST - FIRST + 1),
        np.zeros(LAST - FIRST + 1),
        FIRST,
        noise_of_counts(plan, plan.cost("tail")),
        float(plan.n),
    )
    for octave, count in above.items():
        tails.above[octave - FIRST] = count * tails.scale
    return tails


def _plan(n: int) -> tt.Plan:
    return tt.plan(n=n, epsilon=1.0, unit="replace-one", confidence=None)


def _raised(n: int, octave: int, count: float, body: float = 2000.0) -> int:
    """By how many octaves a group moves an anchor at 1."""
    plan = _plan(n)
    tails = _tails(plan, {0: body, octave: count})
    anchor = tails.anchor(tails.above)
    assert anchor == -FIRST
    raised = raise_anchors(plan, tails, [None, anchor], LIMITS)
    assert raised[0] is None
    return raised[1] - anchor


def test_a_group_across_a_gap_moves_the_anchor():
    assert _raised(100_000, 6, 7.0) in (5, 6)
    assert _raised(100_000, 6, 4.0) == 0
    assert _raised(100_000, 12, 7.0) == 0  # further than is searched


def test_a_group_is_believed_the_less_the_more_it_would_cost():
    assert _raised(100_000, 6, 7.0, body=2000) > 0
    assert _raised(100_000, 6, 7.0, body=100) == 0  # there its noise would dominate
    assert _raised(100_000, 6, 15.0, body=100) > 0


@pytest.mark.parametrize(("n", "moves"), [(1_000, True), (10_000, True), (100_000, False)])
def test_an_anchor_moves_closer_to_the_end_while_it_is_in_the_body(n, moves):
    assert (_raised(n, 2, 15.0) > 0) == moves
    assert _raised(n, 2, 15.0) < GAP


def test_a_group_that_is_seen_is_not_clipped_away():
    plan = _plan(100_000)
    without, with_group = (
        choose_clip(plan, 0.0, _tails(plan, {0: 2000.0, 6: count}), 100_000).above
        for count in (0.0, 8.0)
    )
    assert without < 2.0**5 < with_group
