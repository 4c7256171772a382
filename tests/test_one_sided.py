"""Bounds with an open side: records beyond are clipped, and nothing lies below the bound."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import tametail as tt
from tametail.cli import main
from tametail.errors import ParameterError
from tametail.page.forms import Form, tail_of
from tametail.page.takeaway import _option, _python
from tametail.report.words import assumptions

NOT_NEGATIVE = tt.Bounded(0, None)
AMOUNTS = np.random.default_rng(3).lognormal(6, 1.5, 8_000)


@pytest.mark.parametrize("unit", ["add-remove", "replace-one"])
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 2.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_no_end_and_no_clip_point_is_beyond_the_bound(unit, epsilon, sign):
    tail = NOT_NEGATIVE if sign > 0 else tt.Bounded(None, 0)
    for records in (AMOUNTS, np.where(AMOUNTS < 800, 0.0, AMOUNTS), AMOUNTS[:300]):
        release = tt.mean(sign * records, epsilon=epsilon, unit=unit, tail=tail)
        ends = [end for one in release[0].intervals for end in (one.low, one.high)]
        for end in (*release.clip, *ends, release.value):
            assert sign * end >= 0
        assert release.assumption_doubtful is False
        assert tt.replay(release.plan, release.answers) == release


def test_the_bounded_side_is_clipped_at_the_bound_and_loses_nothing():
    release = tt.mean(AMOUNTS, epsilon=1, tail=NOT_NEGATIVE)
    assert release.clip[0] == 0
    assert release.interval_for == "mean, if the tail goes on as seen"
    assert release.low < AMOUNTS.mean() * 1.1
    assert release.high > AMOUNTS.mean() * 0.9
    free = tt.mean(AMOUNTS, epsilon=1)
    assert free.clip[0] < 0
    assert release.value == pytest.approx(free.value, rel=0.2)


def test_where_nothing_is_seen_the_interval_begins_at_the_bound():
    release = tt.mean(np.zeros(3_000), epsilon=1, tail=NOT_NEGATIVE)
    assert (release.low, release.high) == (0, math.inf)
    assert not release.reliable


def test_records_beyond_are_clipped_and_raise_doubt_by_the_private_count():
    records = np.append(AMOUNTS, np.full(4_000, -1e5))
    release = tt.mean(records, epsilon=1, tail=NOT_NEGATIVE)
    clipped = np.maximum(records, 0).mean()
    assert abs(release.value - clipped) < 0.25 * clipped  # neither dropped (1.5 times) nor -3e4
    assert release.assumption_doubtful
    assert "doubtful" in {note.code for note in release.notes if note.kind == "warning"}
    assert release.low >= 0


def test_predictions_are_as_without_a_tail():
    plain, told = tt.plan(n=5_000, epsilon=1), tt.plan(n=5_000, epsilon=1, tail=NOT_NEGATIVE)
    assert told.rmse is None
    assert told.relative_rmse == plain.relative_rmse
    assert told.half_width(0.95) == pytest.approx(plain.half_width(0.95), rel=0.3)
    assert [step.cost for step in told.steps] == [step.cost for step in plain.steps]
    with pytest.raises(ParameterError, match="relative_error"):
        tt.sample_size(error=200, epsilon=1, tail=NOT_NEGATIVE)


def test_plans_and_releases_go_to_json_and_back():
    release = tt.mean(AMOUNTS, epsilon=1, tail=NOT_NEGATIVE)
    stored = json.loads(release.plan.to_json())
    assert '"high": null' in json.dumps(stored)
    assert tt.Release.from_json(release.to_json()) == release
    assert ("About the records", "every record at least 0") in assumptions(release.plan)


def test_several_columns_are_bounded_one_by_one():
    rows = np.column_stack([AMOUNTS, -AMOUNTS])
    release = tt.mean(rows, epsilon=2, tail=[NOT_NEGATIVE, None])
    assert release[0].clip[0] == 0
    assert release[1].clip[0] < 0


@pytest.mark.parametrize(
    "said",
    [
        {"rho": 0.5},
        {"epsilon": 1, "common": True},
        {"epsilon": 1, "delta": 1e-6},
    ],
)
def test_where_an_open_side_is_not_for_it_says_so(said):
    with pytest.raises(ParameterError, match="open side"):
        tt.mean(np.column_stack([AMOUNTS, AMOUNTS]), tail=NOT_NEGATIVE, **said)


@pytest.mark.parametrize("ends", [(None, None), (5, 5), (math.nan, None), (None, math.inf)])
def test_bad_bounds_are_refused(ends):
    with pytest.raises(ParameterError):
        tt.Bounded(*ends)


def test_the_command_line_leaves_an_end_open(tmp_path, capsys):
    path = tmp_path / "amounts.csv"
    path.write_text("amount\n" + "\n".join(map(str, AMOUNTS)), encoding="utf-8")
    arguments = ["mean", str(path), "--epsilon", "1", "--json", "--bounds"]
    assert main([*arguments, "0:"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["clip"][0] == 0
    assert main([*arguments, ":"]) == 2


def test_the_page_leaves_an_end_open():
    assert tail_of(Form.read("know=bounds&low=0&high=")) == NOT_NEGATIVE
    assert _python(NOT_NEGATIVE) == "tt.Bounded(0.0, None)"
    assert [*_option("tail", NOT_NEGATIVE)] == ["--bounds", "0:"]
