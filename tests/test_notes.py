"""Notes and intervals of releases that once misled: every example that was reported."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

import tametail as tt
from tametail import cli, notes
from tametail.cli.messages import in_options
from tametail.errors import ParameterError
from tametail.means import MEAN, MEAN_AS_SEEN, WINSORIZED, Estimate, Interval
from tametail.notes import Note, without_advice
from tametail.report.document import result_parts
from tametail.report.export import csv_text
from tametail.run import _warn_if_unbounded
from tametail.show.intervals import quote
from tametail.show.warnings import notes_shown


def codes(release):
    return {note.code for note in release.notes}


def warned(release):
    return {note.code for note in release.notes if note.kind == "warning"}


def lognormal(n, seed=1, sigma=1.0):
    return np.random.default_rng(seed).lognormal(0, sigma, n)


def test_nothing_seen_is_said_and_has_no_finite_interval():
    """Replace-one, n = 1,000, epsilon = .1: once an interval of width zero."""
    for seed in range(5):
        records = np.random.default_rng(seed).normal(100, 15, 1000)
        release = tt.mean(records, epsilon=0.1, neighbors="replace-one")
        assert release.has_warnings
        if "no-signal" in codes(release):
            assert (release.low, release.high) == (-math.inf, math.inf)
            assert release.interval_target == MEAN.target
            assert release.error_components["clipping"] is None
        assert release.low < release.high


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize(
    "records",
    [np.full(3_000, 7.0), np.full(3_000, np.nan), np.zeros(3_000), np.array([])],
    ids=["constant", "no numbers", "zeros", "empty"],
)
def test_a_column_in_which_nothing_stands_out_has_no_ends(records, adjacency):
    if adjacency == "replace-one" and not len(records):
        return
    release = tt.mean(records, epsilon=1, neighbors=adjacency)
    assert {"no-signal", "median"} <= warned(release)
    assert (release.low, release.high) == (-math.inf, math.inf)
    within = tt.mean(records, epsilon=1, neighbors=adjacency, within=(0, 50))
    assert (within.low, within.high) == (0, 50)
    assert within.has_warnings


def test_a_column_of_several_in_which_nothing_stands_out_has_no_ends():
    records = lognormal(4_000)
    rows = np.column_stack([records, np.zeros(4_000)])
    for budget in ({"rho": 0.5}, {"epsilon": 4}):
        release = tt.mean(rows, within=[None, (-1, 2)], **budget)
        assert "no-signal" in {note.code for note in release[1].notes}
        assert (release[1].low, release[1].high) == (-1, 2)
        assert "no-signal" not in {note.code for note in release[0].notes}
        assert math.isfinite(release[0].low)
        assert release.has_warnings
        assert "warning    1: There are too few records for this budget" in str(release)


@pytest.mark.parametrize("several", [False, True])
def test_a_wrong_within_is_said(several):
    """Truth 1,480, within=(0, 1000): once 1000 to 1000, for the mean, and no doubt."""
    records = np.random.default_rng(3).gamma(2.0, 740.0, 20_000)
    data = np.column_stack([records, records]) if several else records
    for tail in (None, tt.Bounded(0, 1e5)):
        release = tt.mean(data, rho=0.5, within=(0, 1000), tail=tail)
        for row in release:
            assert row.value == 1000
            assert row.low <= 1000 < row.high
            assert row.assumption_contradicted
            assert any(note == notes.CONTRADICTED for note in row.notes)
        assert release.has_warnings


def test_records_away_from_the_center_are_said():
    """A center that misses records which agree in many digits: once a finite interval, silently."""
    records = np.random.default_rng(4).normal(1e6, 1.0, 5_000)
    kept_away = tt.mean(records, epsilon=1, within=(0, 1e6 - 50))
    assert "low-precision-location" in warned(kept_away)
    assert "low-precision-location" not in codes(tt.mean(records, epsilon=1))


def test_an_honest_within_at_the_edge_is_a_remark():
    records = np.random.default_rng(5).normal(0, 1, 20_000)
    found = [tt.mean(records, epsilon=1, within=(0, math.inf)) for _ in range(8)]
    for release in found:
        assert release.low < release.high
        assert "at-range-limit" not in warned(release)
    assert all(("at-range-limit" in codes(one)) == (one.value == 0) for one in found)


def test_a_contradicted_assumption_is_a_warning():
    release = tt.mean(lognormal(10_000), epsilon=1, tail=tt.Moment(2, 1e-3))
    assert release.assumption_contradicted
    assert "assumption-contradicted" in warned(release)


@pytest.mark.parametrize("law", ["lognormal", "exponential", "normal", "standard_cauchy"])
def test_a_moment_half_as_large_as_it_is_raises_doubt(law):
    records = np.clip(getattr(np.random.default_rng(9), law)(size=20_000), -20, 20)
    deviation = float(records.std())
    for adjacency in ("add-remove", "replace-one"):
        true = tt.mean(records, epsilon=1, tail=tt.Moment(2, deviation), neighbors=adjacency)
        assert true.assumption_contradicted is False
        wrong = tt.mean(records, epsilon=1, tail=tt.Moment(2, deviation / 2), neighbors=adjacency)
        assert wrong.assumption_contradicted
        assert "assumption-contradicted" in warned(wrong)


def test_few_records_are_said_though_n_is_unknown():
    release = tt.mean(lognormal(100), epsilon=0.5)
    (advice,) = release.plan.advice  # n is not public, but how many would be few is
    assert "this budget is too small" in advice
    assert "few-records" in warned(release)


def test_columns_that_share_a_scale_are_said():
    rows = np.random.default_rng(2).lognormal(0, 1, (100, 50))
    release = tt.mean(rows, rho=0.5, n=100)
    assert "shared-scale" in warned(release)
    assert "shared-scale" not in codes(tt.mean(rows, rho=0.5, n=100, same_scale=True))


def test_a_good_release_has_two_intervals_and_no_note():
    release = tt.mean(lognormal(20_000), epsilon=1)
    assert release.notes == ()
    assert not release.has_warnings
    first, second = release.intervals
    assert (first.kind, second.kind) == (MEAN_AS_SEEN, WINSORIZED)
    assert not first.proved
    assert not second.proved
    assert (release.low, release.high) == (first.low, first.high)
    assert first.low <= release.value <= first.high
    assert second.high <= first.high
    assert second.error_components["clipping"] is None
    assert first.error_components["clipping"] >= 0
    (proved,) = tt.mean(lognormal(20_000), epsilon=1, tail=tt.Moment(2, 3.0)).intervals
    assert (proved.kind, proved.proved) == (MEAN, True)


def test_notes_are_the_same_in_python_json_html_and_on_the_command_line(tmp_path, capsys):
    release = tt.mean([7.0] * 2_000, epsilon=1)
    said = [note.to_dict() for note in release.notes]
    assert [note["code"] for note in said] == ["no-signal", "median"]
    assert json.loads(release.to_json())["notes"] == said
    again = tt.Release.from_json(release.to_json())
    assert again.notes == release.notes
    assert again.intervals == release.intervals
    path = tmp_path / "x.csv"
    path.write_text("x\n" + "7.0\n" * 2_000)
    assert cli.main(["mean", str(path), "--epsilon", "1"]) == 0
    printed = capsys.readouterr().out
    (warning, note) = notes_shown(release)  # one warning for one cause: the median is a note
    assert (warning.kind, warning.text) == ("warning", release.notes[0].text)
    assert printed.startswith(in_options(f"warning    {warning.text}\n"))
    assert str(release).startswith(f"warning    {warning.text}\n")
    for shown in (warning, note):
        assert shown.text in release._repr_html_()
    assert "only estimate is a private median" in note.text
    assert "only estimate is a private median" in printed


def mostly_words(n=20_000):
    """Return a column of which 31 in 100 cells are numbers."""
    return np.where(np.arange(n) % 100 < 31, lognormal(n), np.nan)


def test_a_sentence_ends_with_the_warnings():
    """Copied alone, it once told a mean of a third of the cells without a word on the others."""
    release = tt.mean(mostly_words(), epsilon=1)
    assert warned(release) == {"many-unparsed-cells"}
    assert "Warning: Only about 31% of the cells" in release.sentence()
    assert release.sentence().endswith(without_advice(str(release.notes[-1])))
    assert "Pass a list" in str(release.notes[-1])
    assert "Pass a list" not in release.sentence()
    assert "Warning" not in tt.mean(lognormal(20_000), epsilon=1).sentence()


def test_a_sentence_of_several_says_which_columns_carry_a_warning():
    rows = np.column_stack([lognormal(20_000), mostly_words(), mostly_words()])
    release = tt.mean(rows, rho=0.5)
    told = [note for note in release.notes if note.code == "many-unparsed-cells"]
    for note in told:
        carry = ", ".join(row.column for row in release if note in row.notes)
        assert release.sentence().count(f"Warning: {carry}: {without_advice(str(note))}") == 1
    assert told
    shared = tt.mean(np.random.default_rng(2).lognormal(0, 1, (100, 50)), rho=0.5, n=100)
    assert release.sentence().count("Warning") == len(told)
    assert "Warning: " in shared.sentence()


def test_a_sentence_of_groups_says_which_of_them_carry_a_warning():
    table = pd.DataFrame({"paid": lognormal(20_000), "state": ["CA", "NY"] * 10_000})
    release = tt.mean(table, "paid", by="state", keys=["CA", "NY", "TX", "UT"], epsilon=1)
    empty = release["TX"].notes
    assert any(note.code == "no-signal" for note in empty)
    for note in empty:
        carry = ", ".join(str(row.group) for row in release if note in row.notes)
        assert f" Warning: {carry}: {without_advice(str(note))}" in release.sentence()


def test_the_page_shows_a_warning_once():
    release = tt.mean(mostly_words(), epsilon=1)
    (note,) = release.notes
    assert release._repr_html_().count(note.text) == 1


def test_a_sentence_on_the_command_line_warns_on_stderr_too(tmp_path, capsys):
    path = tmp_path / "x.csv"
    path.write_text("x\n" + "7.0\n" * 2_000)
    assert cli.main(["mean", str(path), "--epsilon", "1", "--sentence"]) == 0
    out, err = capsys.readouterr()
    assert f"Warning: {without_advice(notes.NOTHING_SEEN.text)}\n" in out
    assert err == f"warning: {in_options(notes.NOTHING_SEEN.text)}\n"
    assert notes.MEDIAN.text not in out  # one warning for one cause


def test_a_frame_of_one_mean_or_of_columns_has_the_notes():
    release = tt.mean(mostly_words(), epsilon=1)
    assert list(release.to_frame()["notes"]) == [str(release.notes[0])]
    assert csv_text(release).splitlines()[0].endswith(",notes")
    rows = np.column_stack([lognormal(20_000), mostly_words()])
    first, second = tt.mean(rows, rho=0.5).to_frame()["notes"]
    assert "could be read as numbers" in second
    assert "cells were numbers" not in first
    assert list(tt.mean(lognormal(20_000), epsilon=1).to_frame()["notes"]) == [""]


def test_what_is_said_of_all_columns_is_in_every_row_of_the_frame():
    release = tt.mean(np.random.default_rng(2).lognormal(0, 1, (100, 50)), rho=0.5, n=100)
    (shared,) = (note for note in release.shared_notes if note.code == "shared-scale")
    assert all(str(shared) in cell for cell in release.to_frame()["notes"])


def test_tables_of_groups_say_what_each_interval_is_for():
    table = pd.DataFrame({"paid": lognormal(20_200)})
    table["state"] = ["CA"] * 20_000 + ["NY"] * 200
    release = tt.mean(table, "paid", by="state", keys=["CA", "NY"], epsilon=1)
    frame = release.to_frame()
    assert list(frame["interval_target"]) == [row.interval_target for row in release]
    assert list(frame)[-3:] == ["interval_target", "usable", "notes"]
    shown = [release._repr_html_(), "".join(result_parts(release)), str(release)]
    for row in release:
        found = quote(release, row)
        assert found.mark == ("c" if row.interval_target == WINSORIZED.target else "e")
        for text in shown:
            assert text.count(found.limits) >= 1
    for text in shown:
        assert "approximate (tail extrapolated)" in text
    bare = tt.mean(table, "paid", by="state", keys=["CA", "NY"], epsilon=1, confidence=None)
    assert "95% CI" not in bare._repr_html_()


@pytest.mark.parametrize(
    "said",
    [
        {"n": 12_000},
        {"n": 100_000},
        {"n": 12_000, "tail": tt.Moment(2, 3.0)},
        {"n": 12_000, "within": (0, math.inf)},
    ],
    ids=["n", "larger n", "Moment", "within"],
)
def test_an_interval_without_an_end_comes_with_a_warning(said):
    """A plan for many records that met few: once no ends, no note, and reliable."""
    plan = tt.plan(epsilon=1, **said)
    found = [tt.mean(lognormal(200), plan=plan) for _ in range(40)]
    endless = [one for one in found if math.isinf(one.low) or math.isinf(one.high)]
    assert any("unbounded-interval" in codes(one) for one in endless)
    for release in endless:
        assert warned(release)
        assert release.has_warnings
        assert tt.replay(release.plan, release.answers) == release


@pytest.mark.parametrize(
    ("ends", "own", "due"),
    [
        ((-math.inf, math.inf), (), True),
        ((0.0, math.inf), (notes.CLAMPED,), True),
        ((-math.inf, math.inf), (notes.NOTHING_SEEN,), False),
        ((0.0, 1.0), (), False),
    ],
)
def test_the_rule_on_ends(ends, own, due):
    interval = Interval(*ends, *MEAN, True, {}, 0.95)
    found = _warn_if_unbounded(Estimate(0.5, (interval,), notes=own)).notes
    assert found == (*own, *[notes.NO_ENDS] * due)
    assert _warn_if_unbounded(Estimate(0.5, (), notes=own)).notes == own


def test_no_assumption_is_named_where_an_interval_has_no_ends():
    release = tt.mean([7.0] * 2_000, epsilon=1)
    found = quote(release, release[0])
    assert found[:3] == ("no reliable estimate", "none", "")
    assert "proved" not in "".join(result_parts(release))
    held = tt.mean(lognormal(20_000), epsilon=1, tail=tt.Moment(2, 3.0))
    assert quote(held, held[0]).qualifier == "guaranteed if the standard deviation is at most 3"


def test_a_note_is_a_warning_or_a_remark():
    with pytest.raises(ParameterError, match="Invalid kind"):
        Note("error", "x", "y")


def test_an_interval_that_ends_where_within_does_says_so():
    records = np.random.default_rng(5).lognormal(3, 1.5, 3_000)
    mean = float(records.mean())
    near = [tt.mean(records, epsilon=1, within=(0, mean * 1.02)) for _ in range(20)]
    far = [tt.mean(records, epsilon=1, within=(-1e9, 1e9)) for _ in range(3)]
    for release in near:
        if release.high == mean * 1.02:
            assert {"interval-cut-to-range", "at-range-limit"} & codes(
                release
            ) or release.has_warnings
        else:
            assert "interval-cut-to-range" not in codes(release)
    assert any(
        "interval-cut-to-range" in codes(release) and not release.has_warnings for release in near
    )
    assert not any("interval-cut-to-range" in codes(release) for release in far)
