"""Means by group, through the public interface."""

import json
import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tametail as tt
from tametail.ask import Ask, Data
from tametail.cli import main
from tametail.errors import InternalError, ParameterError
from tametail.keys import Key
from tametail.means import Estimate, Interval
from tametail.methods.groups.shrink import shrunk
from tametail.privacy.adjacency import Adjacency

from .opened import open_groups

KEYS = [f"S{i:02d}" for i in range(12)]


def frame(size=6000, seed=1):
    rng = np.random.default_rng(seed)
    states = rng.choice(12, size, p=np.arange(1, 13) / 78)
    return pd.DataFrame(
        {
            "paid": (1 + states) * np.exp(rng.standard_normal(size)),
            "open": rng.standard_normal(size),
            "state": [KEYS[state] for state in states],
            "year": rng.choice([2013, 2014], size),
        }
    )


@pytest.fixture(scope="module")
def data():
    return frame()


@pytest.mark.parametrize(
    "budget",
    [{"epsilon": 2}, {"rho": 1}, {"epsilon": 2, "delta": 1e-6}, {"epsilon": 2, "n": 6000}],
    ids=str,
)
@pytest.mark.parametrize("borrow", ["shape", "mean", None])
def test_a_release_is_replayed_and_goes_through_json(data, budget, borrow):
    keys = [*KEYS[6:], "nobody"]
    release = tt.mean(data, "paid", by="state", keys=keys, other="rest", pooling=borrow, **budget)
    assert [row.group for row in release] == [*keys, "rest"]
    again = tt.Release.from_json(release.to_json())
    assert again == release
    assert tt.replay(again.plan, again.answers) == release
    plan = tt.planning.Plan.from_json(release.plan.to_json())
    assert plan == release.plan
    assert tt.mean(data, "paid", plan=plan).guarantee == release.guarantee
    large = release["S11"]
    assert large.value == pytest.approx(data.paid[data.state == "S11"].mean(), rel=0.3)
    assert large.low <= large.value <= large.high


def test_keys_are_chosen_privately(data):
    lone = pd.concat([data, pd.DataFrame({"paid": [1.0], "open": [1.0], "state": ["alone"]})])
    release = tt.mean(lone, "paid", by="state", epsilon=2, delta=1e-6, other="rest")
    labels = [row.group for row in release]
    assert labels == [*sorted(labels[:-1]), "rest"]
    assert "S11" in labels
    assert "alone" not in labels
    assert release.guarantee.delta == 1e-6
    again = tt.Release.from_json(release.to_json())
    assert tt.replay(again.plan, again.answers) == release
    none = tt.mean(data[:3], "paid", by="state", epsilon=1, delta=1e-6)
    assert len(none) == 0
    assert "no group was large enough" in str(none)
    assert none.to_frame().shape[0] == 0


def test_several_columns_and_keys_of_several_columns(data):
    keys = [("S11", 2013), ("S10", 2014)]
    release = tt.mean(data, ["paid", "open"], by=["state", "year"], keys=keys, epsilon=4)
    assert release[("S11", 2013), "open"].column == "open"
    assert release["S10", 2014, "paid"].group == ("S10", 2014)
    with pytest.raises(KeyError, match="several columns"):
        release[("S11", 2013)]
    table = release.to_frame()
    assert list(table.columns[:3]) == ["state", "year", "column"]
    assert list(table["year"]) == [2013, 2013, 2014, 2014]
    again = tt.Release.from_json(release.to_json())
    assert again[("S11", 2013), "open"] == release[("S11", 2013), "open"]
    assert tt.replay(again.plan, again.answers) == release


def test_types_of_keys_survive_json():
    rows = pd.DataFrame({"x": [1.0] * 400, "key": [1, "1"] * 200}, dtype=object)
    rows["x"] = rows["x"].astype(float)
    release = tt.mean(rows, "x", by="key", keys=[1, "1", True], epsilon=1)
    again = tt.Release.from_json(release.to_json())
    assert [type(row.group) for row in again] == [int, str, bool]
    assert again[1].count > 100
    assert again[True].count is None  # what noise can hide is no number of records
    assert not again[True].usable


