"""Numbers, intervals and warnings as people read them: properties that every release has."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tametail as tt
from tametail.means import MEAN, Interval, Mean
from tametail.notes import Note
from tametail.show import numbers
from tametail.show.intervals import limits_of, quote
from tametail.show.rows import value_of
from tametail.show.warnings import one_per_cause

finite = st.floats(-1e12, 1e12).filter(lambda x: x == 0 or abs(x) > 1e-9)


def read(text):
    return Decimal(text.replace(",", ""))


@settings(max_examples=300, deadline=None)
@given(low=finite, value=finite, high=finite)
def test_limits_are_rounded_outward_and_the_value_stays_inside(low, value, high):
    low, value, high = sorted((low, value, high))
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        return
    row = Mean("x", None, value, (Interval(low, high, *MEAN, True, {}),))
    below, _, above = limits_of(row.intervals[0], row).partition(" to ")
    assert read(below) <= Decimal(low)
    assert read(above) >= Decimal(high)
    assert read(below) <= read(value_of(row)) <= read(above)
    # No more is added than a digit that is shown: two of the half-width.
    assert read(above) - read(below) <= Decimal(high - low) * Decimal("1.2")


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (-math.inf, math.inf, None),
        (1439.7, math.inf, "at least 1,430 (no upper limit)"),
        (-math.inf, 0.0, "at most 0 (no lower limit)"),
        (-math.inf, 1591.2, "at most 1,600 (no lower limit)"),
    ],
)
def test_no_limit_is_ever_called_infinite(low, high, words):
    row = Mean("x", None, 1500.0)
    assert limits_of(Interval(low, high, *MEAN, True, {}), row) == words


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_number_that_is_none_is_a_dash(value):
    assert numbers.significant(value) == numbers.MISSING


RECORDS = np.random.default_rng(4).lognormal(7, 1, 20_000)

QUALIFIED = {
    "approximate (tail extrapolated)": {},
    "guaranteed if the standard deviation is at most 2,500": {"tail": tt.Moment(2, 2500)},
    "guaranteed if all values are between 0 and 250,000": {"tail": tt.Bounded(0, 250_000)},
    "not valid: the data contradict the assumption": {"tail": tt.Moment(2, 1)},
}


@pytest.mark.parametrize("words", QUALIFIED)
def test_every_form_has_one_interval_with_one_qualifier(words):
    release = tt.mean(RECORDS, epsilon=1, **QUALIFIED[words])
    found = quote(release, release[0])
    assert found.qualifier == words
    for line in str(release).splitlines():
        assert line.startswith("95% CI") == line.endswith(words)
    assert str(release).count("CI") == 1
    html = release._repr_html_().partition("<details>")[0]
    assert html.count("interval") <= 4  # the sentence, the picture's title, label and description


def test_one_warning_for_one_cause():
    release = tt.mean([7.0] * 50, epsilon=0.5)
    assert len({note.code for note in release.notes if note.kind == "warning"}) >= 2
    assert str(release).count("warning    ") == 1
    few, median = Note("warning", "few-records", "a"), Note("warning", "median", "b")
    other = Note("warning", "assumption-contradicted", "c")
    assert one_per_cause([median, few, other]) == [few, other]


def test_programs_get_all_digits():
    release = tt.mean(RECORDS, epsilon=1)
    assert release.to_dict()["value"] == release.value
    assert release.to_frame()["low"].tolist() == [release.low]
