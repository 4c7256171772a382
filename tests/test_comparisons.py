"""Differences and ratios: limits from the definition, coverage, refusals, words."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tametail as tt
from tametail.comparisons import Part, compare, difference_of, ratio_of
from tametail.errors import ParameterError
from tametail.means import MEAN, Interval, Mean
from tametail.notes import few_numbers

SIZES = st.floats(0.01, 50.0)


def holds(r, a, b):
    """Say whether the interval of a - r b holds 0."""
    below, above = (
        (b.high - b.value, b.value - b.low) if r >= 0 else (b.value - b.low, b.high - b.value)
    )
    middle = a.value - r * b.value
    low = middle - math.hypot(a.value - a.low, r * below)
    return low <= 0 <= middle + math.hypot(a.high - a.value, r * above)


@given(st.floats(-9, 9), SIZES, SIZES, st.floats(0.5, 9), st.floats(0.05, 0.95), SIZES)
def test_a_ratio_is_the_set_of_all_that_a_difference_allows(value, down, up, base, part, wide):
    a, b = Part(value, value - down, value + up), Part(base, base * part, base + wide)
    found = ratio_of(a, b)
    size = 1e-6 * (1 + abs(found.low) + abs(found.high))
    assert found.low <= found.value <= found.high
    for end, inward in ((found.low, size), (found.high, -size)):
        assert holds(end + inward, a, b)
        assert not holds(end - inward, a, b)
    turned = ratio_of(a.negative(), b.negative())
    assert turned.low == pytest.approx(found.low)


def test_limits_without_end_stay_so():
    open_ended = Part(3.0, 1.0, math.inf)
    assert difference_of(open_ended, Part(1.0, 0.5, 2.0)).high == math.inf
    assert ratio_of(open_ended, Part(1.0, 0.5, 2.0)).high == math.inf
    assert ratio_of(Part(3.0, 1.0, 4.0), open_ended).low == 0.0
    assert ratio_of(Part(3.0, -1.0, 4.0), Part(1.0, -1.0, 2.0))[1:] == (-math.inf, math.inf)


def test_differences_and_ratios_of_noisy_values_are_covered():
    """Normal errors with asymmetric limits: about 95 of 100, and not nearly all."""
    rng = np.random.default_rng(3)
    inside = []
    for _ in range(2_000):
        a, b = 5 + rng.normal(), 8 + rng.normal() * 0.5
        parts = Part(a, a - 1.96, a + 1.96), Part(b, b - 0.98, b + 0.98)
        gap, times = difference_of(*parts), ratio_of(*parts)
        inside.append((gap.low <= -3 <= gap.high, times.low <= 0.625 <= times.high))
    for covered in np.mean(inside, axis=0):
        assert 0.93 < covered < 0.97


FRAME = pd.DataFrame({
    "paid": np.tile([1.0, 9.0, 2.0, 8.0], 5_000), "nights": np.tile([1.0, 2.0], 10_000),
    "state": ["CA", "NY"] * 10_000, "who": np.arange(20_000) // 3,
})  # fmt: skip
ALLOWED_FOR = "This allows for persons who are in both, so the confidence is lower."
ASKED = {"by": "state", "keys": ["CA", "NY"], "epsilon": 1}


def test_groups_are_compared_at_the_confidence_asked_for():
    table = tt.mean(FRAME, "paid", **ASKED)
    gap, times = table.difference("NY", "CA"), table.ratio("NY", "CA")
    assert gap.confidence == times.confidence == 0.95
    assert gap.low < 7 < gap.high
    assert times.low < 8.5 / 1.5 < times.high
    assert (
        gap.high - gap.low < table["NY"].high - table["CA"].low - table["NY"].low + table["CA"].high
    )
    assert gap.excludes_equality
    assert str(gap) == gap.sentence()
    assert re.match(r"The mean of paid is [\d.]+ higher in NY than in CA \(95%", gap.sentence())
    assert "times that in CA (95% confidence interval of the ratio" in times.sentence()


def test_persons_who_may_be_in_both_groups_have_joined_limits():
    table = tt.mean(FRAME, "paid", **ASKED | {"epsilon": 4}, person="who")
    gap = table.difference("NY", "CA")
    assert gap.confidence == 0.9
    assert gap.low == table["NY"].low - table["CA"].high
    assert gap.sentence().endswith(ALLOWED_FOR)


@pytest.mark.parametrize("kept", [{}, {"person": "who"}])
def test_a_person_may_be_in_two_releases(kept):
    """Sampling errors of one person's records depend on each other, whatever releases they are."""
    one = tt.mean(FRAME, "paid", epsilon=4, where="state == 'NY'", person="who")
    other = tt.mean(FRAME, "paid", epsilon=4, where="state == 'CA'", **kept)
    for gap in (one - other, other - one):
        assert gap.confidence == 0.9
        assert gap.sentence().endswith(ALLOWED_FOR)
    assert (one - other).low == one.low - other.high
    assert (one / other).high == one.high / other.low
    table = tt.mean(FRAME, "paid", **ASKED | {"epsilon": 4}, person="who", groups_per_person=1)
    assert table.difference("NY", other.means[0]).confidence == 0.9