def test_the_frame_is_the_callers(data):
    release = tt.mean(
        pl.from_pandas(data), "paid", by="state", keys=KEYS, epsilon=2, pooling="mean"
    )
    table = release.to_frame()
    assert isinstance(table, pl.DataFrame)
    assert table.columns == [
        "state", "mean", "low", "high", "count", "total", "interval_target", "usable", "notes",
        "shrunk", "shrunk_low", "shrunk_high",
    ]  # fmt: skip
    assert table["mean"].is_null().to_list() == [not row.usable for row in release]
    table = table.filter(pl.col("usable"))
    totals = (table["mean"] * table["count"]).to_list()
    assert table["total"].to_list() == pytest.approx(totals)


def test_groups_whose_ends_are_huge_are_not_drawn_together():
    """Noisy answers may be anything: the square of such a width is infinite, and no error."""
    ends = [Interval(-1e300, 1e300, "mean", "assumption", False, {}, 0.95)] * 3
    found = shrunk([Estimate(float(place), (one,)) for place, one in enumerate(ends)])
    assert [one.shrunk.value for one in found] == [0.0, 1.0, 2.0]


def test_a_difference_of_intervals_that_hold_at_once_joins_them(data):
    together = tt.mean(data, "paid", by="state", keys=KEYS, epsilon=2, simultaneous=True)
    found = together.difference("S11", "S00")
    assert found.confidence == 0.95
    one, other = (together[key].intervals[0] for key in ("S11", "S00"))  # the mean's
    assert one.target == other.target
    assert found.low == one.low - other.high


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"by": "state", "keys": KEYS, "epsilon": 1, "neighbors": "replace-one"},
            "can change two groups",
        ),
        ({"by": "state", "epsilon": 1}, "needs a delta"),
        ({"by": "state", "rho": 1}, "approx"),
        ({"by": "state", "keys": ["a", "a"], "epsilon": 1}, "twice"),
        ({"by": "state", "keys": [], "epsilon": 1}, "is empty"),
        ({"by": "state", "keys": "CA", "epsilon": 1}, "Invalid keys="),
        ({"by": "state", "keys": [1.5], "epsilon": 1}, "compared exactly"),
        ({"by": "state", "keys": [("a", 1)], "epsilon": 1}, "A key has 2 entries"),
        ({"by": "state", "keys": ["a"], "other": "a", "epsilon": 1}, "one of the keys"),
        ({"by": ["state", "state"], "keys": ["a"], "epsilon": 1}, "Invalid by="),
        ({"keys": ["a"], "epsilon": 1}, "requires by="),
        ({"pooling": "mean", "epsilon": 1}, "requires by="),
        ({"by": "state", "keys": ["a"], "pooling": "all", "epsilon": 1}, "pooling"),
        (
            {"by": "state", "keys": ["a"], "epsilon": 1, "same_scale": True},
            "not available with by=",
        ),
    ],
)
def test_what_cannot_be_asked_says_what_to_write(data, arguments, words):
    with pytest.raises(ParameterError, match=words):
        tt.mean(data, "paid", **arguments)


def test_numbers_without_a_column_have_no_groups():
    with pytest.raises(ParameterError, match="requires a frame"):
        tt.mean([1.0, 2.0], by="state", keys=["a"], epsilon=1)


def test_sets_of_keys_that_overlap_are_refused(data):
    ask = Ask(
        Data(open_groups(data, "paid", ["state"]).backend), tt.pure(1.0), Adjacency.ADD_REMOVE
    )
    groups = ask.relation.coded([Key(("S00",)), Key(("S01",))], other=False)
    assert len(ask.disjoint([groups.of([0]), groups.of([1])], tt.pure(1.0))) == 2
    with pytest.raises(InternalError, match="overlap"):
        ask.disjoint([groups, groups.of([1])], tt.pure(1.0))


