"""What releases once said that was not true: every example that was seen, as a test.

Some are tests elsewhere, and are not written twice:

    an interval of width zero; no numbers; constants  test_notes.py::test_a_column_in_which_nothing_stands_out_has_no_ends
    notes always empty, in all outputs                test_notes.py::test_notes_are_the_same_in_python_json_html_and_on_the_command_line
    `plan.advice` empty while n is unknown            test_notes.py::test_few_records_are_said_though_n_is_unknown
    "1,200.50": 534 where the truth is 1,784          test_cells_used.py::test_amounts_that_are_not_read_are_told
    "(123.45)", "$1,200.50", "12,50", "12%"           test_written_numbers.py::test_every_way_to_write_a_number
    a list of paths returns a random number           test_written_numbers.py::test_a_list_of_paths_and_a_list_of_cells
    a text column of a frame is read as missing       test_written_numbers.py::test_text_columns_of_frames
    `noise` of 1.1 where privacy changed 8.6          estimators/test_interval.py::test_privacy_is_what_privacy_changed
    a second look's false alarms, 4.2e-5              estimators/test_false_alarms.py::test_the_second_look_is_at_least_as_safe_as_the_first
    `Bounded` half-widths, n = 1,000 and 20,000       estimators/test_prediction.py::test_half_widths_are_as_predicted
    ages to within 1: 37,283 records                  test_planning.py::test_ages_need_as_many_records_as_the_worst_law_does
    advice silent on nearly constant data             estimators/test_prediction.py::test_advice_names_what_would_help

Noise is drawn anew in every run, so what is not certain is counted, and the least number that passes
is read off the binomial law (`often`): if the rate is what the test says, chance alone fails an
assertion in less than one of 1e8 runs, and all of them, fewer than a hundred, in less than one of 1e6.
"""  # noqa: E501

from __future__ import annotations

import ast
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import tametail as tt
from tametail import cli, notes
from tametail.errors import ColumnError, ParameterError
from tametail.ledger import Ledger
from tametail.means import MEAN, MEAN_AS_SEEN, WINSORIZED

UNITS = ("add-remove", "replace-one")
EVERYWHERE = (-math.inf, math.inf)

#: How often nothing stands out where nothing is: noise raises a false alarm in 3e-6 of all looks.
UNSEEN = 0.99999


def often(outcomes, rate):
    """Whether so many are true that their probability may be ``rate``; False by chance once in 1e8.

    The least number is the smallest k with P(at most k) of at least 1e-8, so P(fewer) is below.
    """
    found = list(outcomes)
    return sum(found) >= stats.binom.ppf(1e-8, len(found), rate)


def codes(row):
    return {note.code for note in row.notes}


def laws(n):
    """Return n records each of laws with light and heavy tails, always the same ones."""
    rng = np.random.default_rng(9)
    return {
        "normal": rng.normal(100, 15, n),
        "exponential": rng.exponential(size=n),
        "uniform": rng.uniform(size=n),
        "lognormal": rng.lognormal(size=n),
        "t5": rng.standard_t(5, n),
        "gamma": rng.gamma(0.5, 1, n),
    }


def test_the_tests_that_are_named_above_exist():
    named = re.findall(r"(\S+\.py)::(test_\w+)", __doc__ or "")
    assert len(named) == 12
    for file, name in named:
        tree = ast.parse((Path(__file__).parent / file).read_text())
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_what_often_lets_through():
    assert often([True] * 20, 1.0)
    assert not often([False] * 20, 0.8)
    assert stats.binom.cdf(stats.binom.ppf(1e-8, 360, 0.95) - 1, 360, 0.95) < 1e-8


# --- nothing seen, yet a finite interval


def says_what_it_saw(row, mean):
    """An interval has no ends, and it is said why, or ends that differ by more than a rounding."""
    if "no-signal" in codes(row):
        assert {"no-signal", "median"} <= codes(row)
        assert (row.low, row.high, row.interval_target) == (*EVERYWHERE, MEAN.target)
    assert row.low < row.high
    assert row.high - row.low > 1e-6 * abs(mean)


