"""Bounds with an open side: records beyond are clipped, and nothing lies below the bound."""

from __future__ import annotations

import json
import math
import sqlite3
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import tametail as tt
from tametail import notes
from tametail.cli import main
from tametail.data.cells import LEFT_OUT, are_left_out
from tametail.data.reader import clipped
from tametail.errors import ParameterError
from tametail.page.downloads import _option, _python
from tametail.page.forms import Form, tail_of
from tametail.queries.column import LogHistogram
from tametail.queries.persons import PersonMean, PersonResidual
from tametail.show.sentences import assumptions

from .opened import open_table

NOT_NEGATIVE = tt.Bounded(0, None)
AMOUNTS = np.random.default_rng(3).lognormal(6, 1.5, 8_000)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 2.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_no_end_and_no_clip_point_is_beyond_the_bound(adjacency, epsilon, sign):
    tail = NOT_NEGATIVE if sign > 0 else tt.Bounded(None, 0)
    for records in (AMOUNTS, np.where(AMOUNTS < 800, 0.0, AMOUNTS), AMOUNTS[:300]):
        release = tt.mean(sign * records, epsilon=epsilon, neighbors=adjacency, tail=tail)
        ends = [end for one in release[0].intervals for end in (one.low, one.high)]
        for end in (*release.clip, *ends, release.value):
            assert sign * end >= 0
        assert release.assumption_contradicted is False
        assert tt.replay(release.plan, release.answers) == release


def test_the_bounded_side_is_clipped_at_the_bound_and_loses_nothing():
    release = tt.mean(AMOUNTS, epsilon=1, tail=NOT_NEGATIVE)
    assert release.clip[0] == 0
    assert release.interval_target == "mean"
    assert release.low < AMOUNTS.mean() * 1.1
    assert release.high > AMOUNTS.mean() * 0.9
    free = tt.mean(AMOUNTS, epsilon=1)
    assert free.clip[0] < 0
    assert release.value == pytest.approx(free.value, rel=0.2)


def test_where_nothing_is_seen_the_interval_begins_at_the_bound():
    release = tt.mean(np.zeros(3_000), epsilon=1, tail=NOT_NEGATIVE)
    assert (release.low, release.high) == (0, math.inf)
    assert release.has_warnings


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": 1}, {"epsilon": 1, "delta": 1e-6}])
@pytest.mark.parametrize("form", ["array", "frame", "filtered"])
def test_records_beyond_are_clipped_and_raise_doubt_by_the_private_count(budget, form):
    """Clipped before the first question, one column by itself could not tell."""
    records = np.append(AMOUNTS, np.full(4_000, -1e5))
    data, said = pa.table({"v": records}), {"column": "v"}
    if form == "array":
        data, said = records, {}
    elif form == "filtered":
        said["where"] = "v < 1e9"
    release = tt.mean(data, tail=NOT_NEGATIVE, **said, **budget)
    clipped = np.maximum(records, 0).mean()
    assert abs(release.value - clipped) < 0.25 * clipped  # neither dropped (1.5 times) nor -3e4
    assert release.assumption_contradicted
    assert "assumption-contradicted" in {
        note.code for note in release.notes if note.kind == "warning"
    }
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
    assert ("Assumptions", "All values are at least 0") in assumptions(release.plan)


def test_several_columns_are_bounded_one_by_one():
    rows = np.column_stack([AMOUNTS, -AMOUNTS])
    release = tt.mean(rows, epsilon=2, tail=[NOT_NEGATIVE, None])
    assert release[0].clip[0] == 0
    assert release[1].clip[0] < 0


DIRTY = np.where(np.arange(len(AMOUNTS)) % 10 == 0, -1e5, AMOUNTS)
VISITS = pa.table(
    {
        "charge": DIRTY,
        "double": 2 * DIRTY,
        "who": np.arange(len(DIRTY)) // 4,
        "state": np.where(np.arange(len(DIRTY)) % 8 < 6, "CA", "NY"),
    }
)
STATES = {"by": "state", "keys": ["CA", "NY"]}


def all_at_least_zero(release, *, doubtful=(None,)):
    for row in release:
        numbers = [row.value, *(row.clip or ())]
        for one in row.intervals:
            numbers += [one.low, one.high]
        if row.shrunk is not None:
            numbers += [row.shrunk.value, row.shrunk.low, row.shrunk.high]
        assert min(numbers) >= 0
        assert row.assumption_contradicted in doubtful
    assert tt.replay(release.plan, release.answers) == release
    assert tt.Release.from_json(release.to_json()) == release