def test_groups_are_for_add_remove(data):
    ask = Ask(
        Data(open_groups(data, "paid", ["state"]).backend), tt.pure(1.0), Adjacency.REPLACE_ONE
    )
    groups = ask.relation.coded([Key(("S00",)), Key(("S01",))], other=True)
    with pytest.raises(InternalError, match="overlap"):
        ask.disjoint([groups.of([0]), groups.of([1])], tt.pure(1.0))
    with pytest.raises(InternalError, match="may change its key"):
        ask.on(groups)


def test_a_group_without_records_is_asked_like_any_other(data):
    """What is asked of a group does not depend on whether anybody is in it."""
    full = tt.mean(data, "paid", by="state", keys=["S00", "S01"], epsilon=1e-3, n=100)
    empty = tt.mean(data, "paid", by="state", keys=["S00", "none"], epsilon=1e-3, n=100)
    assert len(full.answers) == len(empty.answers)
    # Which octaves have nodes follows from the center, a noisy answer; nothing else may differ.
    sizes = [[np.size(answer) for answer in release.answers] for release in (full, empty)]
    assert max(sizes[0]) > 100
    assert [[size for size in found if size < 100] for found in sizes] == [[2, 3, 2, 1, 2]] * 2
    assert len(empty) == 2


def clipped_widths(release):
    intervals = [row.intervals[-1] for row in release]
    return [one.high - one.low for one in intervals]


def test_large_groups_are_as_narrow_as_without_pooling():
    """A pool would cost them a third of their budget, and they have no use for it."""
    rng = np.random.default_rng(9)
    rows = pd.DataFrame({"x": rng.standard_t(4, 9_000), "key": np.repeat([*"abc"], 3_000)})
    said = {"by": "key", "keys": [*"abc"], "epsilon": 0.5, "target": "data"}
    pooled, apart = (
        [clipped_widths(tt.mean(rows, "x", pooling=how, **said)) for _ in range(6)]
        for how in ("shape", None)
    )
    assert np.median(pooled) < 1.12 * np.median(apart)
    release = tt.mean(rows, "x", **said)
    assert tt.replay(release.plan, release.answers) == release
    said["target"] = "population"
    plan = tt.plan(n=9_000, **said)
    alone = tt.plan(n=9_000, pooling=None, **said)
    assert plan.relative_rmse == pytest.approx(alone.relative_rmse, rel=0.05)


@pytest.mark.parametrize("pooling", ["shape", "mean", None])
def test_a_key_that_no_record_has_may_be_empty(data, pooling):
    said = {"by": "state", "epsilon": 1, "pooling": pooling}
    for keys in (["nobody"], ["S11", "nobody"]):
        release = tt.mean(data, "paid", keys=keys, **said)
        row = release["nobody"]
        assert not row.usable
        assert "may be empty" in next(note.text for note in row.notes)
        assert row.count is None
        assert "nobody no reliable estimate" in release.sentence() or len(keys) == 1
        frame = release.to_frame()
        assert frame["mean"].isna().tolist()[-1:] == [True]
        assert frame["usable"].tolist()[-1:] == [False]


def test_a_plan_says_what_it_is_for():
    plan = tt.plan(n=20_000, epsilon=1, by="state", keys=KEYS)
    assert "sizes" in str(plan)
    assert 0 < plan.relative_rmse < 1
    assert plan.advice == ()
    assert tt.plan(n=100, epsilon=1, by="state", keys=KEYS).advice
    private = tt.plan(n=20_000, epsilon=1, delta=1e-6, by="state")
    assert private.steps[0].name == "keys"
    assert json.loads(private.to_json())["request"]["groups"]["by"] == ["state"]