@pytest.mark.parametrize("law", laws(1))
def test_few_records_and_a_small_budget_never_give_an_interval_of_width_zero(law):
    """Replace-one, n = 1,000, epsilon = .1: `99.4883 to 99.4883` in 99.6% of releases."""
    records = laws(1_000)[law]
    found = [tt.mean(records, epsilon=0.1, neighbors="replace-one") for _ in range(30)]
    for release in found:
        says_what_it_saw(release, records.mean())
        assert release.has_warnings
    assert often([one.low <= records.mean() <= one.high for one in found], 0.95)  # once 0.6%


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize(("n", "epsilon"), [(1_000, 1), (10_000, 0.1)])
@pytest.mark.parametrize("common", [0.0, 7.0])
def test_nearly_constant_columns_never_give_an_interval_of_width_zero(
    adjacency, n, epsilon, common
):
    """At n epsilon = 1,000 the same; sometimes `-4.94066e-324 to 4.94066e-324`."""
    holds = []
    for share in (0.001, 0.01, 0.03, 0.05):
        records = np.full(n, common)
        others = round(share * n)
        records[:others] += np.random.default_rng(3).lognormal(size=others)
        for _ in range(8):
            release = tt.mean(records, epsilon=epsilon, neighbors=adjacency)
            says_what_it_saw(release, records.mean())
            assert "e-324" not in str(release)
            holds.append(release.low <= records.mean() <= release.high)
    assert often(holds, 0.92)


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("budget", [tt.pure(1), tt.pure(4), tt.zcdp(0.5)], ids=str)
def test_sparse_columns_of_vectors_never_give_an_interval_of_width_zero(adjacency, budget):
    """In vectors 7 to 43% of sparse columns; `-0.43 (-0.43 to -0.43)` for one without numbers."""
    rng = np.random.default_rng(5)
    shares = np.array([1, 1, 0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.3])
    rows = rng.lognormal(size=(2_000, len(shares))) * (rng.random((2_000, len(shares))) < shares)
    rows[:, 1] = np.nan
    empty = []
    for _ in range(4):
        release = tt.mean(rows, budget=budget, neighbors=adjacency)
        for row, mean in zip(release, rows.mean(axis=0), strict=True):
            says_what_it_saw(row, 0.0 if math.isnan(mean) else mean)
        empty += [release[1], release[2]]  # no numbers; zeros
    assert often(["no-signal" in codes(row) for row in empty], UNSEEN)


def infinite(share):
    return np.where(np.arange(4_000) < share * 4_000, math.inf, 1.0 + np.arange(4_000) % 7)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("epsilon", [1, 20])
@pytest.mark.parametrize(
    "records",
    [
        [10**400] * 1_000,
        [math.inf] * 1_000,
        [-math.inf] * 1_000,
        [math.inf, -math.inf] * 500,
        [1.7e308] * 1_000,
        infinite(0.2),
    ],
    ids=["whole numbers", "inf", "-inf", "both", "largest", "a fifth"],
)
def test_infinities_have_no_finite_interval_and_a_warning(records, epsilon, adjacency):
    """A column of infinities was released as 3.4e38, with a finite interval and no note."""
    release = tt.mean(records, epsilon=epsilon, neighbors=adjacency)
    assert "out-of-float-range" in codes(release[0])
    assert release.has_warnings
    assert (release.low, release.high) == (-math.inf, math.inf)
    assert tt.Release.from_json(release.to_json()) == release
    held = tt.mean(records, epsilon=epsilon, neighbors=adjacency, within=(0, 100))
    assert (held.low, held.high) == (0, 100)


@pytest.mark.parametrize(
    "said",
    [
        {"epsilon": 1, "by": "group", "keys": ["a", "b"]},
        {"epsilon": 0.1, "by": "group", "keys": ["a", "b"]},
        {"epsilon": 2, "person": "who"},
        {"epsilon": 1, "person": "who", "each": "person"},
        {"epsilon": 2, "person": "who", "by": "group", "keys": ["a", "b"]},
        {"rho": 0.5, "column": ["x", "y"]},
        {"epsilon": 1, "column": ["x", "y"], "same_scale": True},
    ],
)
def test_infinities_are_said_in_every_table(said):
    whole = infinite(1.0)
    frame = pd.DataFrame({"x": whole, "y": whole, "group": ["a", "b"] * 2_000})
    frame["who"] = np.arange(len(frame)) // 2
    release = tt.mean(frame, **{"column": "x"} | said)
    for row in release:
        assert "out-of-float-range" in codes(row)
        assert (row.low, row.high) == (-math.inf, math.inf)


