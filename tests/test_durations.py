"""Durations are numbers of seconds, and the release says so; what has no mean gets a clear word."""

import datetime as dt
import json
import math
import re

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import tametail as tt
from tametail.cli import main
from tametail.data.cells import array_to_floats, arrow_to_floats, duration_to_float
from tametail.data.sources.arrays import are_durations, seconds_of
from tametail.errors import ColumnError
from tametail.pictures.intervals import interval_picture
from tametail.show.rows import value_of
from tametail.show.sentences import sentence

MILLIS = np.random.default_rng(2).integers(100, 3000, 6000)
MEAN = MILLIS.mean() / 1000


def sources(folder):
    array = MILLIS.astype("m8[ms]")
    table = pa.table({"wait": pa.array(array), "who": range(len(array)), "g": ["a", "b"] * 3000})
    pq.write_table(table, folder / "x.parquet")
    pyarrow.feather.write_feather(table, folder / "x.feather")
    return {
        "array": (array, None),
        "arrow array": (pa.array(array), None),
        "series": (pd.Series(array), None),
        "timedeltas": ([dt.timedelta(milliseconds=int(one)) for one in MILLIS], None),
        "scalars": (tuple(array), None),
        "of pandas": (list(pd.Series(array)), None),
        "pandas": (table.to_pandas(), "wait"),
        "polars": (pl.from_arrow(table), "wait"),
        "lazy": (pl.from_arrow(table).lazy(), "wait"),
        "arrow": (table, "wait"),
        "parquet": (folder / "x.parquet", "wait"),
        "feather": (folder / "x.feather", "wait"),
        "dataset": (pyarrow.dataset.dataset(folder / "x.parquet"), "wait"),
    }


KINDS = (
    "array", "arrow array", "series", "timedeltas", "scalars", "of pandas", "pandas", "polars",
    "lazy", "arrow", "parquet", "feather", "dataset",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_durations_are_seconds(tmp_path, kind):
    data, column = sources(tmp_path)[kind]
    release = tt.mean(data, column, epsilon=5)
    assert float(release) == pytest.approx(MEAN, rel=0.02)
    assert release[0].units == "s"
    assert f"mean       {value_of(release[0])}" in str(release)
    assert value_of(release[0]).endswith(" s")
    assert json.loads(release.to_json())["rows"][0]["units"] == "s"
    assert tt.Release.from_json(release.to_json()) == release
    assert tt.replay(release.plan, release.answers) == release
    if column is not None:
        for more in ({"person": "who"}, {"where": "who >= 0"}, {"by": "g", "keys": ["a", "b"]}):
            found = tt.mean(data, column, epsilon=5, **more)
            assert found.means[0].value == pytest.approx(MEAN, rel=0.05)
            assert found.means[0].units == "s"
        computed = tt.mean(data, "wait * 1000", epsilon=5)
        assert float(computed) == pytest.approx(1000 * MEAN, rel=0.02)
        assert computed[0].units is None


def test_words_and_pictures_show_the_unit(tmp_path, capsys):
    data, _ = sources(tmp_path)["pandas"]
    release = tt.mean(data, ["wait", "who"], rho=1)
    assert [row.units for row in release] == ["s", None]
    assert "wait [s]" in str(release)
    assert "wait [s]" in release._repr_html_()
    axes = release.plot()
    drawn = [text.get_text() for text in axes.get_yticklabels() + axes.get_xticklabels()]
    assert "wait [s]" in drawn
    path = str(tmp_path / "x.parquet")
    assert main(["mean", path, "-c", "wait", "-e", "5"]) == 0
    mean, interval, *_ = capsys.readouterr().out.splitlines()
    assert mean.endswith(" s")
    assert " s   approximate" in interval
    assert release.cells()["units"] == ["s", None]
    assert "units" not in tt.mean(data, "who", epsilon=1).cells()


def test_sentence_report_and_groups_show_the_unit(tmp_path):
    data, _ = sources(tmp_path)["pandas"]
    release = tt.mean(data, "wait", epsilon=5)
    assert re.match(
        r"The mean of wait is 1\.\d+ s \(95% confidence interval 1\.\d+ to 1\.\d+ s,",
        sentence(release),
    )
    release.report(tmp_path / "report.html")
    report = (tmp_path / "report.html").read_text()
    found, _, rest = sentence(release).partition(". ")  # two paragraphs there
    assert f"{found}.</p><p>{rest}</p>" in report
    assert re.search(r"Values below \S+ s or above \S+ s \(", sentence(release))
    assert re.search(r"mean of wait: 1\.\d+ s<", report)
    assert value_of(release.means[0]) in repr(release)
    grouped = tt.mean(data, "wait", epsilon=5, by="g", keys=["a", "b"])
    assert str(grouped).splitlines()[0].split()[1:3] == ["mean", "[s]"]
    assert " s" not in str(grouped).splitlines()[1]
    assert re.search(r"a 1\.\d+ s \(", sentence(grouped))
    assert ">mean [s]<" in interval_picture(grouped)
    assert grouped.plot().get_xlabel() == "mean [s]"
    assert [row["units"] for row in grouped.to_dict()["rows"]] == ["s", "s"]


# --- lists


def test_the_first_item_of_a_list_says_whether_it_holds_durations():
    second = dt.timedelta(seconds=1)
    numbers = seconds_of([second, 5, None, np.timedelta64(3, "m"), np.timedelta64(3, "Y"),
                          np.timedelta64("NaT", "s"), pd.NaT, "1s"])  # fmt: skip
    assert numbers[[0, 3]].tolist() == [1.0, 180.0]
    assert np.isnan(numbers[[1, 2, 4, 5, 6, 7]]).all()
    assert [are_durations(one) for one in ([second], [5, second], [], second)] == [
        True, False, False, False,
    ]  # fmt: skip
    release = tt.mean([5.0, second] * 1000, epsilon=5)
    assert release[0].units is None
    assert float(release) == pytest.approx(5, abs=0.1)


def test_no_code_of_a_cell_runs():
    class Wilful(dt.timedelta):
        def total_seconds(self):
            raise SystemExit

        def __getattribute__(self, name):
            raise SystemExit

    assert duration_to_float(Wilful(days=2)) == 172_800.0


def test_seconds_are_the_nearest_doubles_of_what_a_cell_says():
    longest = dt.timedelta.max
    assert duration_to_float(longest) == longest.total_seconds()
    ticks = [2**53 + 1, -(2**62) - 12345, 1]
    for unit, below in (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)):
        for numbers in (
            array_to_floats(np.array(ticks, dtype=f"m8[{unit}]")),
            arrow_to_floats(pa.array(ticks, pa.duration(unit))),
        ):
            for tick, number in zip(ticks, numbers, strict=True):
                # Two roundings: of the ticks, which may be beyond 2^53, and of the quotient.
                assert abs(number - tick / below) <= math.ulp(tick / below)