@pytest.mark.parametrize(("simultaneous", "together"), [(None, 2), (True, 2 * 12), (False, 1)])
@pytest.mark.parametrize("borrow", ["shape", None])
def test_what_intervals_hold_together(data, simultaneous, together, borrow):
    """None: the columns of a group; True: everything; False: each alone."""
    release = tt.mean(
        data, ["paid", "open"], by="state", keys=KEYS, epsilon=2, simultaneous=simultaneous,
        pooling=borrow,
    )  # fmt: skip
    for row in release:
        for interval in row.intervals:
            if math.isfinite(interval.low):
                assert interval.confidence == pytest.approx(1 - 0.05 / together)


def test_groups_may_be_said_beside_the_plan(data):
    plan = tt.plan(n=len(data), epsilon=2, by="anything", keys=["one"], other="rest")
    told = {"by": "state", "keys": ["S10", "S11"]}
    release = tt.mean(data, "paid", plan=plan, **told)
    assert [row.group for row in release] == ["S10", "S11", "rest"]
    assert release.plan.steps == plan.steps
    assert tt.replay(release.plan, release.answers) == release
    renamed = tt.mean(data, "paid", plan=plan, other="others", where="paid > 0", **told)
    assert renamed.means[-1].group == "others"
    with pytest.raises(ParameterError, match="require a plan with groups"):
        tt.mean(data, "paid", plan=tt.plan(n=9, epsilon=1), **told)
    chosen = tt.plan(n=len(data), epsilon=2, delta=1e-6, by="state")
    with pytest.raises(ParameterError, match="selects the groups privately"):
        tt.mean(data, "paid", plan=chosen, **told)
    with pytest.raises(ParameterError, match="pooling cannot be combined with plan"):
        tt.mean(data, "paid", plan=plan, pooling="mean", **told)


def test_the_table_prints_and_draws(data):
    pytest.importorskip("matplotlib").use("Agg")
    release = tt.mean(data, "paid", by="state", keys=KEYS, epsilon=2)
    assert "S11" in str(release)
    assert "per group" in str(release)
    axes = release.plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == KEYS