def test_where_persons_are_added_up_the_end_is_nearer_and_the_note_says_so():
    frame = pd.DataFrame({"x": [1e33] * 4_000, "who": np.arange(4_000) // 2})
    (row,) = tt.mean(frame, "x", person="who", epsilon=2)
    assert notes.BEYOND_RANGE_OF_VALUES in row.notes
    assert "1e30" in notes.BEYOND_RANGE_OF_VALUES.text
    assert notes.BEYOND_RANGE not in row.notes
    assert notes.BEYOND_RANGE in tt.mean([math.inf] * 1_000, epsilon=1).notes


def test_numbers_that_are_told_apart_are_not_infinite():
    release = tt.mean([1e30, 2e30] * 2_000, epsilon=1)
    assert "out-of-float-range" not in codes(release[0])
    assert math.isfinite(release.low)


# --- a wrong `within`


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("tail", [None, tt.Moment(2, 2_500)], ids=str)
def test_a_within_that_the_records_contradict_is_said(adjacency, tail, tmp_path, capsys):
    """Truth 1,480, within=(0, 1000): `1000, interval 1000 to 1000 (95%), for the mean`."""
    records = np.random.default_rng(3).lognormal(math.log(1480) - 0.5, 1, 20_000)
    assert records.mean() == pytest.approx(1480, abs=1)
    release = tt.mean(records, epsilon=1, within=(0, 1000), neighbors=adjacency, tail=tail)
    assert release.value == 1000
    assert release.assumption_contradicted
    assert notes.CONTRADICTED in release.notes
    assert release.has_warnings
    assert release.high > 1300
    if tail is None:
        path = tmp_path / "claims.csv"
        path.write_text("amount\n" + "".join(f"{record}\n" for record in records))
        told = ["--epsilon=1", "--within=0:1000", f"--neighbors={adjacency}"]
        assert cli.main(["mean", str(path), *told]) == 0
        printed = capsys.readouterr().out
        assert "1000 to 1000" not in printed
        assert "a mean outside --within" in printed


# --- dirty cells


def test_a_text_column_spends_nothing_where_its_type_is_declared(tmp_path):
    """A text column returned a random number and spent the budget."""
    ledger = Ledger(tmp_path / "office.ledger")
    ledger.create("claims", tt.pure(1))
    frame = pd.DataFrame({"amount": pd.Series(["1,200.50", "n/a"] * 500, dtype="string")})
    with pytest.raises(ColumnError, match="is text"):
        tt.mean(frame, "amount", epsilon=1, ledger=ledger, dataset="claims")
    assert ledger.remaining("claims").charges == 0


def test_a_text_column_of_a_file_has_no_interval_and_a_warning(tmp_path):
    """In a CSV file nothing is declared: the number that comes out is not to be taken for one."""
    path = tmp_path / "x.csv"
    path.write_text("name\n" + "Smith\nJones\n" * 10_000)
    found = [tt.mean(path, "name", epsilon=1) for _ in range(4)]
    assert often(
        [{"no-signal", "median", "many-unparsed-cells"} <= codes(one) for one in found], UNSEEN
    )
    assert often([(one.low, one.high) == EVERYWHERE for one in found], UNSEEN)
    for release in found:
        assert release.share_used == pytest.approx(0, abs=0.05)
        assert release.has_warnings


# --- without a tail

HEAVY = {
    "lognormal 1.5": stats.lognorm(1.5),
    "Pareto 2.5": stats.lomax(2.5),
    "Pareto 2.2": stats.lomax(2.2),
}


@pytest.fixture(scope="module", params=[1_000, 10_000])
def without_a_tail(request):
    """Releases of heavy-tailed records: with the records, the mean and the winsorized mean."""
    n, found, seen = request.param, [], []
    for adjacency in UNITS:
        for law in HEAVY.values():
            rng = np.random.default_rng(7)
            grid = law.ppf((np.arange(100_000) + 0.5) / 100_000)
            for _ in range(60):
                records = law.ppf(rng.random(n))
                release = tt.mean(records, epsilon=1, neighbors=adjacency)
                seen.append("no-signal" not in codes(release))
                if seen[-1]:
                    clipped = np.clip(grid, *release.clip).mean()
                    found.append((release, records, law.mean(), clipped))
    assert often(seen, 0.99)
    return found


def test_the_interval_that_is_shown_holds_the_mean(without_a_tail):
    """It missed the mean in 12 to 42% of releases on real columns, n epsilon 1e3 to 1e4.

    The one for the winsorized mean misses it in 14 to 17% of these at n = 1,000, and would fail.
    """
    assert often([one.low <= mean <= one.high for one, _, mean, _ in without_a_tail], 0.97)
    assert {one[0].intervals[0].kind for one, *_ in without_a_tail} == {MEAN_AS_SEEN}
    # The value has the fitted excess added back, and so has the interval.
    assert often([one.low <= one.value <= one.high for one, *_ in without_a_tail], 0.99)


def test_the_interval_for_the_winsorized_mean_is_calibrated(without_a_tail):
    """It covered its target in all but 11 of 53,876, 2 to 4 times wider than needed."""
    holds, narrow = [], []
    for release, records, _, clipped in without_a_tail:
        second = release.intervals[1]
        assert second.kind == WINSORIZED
        holds.append(second.low <= clipped <= second.high)
        error = np.clip(records, *release.clip).std() / math.sqrt(len(records))
        narrow.append(second.high - second.low < 2 * 2 * 1.96 * error)
    assert often(holds, 0.93)
    assert often(narrow, 0.8)  # noise and all; 1.3 times the t-interval is usual


def test_truncation_is_none_where_nothing_bounds_it(without_a_tail):
    """`parts["clipping"]` was 0 where the truth is "not bounded"; `noise` was an increment."""
    for release, *_ in without_a_tail:
        for interval in release.intervals:
            assert set(interval.error_components) == {"privacy", "sampling", "clipping", "rounding"}
            assert (interval.error_components["clipping"] is None) == (interval.kind == WINSORIZED)
            assert not interval.proved


# --- with a tail


@pytest.mark.parametrize("law", laws(1))
def test_a_moment_that_is_too_small_is_doubted(law):
    """`Moment(2, sd/10)` was never flagged on four of five columns; here sd/2 is flagged too."""
    records = laws(20_000)[law]
    deviation = float(records.std())

    def doubted(scale):
        told = {"epsilon": 1, "tail": tt.Moment(2, scale)}
        return [
            bool(tt.mean(records, neighbors=adjacency, **told).assumption_contradicted)
            for adjacency in UNITS * 8
        ]

    assert often(doubted(deviation / 10), 0.95)
    assert often(doubted(deviation / 2), 0.95)
    assert often([not doubt for doubt in doubted(deviation)], 0.999)


@pytest.mark.parametrize("law", laws(1))
@pytest.mark.parametrize(
    ("adjacency", "n", "epsilon"),
    [
        ("add-remove", 1_000, 10),
        ("add-remove", 10_000, 1),
        ("add-remove", 100_000, 1),
        ("replace-one", 1_000, 10),
        ("replace-one", 10_000, 1),
        ("replace-one", 100_000, 1),
    ],
)
def test_a_moment_gives_at_most_three_t_intervals(law, adjacency, n, epsilon):
    """5 to 7 times the t-interval's half-width, erratically up to 26."""
    records = laws(n)[law]
    deviation = float(records.std())
    told = {"epsilon": epsilon, "neighbors": adjacency, "tail": tt.Moment(2, deviation)}
    found = [tt.mean(records, **told) for _ in range(20)]
    most = 3 * 2 * 1.96 * deviation / math.sqrt(n)
    # Of 120 releases of each at most five were wider; 12 of these 20 are enough to fail.
    assert often([one.high - one.low <= most for one in found], 0.92)


@pytest.mark.parametrize(("adjacency", "most"), [("add-remove", 6.5), ("replace-one", 9.5)])
@pytest.mark.parametrize("law", ["normal", "lognormal"])
def test_a_moment_at_a_tenth_of_the_budget_is_near_what_is_possible(law, adjacency, most):
    """9 to 17 t-intervals, where 3.1 and 4.1 are the least (decision 0127)."""
    records = laws(100_000)[law]
    deviation = float(records.std())
    told = {"epsilon": 0.1, "neighbors": adjacency, "tail": tt.Moment(2, deviation)}
    widths = [one.high - one.low for one in (tt.mean(records, **told) for _ in range(7))]
    assert np.median(widths) <= most * 2 * 1.96 * deviation / math.sqrt(len(records))


# --- plans


def test_an_error_without_a_unit_is_refused():
    """`sample_size(error=200, epsilon=1)` answered 1: `error` became standard deviations."""
    for asked in (
        lambda **error: tt.sample_size(**error, epsilon=1),
        lambda **error: tt.epsilon_for(**error, n=10_000),
    ):
        with pytest.raises(ParameterError, match=r"needs a tail assumption.* relative_error=0\.1"):
            asked(error=200)
        assert asked(relative_error=0.1) > 0
    assert tt.sample_size(relative_error=0.1, epsilon=1) > 100


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize(("n", "epsilon"), [(10_000, 1), (100_000, 0.1)])
@pytest.mark.parametrize("law", ["worst", "reference"])
def test_half_widths_between_bounds_are_as_predicted(adjacency, n, epsilon, law):
    """Predicted 3.9 to 8.3 times too wide; now within a factor of 1.25 on the two laws named."""
    rng = np.random.default_rng(6)
    plan = tt.plan(n=n, epsilon=epsilon, neighbors=adjacency, tail=tt.Bounded(0, 120))
    records = 120.0 * (rng.random(n) < 0.5) if law == "worst" else rng.uniform(0, 120, n)
    found = [tt.mean(records, plan=plan) for _ in range(12)]
    ratios = [plan.half_width(distribution=law) * 2 / (one.high - one.low) for one in found]
    assert often([1 / 1.25 < ratio < 1.25 for ratio in ratios], 0.97)
