"""Numbers, intervals and warnings as people read them: properties that every release has."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tametail as tt
from tametail.cli.shell import main
from tametail.means import MEAN, Interval, Mean
from tametail.notes import MISPLACED, Note, without_advice
from tametail.report.export import csv_text
from tametail.show import numbers
from tametail.show.intervals import limits_of, quote
from tametail.show.rows import value_of
from tametail.show.sentences import lead, method_text, title_of
from tametail.show.tables import table_of
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


@pytest.mark.parametrize(
    ("low", "value", "high", "words"),
    [
        (1910.09, 7400.0, 2_525_408.0, "1,900 to 2,526,000"),
        (27.3, 1_472_000.0, 217_928_000.0, "27 to 218,000,000"),
        (-2_525_408.0, -7400.0, -1910.09, "-2,526,000 to -1,900"),
        (1910.09, 7400.0, 20_000.0, "1,900 to 20,000"),
        (-19.0, 7400.0, 2_525_408.0, "-1,000 to 2,526,000"),
    ],
)
def test_a_limit_far_below_the_other_keeps_its_digits(low, value, high, words):
    row = Mean("x", None, value, (Interval(low, high, *MEAN, True, {}),))
    assert limits_of(row.intervals[0], row) == words


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


def with_an_empty_group(**request):
    state = np.where(np.arange(len(RECORDS)) % 2, "CA", "NY")
    data = pd.DataFrame({"paid": RECORDS, "state": state})
    return tt.mean(data, "paid", by="state", keys=["CA", "NY", "ZZ"], epsilon=1, **request)


def test_a_value_that_says_nothing_is_in_no_table_and_marked_in_json():
    """What noise can hide is neither a mean nor a count; an interval of all rests on nothing."""
    release = with_an_empty_group()
    empty, frame = release["ZZ"], release.to_frame()
    assert not empty.usable
    assert empty.count is empty.total is None
    assert frame[["mean", "count", "total"]].isna().all(axis=1).tolist() == [False, False, True]
    assert frame["usable"].tolist() == [True, True, False]
    own = empty.intervals[0]
    assert (own.low, own.high) == (-math.inf, math.inf)
    assert (own.basis, own.proved, own.confidence) == ("none", False, 0.95)
    assert tt.Release.from_json(release.to_json()) == release
    assert ",False,,0.95," in csv_text(release).splitlines()[-1]


def test_programs_are_told_which_values_are_usable(tmp_path, capsys):
    path = tmp_path / "x.csv"
    path.write_text("x\n" + "7.0\n" * 50)
    assert main(["mean", str(path), "--epsilon", "0.5", "--quiet"]) == 0
    assert capsys.readouterr().out == "nan\n"
    assert main(["mean", str(path), "--epsilon", "0.5", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert next(iter(printed.items())) == ("usable", False)
    release = with_an_empty_group()
    for record in (release.to_dict(), json.loads(release.to_json())):
        assert [row["usable"] for row in record["rows"]] == record["usable"] == [True, True, False]
    assert release.usable == (True, True, False)
    assert tt.mean(RECORDS, epsilon=1).usable is True


def test_no_caption_calls_an_unbounded_interval_guaranteed(tmp_path):
    release = tt.describe(pd.DataFrame({"paid": RECORDS}), "paid", epsilon=1)
    assert "per statistic, guaranteed; others are marked." in table_of(release).caption
    unbounded = Interval(-math.inf, math.inf, "mean", "none", True, {"privacy": 1.0}, 0.95)
    rows = tuple(
        replace(row, intervals=(unbounded,)) if row.statistic in ("mean", "sum") else row
        for row in release
    )
    table = table_of(replace(release, means=rows))
    assert {row.cells[2] for row in table.rows} >= {"unbounded"}
    assert table.caption.endswith("per statistic, guaranteed where limits are given.")


def test_a_sentence_to_publish_has_no_advice_to_the_analyst():
    release = with_an_empty_group()
    (note,) = (note for note in release["ZZ"].notes if note.kind == "warning")
    assert "Use " in note.text
    words = release.sentence()
    assert f"Warning: ZZ: {note.text.partition(' Use ')[0]}" in words
    assert " Use " not in words
    for text, kept in [
        (str(MISPLACED), MISPLACED.text.partition(" A narrow")[0]),
        ("Do not use the interval. Privacy is not affected.", None),
        ("The result may be noise. It helps to state within=. Its error is unknown.",
         "The result may be noise. Its error is unknown."),
    ]:  # fmt: skip
        assert without_advice(text) == (kept or text)


def test_a_number_that_may_be_noise_is_not_shown_as_one():
    """The first query is cheap: a number of persons below its own noise is no number."""
    rng = np.random.default_rng(7)
    who = np.concatenate([np.arange(3000), 3000 + np.arange(20)])
    data = pd.DataFrame(
        {"who": who, "in": np.where(who < 3000, "CA", "NY"), "x": rng.gamma(2, 9, 3020)}
    )
    by = {"by": "in", "keys": ["CA", "NY"], "groups_per_person": 1}
    release = tt.sum(data, "x", epsilon=0.5, person="who", **by)
    table, frame = table_of(release), release.to_frame()
    assert round(release.count_noise) == 300
    assert table.head[-1] == "people (±300)"
    assert table.rows[1].cells[-1] == numbers.MISSING
    assert math.isnan(frame["persons"][1])
    assert 2000 < frame["persons"][0] < 4000
    assert "count" not in frame.columns  # they are persons, and called so
    unknown = tt.mean(data, "x", epsilon=0.01, person="who")
    if unknown.persons < unknown.count_noise:
        assert "data       fewer than about " in str(unknown)
    counts = tt.quantile(data, "x", epsilon=0.01, by="in", keys=["NY", "ZZ"]).to_frame()["count"]
    assert (counts >= 0).all()


def test_a_difference_says_no_more_than_its_rows_and_its_interval():
    release = with_an_empty_group()
    withheld = release.difference("CA", "ZZ")
    assert math.isnan(float(withheld))
    assert str(withheld).endswith("cannot be compared: there is no reliable estimate for ZZ.")
    alike = release.difference("CA", "NY")
    assert not alike.excludes_equality
    assert "which may be noise or chance" in str(alike)
    assert "which may be noise or chance" in str(release.ratio("CA", "NY"))


def test_a_sentence_has_the_interval_of_every_row():
    release = with_an_empty_group()
    words = release.sentence()
    for row in list(release)[:2]:
        assert f"{row.group} {value_of(row)} ({quote(release, row).limits}" in words
    assert "ZZ no reliable estimate" in words


def test_marked_rows_are_said_not_to_rest_on_what_the_caption_says():
    shown = table_of(tt.describe(RECORDS, epsilon=1))
    assert "guaranteed; others are marked." in shown.caption
    assert shown.footnotes == [("(e)", "approximate (tail extrapolated)")]
    mean = next(row for row in shown.rows if row.cells[0] == "mean")
    assert mean.cells[2].endswith(" (e)")


def test_a_long_name_of_a_statistic_leaves_the_number_in_its_column():
    lines = str(tt.quantile(RECORDS, q=0.9, epsilon=1)).splitlines()
    assert lines[0].startswith("quantile   ")
    assert lines[0].endswith("   at level 0.9")


def test_counts_of_scaled_records_say_so():
    data = pd.DataFrame({"paid": RECORDS, "who": np.arange(len(RECORDS)) // 2, "state": "CA"})
    release = tt.mean(data, "paid", by="state", keys=["CA"], person="who", epsilon=8)
    shown = table_of(release)
    assert shown.head[-1] == "records"
    assert ("records", "counted after scaling, so the number may be too low") in shown.footnotes
    people = tt.mean(data, "paid", by="state", keys=["CA"], person="who", each="person", epsilon=8)
    assert table_of(people).head[-1] == "people"


def test_the_median_of_peoples_means_is_called_that_everywhere(tmp_path):
    data = pd.DataFrame({"paid": RECORDS, "who": np.arange(len(RECORDS)) // 2})
    about = {"person": "who", "each": "person", "epsilon": 4}
    for levels in (0.5, [0.5, 0.9]):
        release = tt.quantile(data, "paid", q=levels, **about)
        assert "ne mean per person" in str(release)
        assert "(one mean per person)" in release.sentence()
        release.report(tmp_path / "r.html")
        assert "(one mean per person)" in (tmp_path / "r.html").read_text(encoding="utf-8")
        assert "one mean per person" in release.to_markdown().lower()
        assert all(",person,0.95," in line for line in csv_text(release).splitlines()[1:])


def test_plans_do_not_promise_what_they_do_not_predict():
    assert "No prediction" in str(tt.plan(n=50_000, rho=1, statistic="regression", n_columns=2))
    assert "No problems" not in str(tt.plan(n=50_000, epsilon=1, statistic="describe"))
    groups = tt.plan(n=50_000, epsilon=1, by="state", keys=["CA", "NY"])
    assert "of a group of average size" in str(groups)


def test_a_stored_result_says_that_it_is_one(tmp_path, capsys):
    path, office = tmp_path / "x.csv", str(tmp_path / "o.ledger")
    path.write_text("x\n" + "7.5\n8.5\n" * 2_000)
    assert main(["ledger", "create", "xs", "--ledger", office, "--epsilon", "3"]) == 0
    request = ["mean", str(path), "--epsilon", "1", "--ledger", office, "--dataset", "xs"]
    capsys.readouterr()
    assert main([*request, "--release-id", "a"]) == 0
    assert "stored result" not in capsys.readouterr().err
    path.write_text("x\n9.5\n")
    assert main([*request, "--release-id", "a"]) == 0
    assert "note: This is the stored result of release a, made on " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--where", "state = 'CA'"], "(use == to compare)"),
        (["--where", "state == CA"], "Text stands in quotes: 'CA'."),
        (["--column", "paid > 10,000"], "write 10,000 as 10000"),
        (["paid"], "Columns are named with --column"),
        (["--epsilon", "0,5"], "is not a number (write 0.5). No budget was spent."),
    ],
)
def test_typical_mistakes_are_told_what_to_write(arguments, words, tmp_path, capsys):
    path = tmp_path / "x.csv"
    path.write_text("paid,state\n" + "7.5,CA\n" * 20)
    given = ["mean", str(path), "--column", "paid", "--epsilon", "1", *arguments]
    assert main(given) != 0
    error = capsys.readouterr().err
    assert words in error
    assert '"\'"' not in error  # what nobody types


def test_a_command_for_the_median_is_named(capsys):
    assert main(["median", "x.csv"]) == 2
    assert "Use tametail quantile --level 0.5." in capsys.readouterr().err


def test_a_condition_is_said_wherever_the_statistic_is_named():
    """Without it a sentence or a table would be false of the data that it names."""
    year = np.where(np.arange(len(RECORDS)) % 3, 2023, 2024)
    frame = pd.DataFrame({"paid": RECORDS, "year": year, "x": np.sqrt(np.arange(len(RECORDS)))})
    said = {"epsilon": 1, "where": "year == 2023"}
    released = [
        tt.mean(frame, "paid", **said),
        tt.mean(frame, "paid", **said, confidence=None),
        tt.mean(frame, "paid", epsilon=0.001, where="year == 2023"),
        tt.mean(frame, "paid", **said, by="year", keys=[2023, 2024]),
        tt.mean(frame, "paid", **said, by="year", keys=list(range(2010, 2024))),
        tt.count(frame, "paid", **said),
        tt.describe(frame, "paid", **said),
        tt.regression(frame, "paid", "x", rho=0.5, where="year == 2023"),
    ]
    for release in released:
        sentence = release.sentence()
        assert sentence.count("where year == 2023") == 1, sentence
        shown = [str(release), repr(release), release.to_markdown(), release.to_latex()]
        shown += [
            title_of(release),
            lead(release),
            method_text(release, "1"),
            release._repr_html_(),
        ]
        for text in shown:
            assert "here year == 2023" in text.replace("{-}", "-"), text
        head, first = csv_text(release).splitlines()[:2]
        assert ",where," in head
        assert ",year == 2023," in first
    assert "The mean of paid where year == 2023 is" in released[0].sentence()
    assert title_of(released[3]) == "Mean of paid by year, where year == 2023"
    assert ",where," not in csv_text(tt.mean(RECORDS, epsilon=1))