@pytest.mark.parametrize(
    "said",
    [
        STATES,
        STATES | {"pooling": None},
        STATES | {"pooling": "mean"},
        STATES | {"person": "who"},
        STATES | {"person": "who", "each": "person"},
        {"person": "who"},
        {"person": "who", "each": "person"},
        {"person": "who", "neighbors": "replace-one"},
        {"person": "who", "each": "person", "neighbors": "replace-one"},
    ],
)
def test_groups_and_persons_are_clipped_and_nothing_is_dropped(said):
    release = tt.mean(VISITS, "charge", epsilon=2, tail=NOT_NEGATIVE, **said)
    all_at_least_zero(release)
    clipped = np.maximum(DIRTY, 0)
    whole = np.average(release.value, weights=[3, 1]) if len(release) > 1 else release.value
    # Dropped, the mean would be 11% larger, and -9,000 if they counted as they are.
    assert whole == pytest.approx(clipped.mean(), rel=0.3)


@pytest.mark.parametrize("epsilon", [0.05, 0.01])
def test_groups_of_which_little_is_seen_are_on_the_right_side(epsilon):
    found = tt.mean(VISITS, "charge", epsilon=epsilon, tail=NOT_NEGATIVE, **STATES)
    all_at_least_zero(found, doubtful=(None, True))  # a group may be unlike the others


def test_means_drawn_together_stay_on_the_right_side():
    """Once -0.05 to 0.06: what is drawn towards the others was not cut."""
    rng = np.random.default_rng(1)
    amounts = rng.exponential(1, 2_000) * (rng.random(2_000) < 0.1)
    visits = pa.table({"amount": amounts, "state": rng.choice(list("abcdef"), 2_000)})
    told = {"by": "state", "keys": list("abcdef"), "pooling": "mean", "epsilon": 1}
    for _ in range(5):
        release = tt.mean(visits, "amount", tail=NOT_NEGATIVE, **told)
        assert all(row.shrunk is not None for row in release)
        all_at_least_zero(release, doubtful=(None, True))  # a group may be unlike the others
    without = tt.mean(visits, "amount", tail=NOT_NEGATIVE, confidence=None, **told)
    assert all(row.shrunk.value >= 0 and row.shrunk.low is None for row in without)


@pytest.mark.parametrize("n", [3, 20, 100])
@pytest.mark.parametrize("said", [{"epsilon": 1, "same_scale": True}, {"rho": 1}, {"rho": 0.1}])
def test_a_ball_of_few_rows_lies_on_the_right_side(n, said):
    """Once -460 to 0, and a warning of a within= that nobody gave, in one row of ten."""
    rng = np.random.default_rng(n)
    for _ in range(40):
        amounts = rng.exponential(1, n) * (rng.random(n) < 0.1)
        release = tt.mean(
            np.column_stack([amounts, rng.normal(-1, 1, n)]), tail=NOT_NEGATIVE, **said
        )
        all_at_least_zero(release)
        for row in release:
            assert notes.CONTRADICTED not in row.notes
            assert row.low <= row.value <= row.high


def test_a_ball_around_noise_lies_where_the_means_can_be():
    """What the first round found is noise below the bound; the second is around the bound."""
    plan = tt.plan(
        n_columns=2, n=100, neighbors="replace-one", epsilon=1, same_scale=True, tail=NOT_NEGATIVE
    )
    found = tt.mean(np.ones((100, 2)), plan=plan)
    first = found.answers[2]
    answers = list(found.answers)
    answers[2] = [-(10**9)] * len(first)
    release = tt.replay(found.plan, answers)
    for row in release:
        assert row.clip[0] == 0 < row.clip[1]


def test_an_interval_wholly_beyond_the_bound_says_no_more_than_the_bound():
    """However noise falls out: a last sum far below 0 is noise, and contradicts nothing."""
    rows = np.column_stack([AMOUNTS, AMOUNTS])
    for within in (None, (0, 1e6)):
        found = tt.mean(rows, rho=0.5, tail=NOT_NEGATIVE, within=within)
        answers = list(found.answers)
        answers[-1] = [-(10**12), -(10**12), *answers[-1][2:]]
        for row in tt.replay(found.plan, answers):
            assert (row.value, row.low) == (0, 0)
            assert row.high == (math.inf if within is None else 1e6)
            assert notes.CLAMPED in row.notes
            assert notes.CONTRADICTED not in row.notes
            assert row.assumption_contradicted is None


def test_a_wrong_within_beside_a_half_line_is_said():
    rows = np.column_stack([AMOUNTS, AMOUNTS])
    for row in tt.mean(rows, rho=0.5, tail=NOT_NEGATIVE, within=(0, 100)):
        assert notes.CONTRADICTED in row.notes
        assert row.assumption_contradicted
        assert row.low <= 100 < row.high


@pytest.mark.parametrize(
    "said",
    [
        {"rho": 0.5},
        {"epsilon": 1, "same_scale": True},
        {"epsilon": 1, "delta": 1e-6},
        {"epsilon": 2, "person": "who"},
        {"epsilon": 2, "person": "who", "each": "person"},
        {"rho": 0.5, "where": "charge < 1e6"},
    ],
)
def test_several_columns_are_clipped_before_they_are_taken_together(said):
    release = tt.mean(VISITS, ["charge", "double"], tail=NOT_NEGATIVE, **said)
    all_at_least_zero(release)
    clipped = np.maximum(DIRTY, 0).mean()
    assert release.value == pytest.approx([clipped, 2 * clipped], rel=0.35)


