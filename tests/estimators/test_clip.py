from __future__ import annotations

import numpy as np
import pytest

import tametail as tt
from tametail.methods.winsorized.clipping import choose_clipping, raise_detected_bins
from tametail.methods.winsorized.column import ColumnPlan
from tametail.methods.winsorized.constants import WINDOW
from tametail.methods.winsorized.sums import ClippingBounds
from tametail.methods.winsorized.tail_assumption import Reference
from tametail.methods.winsorized.tail_histogram import TailHistogram, histogram_noise
from tametail.methods.winsorized.tail_models import TailFit

FIRST, LAST = -128, 127
LIMITS = (np.inf, np.inf)


def _tails(plan: ColumnPlan, above: dict[int, float]) -> TailHistogram:
    """Counts above the center by octaves, in units of the noise; none below."""
    tails = TailHistogram(
        np.zeros(LAST - FIRST + 1),
        np.zeros(LAST - FIRST + 1),
        FIRST,
        histogram_noise(plan, plan.cost("tail")),
        float(plan.n),
    )
    for octave, count in above.items():
        tails.above[octave - FIRST] = count * tails.scale
    return tails


def _clip(plan: ColumnPlan, tails: TailHistogram) -> ClippingBounds:
    return choose_clipping(plan, 0.0, tails, plan.n, Reference.of(plan, (0.0, 0.0)))


def _plan(n: int) -> ColumnPlan:
    return ColumnPlan.of(tt.plan(n=n, epsilon=1.0, neighbors="replace-one", confidence=None))


def _raised(n: int, octave: int, count: float, body: float = 2000.0) -> int:
    """By how many octaves a group moves an anchor at 1."""
    plan = _plan(n)
    tails = _tails(plan, {0: body, octave: count})
    last_bin = tails.highest_detected(tails.above)
    assert last_bin == -FIRST
    raised = raise_detected_bins(plan, tails, [None, last_bin], LIMITS)
    assert raised[0] is None
    return raised[1] - last_bin


def test_a_group_across_a_gap_moves_the_anchor():
    assert _raised(100_000, 6, 12.0) in (5, 6)
    assert _raised(100_000, 6, 7.0) == 0
    assert _raised(100_000, 12, 12.0) == 0  # further than is searched


def test_a_group_is_believed_the_less_the_more_it_would_cost():
    assert _raised(100_000, 6, 12.0, body=2000) > 0
    assert _raised(100_000, 6, 9.0, body=100) == 0  # there its noise would dominate
    assert _raised(100_000, 6, 15.0, body=100) > 0


@pytest.mark.parametrize(("n", "moves"), [(1_000, True), (10_000, True), (100_000, False)])
def test_an_anchor_moves_closer_to_the_end_while_it_is_in_the_body(n, moves):
    assert (_raised(n, 2, 15.0) > 0) == moves
    assert _raised(n, 2, 15.0) < WINDOW


def test_a_group_that_is_seen_is_not_clipped_away():
    plan = _plan(100_000)
    without, with_group = (
        _clip(plan, _tails(plan, {0: 2000.0, 6: count})).above for count in (0.0, 12.0)
    )
    assert without < 2.0**5 < with_group


def test_sides_that_look_alike_may_be_clipped_closer():
    plan = _plan(10_000)
    tail = {0: 800.0, 1: 300.0, 2: 100.0, 3: 35.0, 4: 12.0, 5: 4.0}
    alike, unlike = _tails(plan, tail), _tails(plan, tail)
    alike.below[:] = alike.above
    unlike.below[-FIRST : 2 - FIRST] = unlike.above[-FIRST : 2 - FIRST]
    clips = [_clip(plan, tails) for tails in (alike, unlike)]
    assert clips[0].above == clips[0].below < clips[1].above
    assert clips[0].excess == 0.0 < clips[1].excess


def test_likeness_is_a_matter_of_the_counts():
    counts = np.array([0, 0, 4000.0, 1500.0, 500.0, 180.0, 60.0, 20.0, 0, 0, 0])
    steeper = np.array([0, 0, 4000.0, 10.0, 0, 0, 0, 0, 0, 0, 0])
    one, same, other = (TailFit.of(side, 7.0, 2.0) for side in (counts, counts + 3.0, steeper))
    alike, risk, excess = one.score_symmetric(same, 0.1)
    assert alike > 0.5
    assert one.score_symmetric(other, 0.1)[0] < 0.01
    # Sides that differ more are the riskier, and most if they are clipped most.
    added = np.diag(one.score_symmetric(same, 0.6)[1] - risk)
    assert np.all(added > 0)
    assert np.all(np.diff(added) <= 0)
    assert risk.shape == (len(excess), len(excess))
    # Clip points that are equally far cost less than the same clip point on one side alone.
    assert np.all(np.diag(risk) <= risk[:, -1] + risk[-1, :])


def test_a_group_across_a_gap_carries_the_clip_point_to_its_end_and_no_further():
    plan = _plan(10_000)
    tails = _tails(plan, {0: 3000.0, 3: 6.0, **dict.fromkeys(range(4, 13), 6.0)})
    last_bin = tails.highest_detected(tails.above)
    raised = raise_detected_bins(plan, tails, [None, last_bin], LIMITS)[1]
    assert raised >= last_bin + WINDOW
    assert _clip(plan, tails).above == 2.0 ** (FIRST + raised + 1)  # the curves want to go further


def test_an_even_law_is_not_clipped_where_its_center_would_decide():
    """On uniform records the center is poor, and the records beyond a clip point follow it."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        release = tt.mean(rng.random(10_000), epsilon=1, neighbors="replace-one", confidence=None)
        assert release.clip[0] < 0.1
        assert release.clip[1] > 0.9