def test_persons_who_are_in_one_group_are_compared_at_the_confidence_asked_for():
    table = tt.mean(FRAME, "paid", **ASKED | {"epsilon": 4}, person="who", groups_per_person=1)
    assert table.difference("NY", "CA").confidence == 0.95


@pytest.mark.parametrize(
    "person", [{}, {"person": "who"}, {"person": "who", "groups_per_person": 1}]
)
def test_a_group_that_may_be_empty_is_never_quoted(person):
    asked = ASKED | {"epsilon": 4, "keys": ["CA", "NY", "AK", "GU"]}
    frame = FRAME.assign(paid=np.random.default_rng(1).lognormal(size=len(FRAME)))
    table = tt.mean(frame, "paid", **asked, **person)
    gap = table.difference("CA", "AK")
    assert (gap.unreliable, gap.excludes_equality) == (("AK",), False)
    assert gap.sentence() == (
        "The mean of paid in CA and in AK cannot be compared: there is no reliable estimate for AK."
    )
    assert table.ratio("GU", "AK").sentence().endswith("for GU and AK.")
    assert table.difference("CA", "NY").unreliable == ()


def test_rows_that_say_nothing_are_not_told_to_differ():
    """Also if their intervals have limits, as where most cells are no numbers."""
    high, low = (Mean("paid", None, at, (Interval(at - 1, at + 1, *MEAN, True, {}, 0.95),))
                 for at in (9.0, 2.0))  # fmt: skip
    assert compare("difference", (high, low), ("CA", "NY"), independent=True).excludes_equality
    unread = replace(low, share_used=0.01, notes=(few_numbers(0.01, warn=True),))
    gap = compare("difference", (high, unread), ("CA", "NY"), independent=True)
    assert (gap.unreliable, gap.excludes_equality) == (("NY",), False)


def test_two_releases_are_compared():
    one = tt.mean(FRAME, "paid", epsilon=1, where="state == 'NY'")
    other = tt.mean(FRAME, "paid", epsilon=1, where="state == 'CA'")
    gap = one - other
    assert gap.low < 7 < gap.high
    assert "than in state == 'CA'" in gap.sentence()
    assert gap.sentence().endswith("This supposes that no record is in both.")
    assert gap.confidence == 0.95
    assert (one / other).low > 1
    stored = tt.Release.from_json(one.to_json())
    assert stored - other == gap
    tables = [tt.mean(FRAME, "paid", **ASKED) for _ in range(2)]
    assert not tables[0].difference("NY", tables[1]["NY"]).excludes_equality


def test_what_cannot_be_compared_is_refused():
    both = tt.mean(FRAME, ["paid", "nights"], epsilon=1)
    with pytest.raises(ParameterError, match="a - b"):
        both.difference("paid", "nights")
    one = tt.mean(FRAME, "paid", epsilon=1)
    with pytest.raises(ParameterError, match="one row"):
        one - both
    with pytest.raises(ParameterError, match="confidence"):
        one - tt.mean(FRAME, "paid", epsilon=1, confidence=0.9)
    with pytest.raises(ParameterError, match="intervals"):
        one - tt.mean(FRAME, "paid", epsilon=1, confidence=None)
    with pytest.raises(TypeError):
        one - 3.0
    paid = {"dataset": "claims", "release_id": "a", "head": "b"}
    with pytest.raises(ParameterError, match="same records of 'claims'"):
        replace(one, receipt=paid) - replace(one, receipt=paid)