def test_columns_of_which_nothing_is_said_stay_as_they_are():
    rows = np.column_stack([DIRTY, DIRTY])
    release = tt.mean(rows, rho=0.5, tail=[NOT_NEGATIVE, None])
    assert release[0].clip[0] == 0
    assert release[1].clip[0] < 0
    assert release[1].value == pytest.approx(DIRTY.mean(), rel=0.3)
    with pytest.raises(ParameterError, match="list has 3 entries"):
        tt.mean(rows, rho=0.5, tail=[NOT_NEGATIVE, None, None])


CELLS = np.array([[-3.0, 5.0], [np.nan, -np.inf], [LEFT_OUT, 2.0], [np.inf, -0.5], [1.0, 9.0]])
LINES = [(0.0, math.inf), (-math.inf, 4.0)]
EVERYTHING = LogHistogram(0.0, -1022, 1023, counted=True)


def test_a_record_is_clipped_whatever_the_others_are():
    found = np.column_stack([clipped(*one) for one in zip(CELLS.T, LINES, strict=True)])
    assert are_left_out(found[:, 0]).tolist() == [False, False, True, False, False]
    alone = [
        [clipped(np.array([cell]), line)[0] for cell, line in zip(row, LINES, strict=True)]
        for row in CELLS
    ]
    expected = np.array([[0.0, 4.0], [np.nan, -np.inf], [np.nan, 2.0], [np.inf, -0.5], [1.0, 4.0]])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(alone, expected)


def test_persons_are_clipped_record_by_record():
    frame = pa.table({"who": ["a", "a", "b", None], "x": [-5.0, 3.0, -1.0, -7.0]})
    engine = open_table(frame, "x", person="who", lines=[(0.0, math.inf)])
    assert engine.numbers(PersonMean()).tolist() == [1.5, 0.0]
    assert engine.numbers(PersonResidual(1.0)).tolist() == [1.0, -1.0]


@pytest.mark.parametrize("kind", ["matrix", "rows", "frame", "parquet", "csv", "sqlite", "duckdb"])
def test_every_source_of_several_columns_is_clipped(kind, tmp_path):
    clean = open_table(np.maximum(np.column_stack([DIRTY, 2 * DIRTY]), 0))
    engine = open_table(*_source(kind, tmp_path), lines=[(0.0, math.inf)])
    try:
        for index in (0, 1):
            asked = engine.column(index).answer(EVERYTHING)
            assert list(asked) == list(clean.column(index).answer(EVERYTHING))
    finally:
        getattr(engine, "close", lambda: None)()


def _source(kind, folder):
    names = ["charge", "double"]
    matrix = np.column_stack([DIRTY, 2 * DIRTY])
    if kind == "matrix":
        return (matrix,)
    if kind == "rows":
        return (matrix.tolist(),)
    if kind == "frame":
        return VISITS, names
    path = folder / f"visits.{kind}"
    if kind == "parquet":
        pq.write_table(VISITS, path)
        return path, names
    if kind == "csv":
        pc.write_csv(VISITS, path)
        return path, names
    if kind == "sqlite":
        with closing(sqlite3.connect(path)) as base:
            base.execute("CREATE TABLE visits (charge REAL, double REAL)")
            base.executemany("INSERT INTO visits VALUES (?, ?)", matrix.tolist())
            base.commit()
    else:
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect(str(path)) as base:
            base.register("given", VISITS)
            base.execute("CREATE TABLE visits AS SELECT charge, double FROM given")
    return path, names, None, None, None, None, None, "visits"


def test_a_database_clips_groups_and_persons(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "visits.duckdb")) as base:
        base.register("given", VISITS)
        base.execute("CREATE TABLE visits AS SELECT * FROM given")
        for said in (STATES, {"person": "who"}):
            release = tt.mean(base, "charge", table="visits", epsilon=2, tail=NOT_NEGATIVE, **said)
            all_at_least_zero(release)


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
    path.write_text(
        "amount,state\n" + "\n".join(f"{amount},CA" for amount in AMOUNTS), encoding="utf-8"
    )
    grouped = [*arguments, "0:", "--column", "amount", "--by", "state", "--keys", "CA"]
    assert main(grouped) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["clip"][0] == 0


def test_the_page_leaves_an_end_open():
    assert tail_of(Form.read("assumption=bounds&low=0&high=")) == NOT_NEGATIVE
    assert _python(NOT_NEGATIVE) == "tt.Bounded(0.0, None)"
    assert [*_option("tail", NOT_NEGATIVE)] == ["--bounds", "0:"]