def test_a_request_keeps_the_unit():
    release = tt.mean(MILLIS.astype("m8[ms]"), epsilon=1)
    plain = tt.mean(MILLIS, epsilon=1)
    assert release.plan.request.hash() != plain.plan.request.hash()
    assert "units" not in json.dumps(plain.plan.request.to_dict())


@pytest.mark.parametrize("unit", ["W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "10ms"])
def test_every_unit_of_numpy(unit):
    array = np.array([3, -4, "NaT"], dtype=f"m8[{unit}]")
    seconds = {"W": 604800, "D": 86400, "h": 3600, "m": 60, "s": 1, "ms": 1e-3, "us": 1e-6,
               "ns": 1e-9, "ps": 1e-12, "10ms": 1e-2}[unit]  # fmt: skip
    assert array_to_floats(array)[:2] == pytest.approx([3 * seconds, -4 * seconds], rel=1e-15)
    assert np.isnan(array_to_floats(array)[2])


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_every_unit_of_arrow(unit):
    found = arrow_to_floats(pa.array([5, None, -(2**62)], pa.duration(unit)))
    scale = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[unit]
    assert found[[0, 2]].tolist() == [5 / scale, -(2.0**62) / scale]
    assert np.isnan(found[1])


@pytest.mark.parametrize(
    "data",
    [
        np.array(["2020-01-01"], dtype="M8[s]"),
        pd.DataFrame({"x": pd.to_datetime(["2020-01-01"])})["x"],
        pl.Series([1]).cast(pl.Datetime),
        pa.array([1], pa.timestamp("s")),
        pa.array([1], pa.date32()),
    ],
    ids=str,
)
def test_a_point_in_time_has_no_mean(data):
    with pytest.raises(ColumnError, match=r"means of dates .* end - start"):
        tt.mean(data, epsilon=1)


def test_years_and_months_are_no_amount_of_seconds():
    for unit in ("Y", "M"):
        with pytest.raises(ColumnError, match="not numeric"):
            tt.mean(np.array([1], dtype=f"m8[{unit}]"), epsilon=1)


# --- names, datasets, handles


def test_names_of_several_levels():
    columns = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])
    frame = pd.DataFrame(np.random.default_rng(1).normal(5, 1, (4000, 2)), columns=columns)
    for column in ([("a", "x")], "('a', 'x')"):
        assert float(tt.mean(frame, column, epsilon=5)) == pytest.approx(5, abs=0.1)
    assert len(tt.mean(frame, [("a", "x"), ("a", "y")], rho=2)) == 2
    with pytest.raises(ColumnError, match=r"column=\[\('a', 'x'\)\]"):
        tt.mean(frame, "a", epsilon=1)


def test_datasets_and_handles(tmp_path):
    for name in "ab":
        pq.write_table(pa.table({"x": np.arange(3000.0), "k": [1, 2] * 1500}), tmp_path / name)
    data = pyarrow.dataset.dataset(tmp_path)
    assert float(tt.mean(data, "x", epsilon=5)) == pytest.approx(1500, rel=0.05)
    assert float(tt.mean(data, "x", epsilon=5, where="k == 1")) == pytest.approx(1500, rel=0.05)
    with pytest.raises(ColumnError, match="No column"):
        tt.mean(data, "y", epsilon=1)
    with open(tmp_path / "a", "rb") as handle:
        release = tt.mean(handle, "x", epsilon=5, parse=tt.Parse(format="parquet"))
    assert float(release) == pytest.approx(1500, rel=0.05)


def test_durations_of_a_database_are_said_to_be_none():
    relation = duckdb.sql("SELECT INTERVAL 3 SECOND AS x FROM range(10)")
    with pytest.raises(ColumnError):
        tt.mean(relation, "x", epsilon=1)