def test_the_command_line_prints_a_table_csv_and_json(data, tmp_path, capsys):
    path, names = tmp_path / "rows.csv", tmp_path / "keys.txt"
    data.to_csv(path, index=False)
    names.write_text("S11\tnone\nS11\t2013\n", encoding="utf-8")
    request = ["mean", str(path), "--column", "paid", "--epsilon", "2"]
    groups = ["--by", "state", "--keys", "S10,S11", "--other", "rest"]
    assert main([*request, *groups, "--csv"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[0] == (
        "state,mean,low,high,count,total,interval_target,usable,interval,confidence,privacy,notes"
    )
    assert [row.split(",")[0] for row in rows[1:]] == ["S10", "S11", "rest"]
    assert main([*request, *groups, "--json"]) == 0
    assert [row["group"] for row in json.loads(capsys.readouterr().out)["rows"]] == [
        "S10",
        "S11",
        "rest",
    ]
    pairs = ["--by", "state", "--by", "year", "--keys-file", str(names)]
    assert main([*request, *pairs]) == 0
    assert "S11, 2013" in capsys.readouterr().out
    assert main([*request, *groups, "--keys-file", str(names)]) == 2
    private = ["plan", "--epsilon", "1", "--delta", "1e-6", "-n", "20000", "--by", "state"]
    assert main(private) == 0
    assert "keys" in capsys.readouterr().out


def test_groups_beside_a_plan_on_the_command_line(data, tmp_path, capsys):
    path, plan = tmp_path / "rows.csv", tmp_path / "plan.json"
    data.to_csv(path, index=False)
    plan.write_text(tt.plan(n=6000, epsilon=2, by="any", keys=["one"]).to_json(), encoding="utf-8")
    request = ["mean", str(path), "--column", "paid", "--plan", str(plan)]
    assert main([*request, "--by", "state", "--keys", "S10,S11", "--other", "rest", "--csv"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split(",")[0] for row in rows] == ["state", "S10", "S11", "rest"]
    assert main([*request, "--by", "state", "--pooling", "mean"]) == 2
    # How many cells a key has, the plan knows.
    pairs = tt.plan(n=6000, epsilon=2, by=["state", "year"], keys=[("S10", "2013")])
    plan.write_text(pairs.to_json(), encoding="utf-8")
    names = tmp_path / "keys.txt"
    names.write_text("S11\tnone\nS11\t2013\n", encoding="utf-8")
    assert main([*request, "--keys-file", str(names)]) == 0
    assert "S11, 2013" in capsys.readouterr().out


def test_a_group_without_records_has_no_ends_and_a_warning():
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"x": rng.lognormal(size=4000), "key": rng.choice(["a", "b"], 4000)})
    release = tt.mean(frame, "x", epsilon=1, by="key", keys=["a", "b", "nobody"])
    row = release["nobody"]
    assert (row.low, row.high) == (-math.inf, math.inf)
    assert [note.code for note in row.notes] == ["no-signal"]
    assert release.has_warnings
    assert release["a"].notes == ()


def test_where_computed_columns_and_lazy_frames(data):
    wanted = (2 * data.paid)[data.year == 2013].groupby(data.state).mean()
    for rows in (data, pl.from_pandas(data).lazy(), pl.from_pandas(data)):
        release = tt.mean(
            rows, "paid * 2", by="state", keys=["S11", "S10"], where="year == 2013", epsilon=8
        )
        assert release["S11"].value == pytest.approx(wanted["S11"], rel=0.3)
        assert release.plan.request.where == "year == 2013"
        assert release["S11"].count < 700
        assert tt.replay(release.plan, release.answers) == release
        assert tt.Release.from_json(release.to_json()) == release
    private = tt.mean(data, "paid", by="state", where="year == 2015", epsilon=1, delta=1e-6)
    assert len(private) == 0  # nobody has a record that counts


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_by_group_on_the_command_line(data, kind, tmp_path, capsys):
    path = tmp_path / f"rows.{kind}"
    data.to_csv(path, index=False) if kind == "csv" else data.to_parquet(path)
    request = ["mean", str(path), "--column", "paid", "--column", "paid * 2", "--epsilon", "8"]
    request += ["--where", "year == 2013", "--by", "state", "--by", "year"]
    names = tmp_path / "keys.txt"
    names.write_text("S11\t2013\nS10\t2013\n", encoding="utf-8")
    request += ["--keys-file", str(names)]
    assert main([*request, "--csv"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[0] == (
        "state,year,column,mean,low,high,count,total,interval_target,usable,interval,where,confidence,"
        "privacy,notes"
    )
    assert [row.split(",")[:3] for row in rows[1:3]] == [
        ["S11", "2013", "paid"],
        ["S11", "2013", "paid * 2"],
    ]
    assert main(request) == 0
    assert "S10, 2013: paid * 2" in capsys.readouterr().out


@pytest.mark.parametrize("borrow", ["shape", None])
@pytest.mark.parametrize("tail", [tt.Moment(2, 30.0), tt.Bounded(0.0, 2000.0)], ids=str)
def test_what_is_told_of_records_holds_in_every_group(data, tail, borrow):
    """The interval is then for the mean itself, of small groups and of large ones."""
    keys = ["S11", "S00", "nobody"]
    release = tt.mean(data, "paid", by="state", keys=keys, tail=tail, epsilon=4, pooling=borrow)
    assert release.interval_target == "mean"
    for key in keys[:2]:
        row = release[key]
        assert row.low <= data.paid[data.state == key].mean() <= row.high
    assert release["S11"].high - release["S11"].low < 200
    assert release["nobody"].low == (0.0 if isinstance(tail, tt.Bounded) else -math.inf)
    assert tt.replay(release.plan, release.answers) == release
    within = tt.mean(data, "paid", by="state", keys=keys, within=(3.0, 9.0), epsilon=4)
    assert all(3.0 <= row.value <= 9.0 for row in within)


def with_odd_keys(cells, size=6000):
    """A frame with many records of each of these keys, which are data."""
    keys = pd.Series([cells[row % len(cells)] for row in range(size)], dtype=object)
    return pd.DataFrame({"x": np.random.default_rng(2).lognormal(size=size), "key": keys})


@pytest.mark.parametrize("key", ["\ud800", "\x1b[2J", "a\nb", "</script><b>", "\x00", ""])
def test_a_private_key_of_any_signs_is_shown_without_harm(key, tmp_path):
    """Whoever writes into the data must not make a release fail, nor command a terminal."""
    release = tt.mean(with_odd_keys([key, "a"]), "x", by="key", epsilon=1, delta=1e-6)
    assert len(release) == 2
    said = str(release) + release._repr_html_()
    assert all(sign.isprintable() or sign == "\n" for sign in said)
    assert "<b>" not in release._repr_html_()
    assert len(said.encode()) > 100
    release.report(tmp_path / "report.html")
    assert len(release.to_frame()) == 2
    assert tt.Release.from_json(release.to_json()) == release
    assert tt.replay(release.plan, release.answers) == release


@pytest.mark.parametrize("more", [{}, {"person": "who"}])
def test_a_private_key_of_the_name_of_the_rest_is_part_of_it(more):
    """Else two rows would have one name, and neither could be asked for."""
    data = with_odd_keys(["rest", "a"]).assign(who=range(6000))
    release = tt.mean(data, "x", by="key", epsilon=3, delta=1e-6, other="rest", **more)
    assert [row.group for row in release] == ["a", "rest"]
    assert release["rest"].count > 1000
    assert tt.replay(release.plan, release.answers) == release


@pytest.mark.parametrize("target", ["population", "data"])
@pytest.mark.parametrize("budget", [{"epsilon": 3.0}, {"rho": 1.0}])
def test_groups_of_huge_numbers_have_means(target, budget):
    """Squares of them are no doubles: that ended a release after it was paid for."""
    rng = np.random.default_rng(1)
    frame = {"x": rng.lognormal(0, 1, 3_000) * 1e200, "k": np.arange(3_000) % 30}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = tt.mean(
            pd.DataFrame(frame), "x", by="k", keys=list(range(30)), target=target, **budget
        )
    assert all(row.low <= row.value <= row.high for row in table)
    assert tt.replay(table.plan, table.answers) == table


@pytest.mark.parametrize("sizes", [{"a": 300, "b": 40_000}, {"a": 300, "b": 300}], ids=str)
def test_clamped_groups_do_not_name_the_method_of_all(sizes):
    frame = pd.DataFrame({"g": np.repeat(list(sizes), list(sizes.values()))})
    frame["x"] = np.random.default_rng(4).exponential(size=len(frame))
    told = {"tail": tt.Bounded(0, 1e4), "pooling": None, "keys": list(sizes)}
    release = tt.mean(frame, "x", by="g", epsilon=0.1, **told)
    assert release.method == release.plan.method == "means by group"


def test_small_groups_of_records_without_a_mean_have_no_upper_limit():
    """As a column of such records: the noisy counts of all of them do not limit a group's mean."""
    rng = np.random.default_rng(3)
    for index, unlimited in ((0.7, True), (3.0, False)):
        frame = pd.DataFrame({"x": rng.pareto(index, 8_000) + 1, "g": rng.integers(0, 20, 8_000)})
        release = tt.mean(frame, "x", epsilon=1, by="g", keys=list(range(20)))
        for row in release:
            assert math.isinf(row.high) == unlimited
            assert math.isinf(row.error_components["privacy"]) == unlimited
            assert ("no-upper-limit" in [note.code for note in row.notes]) == unlimited
            assert math.isfinite(row.intervals[-1].high)
