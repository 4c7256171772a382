"""Sum, count, quantiles, shares and descriptions: right, honest, and refused in time."""

from __future__ import annotations

import json
import math
import re
import sqlite3

import duckdb
import numpy as np
import pandas as pd
import pytest

import tametail as tt
from tametail.cli.shell import main
from tametail.errors import ParameterError
from tametail.means import MEAN, Estimate, Interval
from tametail.methods.counting import share_interval
from tametail.methods.describing import _sum
from tametail.page.forms import Form, release_from_form
from tametail.privacy.budget import Noise
from tametail.show.sentences import sentence

RNG = np.random.default_rng(4)
N = 12_000
FRAME = pd.DataFrame({
    "paid": np.round(RNG.lognormal(7, 1, N), 2), "state": RNG.choice(["CA", "NY", "TX"], N),
    "who": RNG.integers(0, 4_000, N), "nights": RNG.poisson(2, N).astype(float),
})  # fmt: skip
BY = {"by": "state", "keys": ["CA", "NY", "TX"]}
TOTAL = FRAME.paid.sum()

ASKED = {
    "sum": lambda **more: tt.sum(FRAME, "paid", **more),
    "count": lambda **more: tt.count(FRAME, "paid", **more),
    "quantile": lambda **more: tt.quantile(FRAME, "paid", [0.5, 0.9], **more),
    "median": lambda **more: tt.median(FRAME, "paid", **more),
    "describe": lambda **more: tt.describe(FRAME, "paid", **more),
    "share": lambda **more: tt.mean(FRAME, "paid > 2000", **more),
}
EACH = pytest.mark.parametrize("name", ASKED)


@EACH
@pytest.mark.parametrize(
    "said",
    [
        {"epsilon": 1}, {"rho": 0.1}, {"epsilon": 1, "delta": 1e-6}, {"epsilon": 0.5, "n": 11_000},
        {"epsilon": 1, "neighbors": "replace-one"}, {"epsilon": 1, **BY},
        {"epsilon": 1, "confidence": None},
        {"epsilon": 1, **BY, "simultaneous": True}, {"epsilon": 2, "delta": 1e-6, "by": "state"},
        {"epsilon": 1, "where": "nights >= 1"}, {"epsilon": 1, "within": (0, 1e9)},
    ],
    ids=str,
)  # fmt: skip
def test_every_statistic_replays_and_goes_to_json_and_back(name, said):
    release = ASKED[name](**said)
    assert tt.replay(release.plan, release.answers) == release
    assert tt.Release.from_json(release.to_json()) == release
    assert release.plan == type(release.plan).from_json(release.plan.to_json())
    assert len(release.to_frame()) == len(release)
    assert release.sentence()
    assert str(release)
    assert str(release.plan)
    assert release.guarantee.rho == said.get("rho")
    for row in release:
        assert (row.low is None) == ("confidence" in said)


@EACH
def test_reports_and_notebooks_show_every_statistic(name, tmp_path):
    release = ASKED[name](epsilon=1)
    release.report(tmp_path / "report.html")
    assert release.means[0].label in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert release._repr_html_()
    assert release.plan._repr_html_()


def test_a_sum_is_near_and_its_interval_holds_it():
    release = tt.sum(FRAME, "paid", epsilon=1)
    assert release.low < TOTAL < release.high
    assert abs(float(release) / TOTAL - 1) < 0.05
    assert release.means[0].total == float(release)
    (hidden,) = [note.text for note in release[0].notes if note.code == "hidden-records"]
    giants = pd.concat([FRAME.paid, pd.Series([1e9] * 2)])  # nobody can tell: so it is said
    few = tt.sum(giants, epsilon=1)
    assert hidden in [note.text for note in few[0].notes]
    table = tt.sum(FRAME, "paid", epsilon=1, **BY)
    for state, own in FRAME.groupby("state").paid.sum().items():
        assert table[state].low < own < table[state].high
    of_persons = tt.sum(FRAME, "paid", epsilon=2, person="who")
    assert of_persons.low < TOTAL < of_persons.high
    assert abs(of_persons.persons - FRAME.who.nunique()) < 400


def test_a_sum_far_from_zero_is_far_better_than_mean_times_count():
    """At least ten times: no count is multiplied with."""
    x = 1e6 + np.random.default_rng(3).normal(0, 1_000, 5_000)
    direct = [float(tt.sum(x, epsilon=1)) / x.sum() - 1 for _ in range(12)]
    times = [tt.mean(x, epsilon=1).means[0].total / x.sum() - 1 for _ in range(12)]
    assert np.std(times) > 10 * np.std(direct)


def test_a_sum_of_nothing_is_not_known():
    release = tt.sum([], epsilon=1)
    assert (release.low, release.high) == (-math.inf, math.inf)
    assert "no reliable estimate" in str(release)
    assert release.has_warnings


def test_counts_hold_the_number_of_records_and_of_persons():
    some = FRAME.assign(paid=FRAME.paid.where(FRAME.nights > 0))
    inside = [tt.count(some, "paid", epsilon=0.5) for _ in range(40)]
    true = int(some.paid.notna().sum())
    assert sum(r.low <= true <= r.high for r in inside) >= 36
    persons = tt.count(FRAME, "paid", epsilon=1, person="who")
    assert persons.low <= FRAME.who.nunique() <= persons.high
    table = tt.count(FRAME, "paid", epsilon=1, **BY)
    assert abs(table["CA"].value - (FRAME.state == "CA").sum()) < 20


def test_a_column_that_is_called_like_all_records_is_refused(tmp_path):
    odd = FRAME.rename(columns={"paid": "*"})
    odd.to_csv(tmp_path / "claims.csv", index=False)
    ducks = duckdb.connect()
    ducks.execute("CREATE TABLE claims AS SELECT * FROM odd")
    for data, table in [(odd, None), (tmp_path / "claims.csv", None), (ducks, "claims")]:
        for column in (None, "*"):
            with pytest.raises(tt.errors.ColumnError, match="means all records"):
                tt.count(data, column, table=table, epsilon=1)


def test_records_are_counted_where_no_column_is_named(tmp_path, capsys, request):
    path, people = tmp_path / "claims.csv", FRAME.who.nunique()
    odd = FRAME.assign(day=pd.Timestamp("2025-01-01"), paid=FRAME.paid.where(FRAME.nights > 0))
    odd.to_csv(path, index=False)
    with sqlite3.connect(tmp_path / "claims.db") as base:
        FRAME.to_sql("claims", base, index=False)
    request.addfinalizer(base.close)
    ducks = duckdb.connect()
    ducks.execute("CREATE TABLE claims AS SELECT * FROM odd")
    for data, table in [(odd, None), (path, None), (base, "claims"), (ducks, "claims")]:
        release = tt.count(data, table=table, epsilon=1)
        assert abs(float(release) - N) < 20
        assert release.sentence().startswith("The count of records is ")
        assert tt.replay(release.plan, release.answers) == release
        persons = tt.count(data, table=table, epsilon=1, person="who")
        assert abs(float(persons) - people) < 20
        assert persons.sentence().startswith("The count of people is ")
        filtered = tt.count(data, table=table, epsilon=1, where="nights >= 1")
        assert abs(float(filtered) - (FRAME.nights >= 1).sum()) < 20
        by_state = tt.count(data, table=table, epsilon=1, **BY)
        assert abs(by_state["CA"].value - (FRAME.state == "CA").sum()) < 20
    base.close()
    assert abs(float(tt.count(odd.paid, epsilon=1)) - odd.paid.notna().sum()) < 20  # of a column
    assert main(["count", str(path), "-e", "1", "--sentence"]) == 0
    assert "The count of records is" in capsys.readouterr().out
    assert release_from_form(Form.read("path=x.csv&statistic=count&epsilon=1")).columns == ("*",)
    with pytest.raises(ParameterError, match="only be counted"):
        tt.mean(FRAME, "*", epsilon=1)


LAWS = {
    "lognormal": (lambda rng, n: rng.lognormal(0, 1.5, n), lambda q: float(
        np.exp(1.5 * {0.25: -0.67448975, 0.5: 0.0, 0.9: 1.28155157}[q]))),
    "atoms": (lambda rng, n: np.where(rng.random(n) < 0.45, 0.0, rng.integers(1, 9, n)),
              lambda q: {0.25: 0.0, 0.5: 1.0, 0.9: 7.0}[q]),
    "two values": (lambda rng, n: (rng.random(n) < 0.5).astype(float),
                   lambda q: {0.25: 0.0, 0.5: 0.0, 0.9: 1.0}[q]),
}  # fmt: skip


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("target", ["population", "data"])
def test_intervals_of_quantiles_cover_ties_and_atoms_too(law, target):
    draw, true = LAWS[law]
    rng, levels = np.random.default_rng(8), [0.25, 0.5, 0.9]
    covered = []
    for _ in range(50):
        x = draw(rng, 600)
        release = tt.quantile(x, q=levels, epsilon=1, target=target)
        for row in release:
            own = true(row.level)
            if target == "data":
                own = np.quantile(x, row.level, method="inverted_cdf")
            covered.append(row.low <= own <= row.high)
            assert row.low <= row.value <= row.high
            assert row.intervals[0].proved
    assert np.mean(covered) >= 0.95


def test_persons_in_one_group_each_have_every_statistic_by_group():
    own = FRAME.assign(state=np.array(["CA", "NY", "TX"])[FRAME.who % 3])
    asked = {"epsilon": 1, "person": "who", "groups_per_person": 1, **BY}
    counts, sums = tt.count(own, "paid", **asked), tt.sum(own, "paid", **asked)
    medians = tt.median(own, "paid", each="person", **asked)
    for state, part in own.groupby("state"):
        assert abs(counts[state].value - part.who.nunique()) < 15
        assert sums[state].low < part.paid.sum() < sums[state].high
        true = part.groupby("who").paid.mean().median()
        assert medians[state].low < true < medians[state].high
    assert medians.difference("CA", "NY").confidence == 0.95
    assert any(note.code == "one-group" for note in sums.notes)


def test_quantiles_of_persons_count_everybody_once():
    many = pd.DataFrame({"x": np.r_[np.zeros(9_000), np.ones(3_000)],
                         "who": np.r_[np.zeros(9_000), np.arange(1, 3_001)]})  # fmt: skip
    assert float(tt.median(many, "x", epsilon=1)) == 0.0
    each = tt.median(many, "x", epsilon=1, person="who", each="person")
    assert float(each) == 1.0
    assert "of one mean per person" in str(each)


@pytest.mark.parametrize("share", [0.5, 0.1, 0.01])
def test_intervals_of_shares_cover_and_are_close_to_wilsons(share):
    rng, n, z = np.random.default_rng(9), 4_000, 1.96
    noise, found, widths = Noise("laplace", 1.0), [], []
    for _ in range(120):
        true = int(rng.binomial(n, share))
        noisy = [int(np.rint(k + rng.laplace(scale=1.0))) for k in (true, n - true)]
        low, high = share_interval(*noisy, noise, 0.95, sampled=True)
        found.append(low <= share <= high)
        part = true / n
        wilson = 2 * z / (1 + z * z / n) * math.sqrt(part * (1 - part) / n + z * z / 4 / n**2)
        widths.append((high - low) / wilson)
    assert np.mean(found) >= 0.93
    assert np.mean(widths) < 1.2


def test_a_condition_is_a_share_wherever_the_data_are(tmp_path, request):
    true = (FRAME.paid > 2_000).mean()
    path = tmp_path / "claims.parquet"
    FRAME.to_parquet(path)
    with sqlite3.connect(tmp_path / "claims.db") as base:
        FRAME.to_sql("claims", base, index=False)
    request.addfinalizer(base.close)
    ducks = duckdb.connect()
    ducks.execute("CREATE TABLE claims AS SELECT * FROM FRAME")
    places = [(FRAME, None), (path, None), (base, "claims"), (ducks, "claims")]
    for data, table in places:
        release = tt.mean(data, "paid > 2000", epsilon=1, table=table)
        assert release.method == "share"
        assert release.low < true < release.high
        assert abs(float(release) - true) < 0.005
    base.close()
    renamed = FRAME.rename(columns={"nights": "paid > 2000"})
    assert tt.mean(renamed, "paid > 2000", epsilon=1).method == "winsorized mean"  # a column's name


def test_a_description_has_every_row():
    release = tt.describe(FRAME, "paid", epsilon=2)
    assert [row.label for row in release] == [
        "count", "mean", "sum", "5% quantile", "25% quantile", "median", "75% quantile",
        "95% quantile",
    ]  # fmt: skip
    true = [N, FRAME.paid.mean(), TOTAL, *FRAME.paid.quantile([0.05, 0.25, 0.5, 0.75, 0.95])]
    inside = [row.low <= own <= row.high for row, own in zip(release, true, strict=True)]
    assert sum(inside) >= 7
    assert release["median"] is release[5]
    with pytest.raises(KeyError, match="25% quantile"):
        release["third"]
    with pytest.raises(ParameterError, match="same records"):
        release.difference("median", "mean")
    table = tt.describe(FRAME, "paid", epsilon=2, **BY)
    assert table["CA", "median"].label == "median"
    assert len(table) == 24
    few = tt.describe(FRAME.head(500), "paid", epsilon=1)
    assert any(note.code == "few-records" for note in few.notes)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: tt.quantile(FRAME, "paid", 1.5, epsilon=1), "Invalid q="),
        (lambda: tt.quantile(FRAME, "paid", [], epsilon=1), "Invalid q="),
        (lambda: tt.quantile(FRAME, "paid", "half", epsilon=1), "Use a number"),
        (lambda: tt.quantile(FRAME, "paid", 0.999, epsilon=1, n=1_000), "No budget was spent"),
        (lambda: tt.plan(n=1_000, epsilon=1, statistic="quantile", q=0.999), "cannot be estimated"),
        (lambda: tt.quantile(FRAME, "paid", epsilon=1, person="who"), "each='person'"),
        (
            lambda: tt.median(FRAME, "paid", rho=1, person="who", each="person", **BY),
            "by group",
        ),
        (lambda: tt.sum(FRAME, "paid", epsilon=1, person="who", **BY), "by group"),
        (
            lambda: tt.sum(FRAME, "paid", epsilon=1, tail=tt.Moment(2, 9.0)),
            "not available for a sum",
        ),
        (lambda: tt.sum(FRAME, "paid", epsilon=1, n_records=7), "is not available for a sum"),
        (lambda: tt.sum(FRAME, ["paid", "nights"], epsilon=1), "one column"),
        (lambda: tt.describe(FRAME, "paid", epsilon=1, person="who"), "one by one"),
        (lambda: tt.plan(n=9, epsilon=1, statistic="mode"), "statistic"),
        (lambda: tt.plan(n=9, epsilon=1, q=0.5), "requires a quantile"),
        (lambda: tt.count(FRAME, "paid > 9", epsilon=1), "use where='paid > 9' and no column"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is_spent(ask, words):
    with pytest.raises(ParameterError, match=words):
        ask()


def test_extreme_levels_are_warned_of():
    release = tt.quantile(FRAME, "paid", 0.9995, epsilon=1)
    assert any("Few records" in str(note) for note in release.notes)
    assert tt.plan(n=12_000, epsilon=1, statistic="quantile", q=0.998).advice


def test_plans_predict_what_comes():
    plan = tt.plan(n=N, epsilon=1, statistic="quantile", q=[0.5])
    widths = []
    ordered = np.sort(FRAME.paid)
    for _ in range(10):
        release = tt.median(FRAME, "paid", epsilon=1)
        ranks = np.searchsorted(ordered, [release.low, release.high]) / N
        widths.append((ranks[1] - ranks[0]) / 2)
    assert 0.6 < np.median(widths) / plan.half_width(0.95) < 1.3
    assert tt.plan(n=N, epsilon=1, statistic="count").half_width(0.95) == 3
    share = tt.plan(n=N, epsilon=1, statistic="sum")
    assert "standard deviations of one record" in str(share)
    logs = np.random.default_rng(2).lognormal(0, 1, (20, N))
    errors = [float(tt.sum(x, epsilon=1)) - x.sum() for x in logs]
    predicted = share.relative_rmse * 2.16
    assert 0.4 < np.sqrt(np.mean(np.square(errors))) / predicted < 1.6


@pytest.mark.parametrize("share", [0.0005, 0.02, 0.5, 0.98])
@pytest.mark.parametrize("grouped", [{}, {"groups_per_person": 1}, {"groups_per_person": None}])
def test_a_share_with_persons_is_within_0_and_1(share, grouped):
    rng, size = np.random.default_rng(5), 9_000
    frame = pd.DataFrame({"x": rng.random(size), "who": np.arange(size) % 3_000})
    frame["g"] = np.array(["a", "b", "c"])[frame.who % 3]
    by = {"by": "g", "keys": ["a", "b", "c"], **grouped} if grouped else {}
    release = tt.mean(frame, f"x < {share}", person="who", epsilon=0.5, **by)
    for row in release:
        assert row.label == "share"
        assert 0 <= row.low <= row.value <= row.high <= 1
        assert all(0 <= one.low <= one.high <= 1 for one in row.intervals)
    if by:
        assert "share" in release.to_frame().columns
    assert "share" in release.sentence().lower()
    again = tt.replay(release.plan, release.answers)
    assert (again.means, again.plan) == (release.means, release.plan)


def test_only_a_condition_of_records_is_a_share():
    one = tt.mean(FRAME, "paid > 1", person="who", each="person", epsilon=4)
    assert one.means[0].label == "mean"
    assert 0 <= one.low <= one.high <= 1
    mixed = tt.mean(FRAME, ["paid > 1", "paid"], person="who", epsilon=4)
    assert [row.label for row in mixed] == ["mean", "mean"]
    assert 0 <= mixed[0].low <= mixed[0].high <= 1
    total = tt.sum(FRAME, "paid > 1", person="who", epsilon=4)
    assert total.value > 1
    with pytest.raises(ParameterError, match="between 0 and 1"):
        tt.mean(FRAME, "paid > 1", person="who", within=(2, 3), epsilon=1)


@pytest.mark.parametrize(
    "asked",
    [{"statistic": "quantile", "q": [0.5, 0.9]}, {"statistic": "sum"}, {"statistic": "describe"},
     {"weights": "w"}],
    ids=lambda asked: asked.get("statistic", "weighted"),
)  # fmt: skip
@pytest.mark.parametrize("n", [25_000, 1_200])
def test_a_plan_by_group_is_that_of_a_group_of_average_size(asked, n):
    keys = ["north", "south", "east", "west", "coast", "isle"]
    by_group = tt.plan(n=n, epsilon=0.5, by="region", keys=keys, **asked)
    alone = tt.plan(n=n // len(keys), epsilon=0.5, **asked)
    assert by_group.half_width() == alone.half_width()
    assert by_group.relative_rmse == alone.relative_rmse
    assert by_group.prediction.notes == alone.prediction.notes
    if "statistic" in asked:  # nobody knows how large groups are that are chosen privately
        chosen = tt.plan(n=n, epsilon=0.5, delta=1e-6, by="region", **asked)
        assert chosen.half_width() is None


def test_the_ledger_pays_for_every_statistic(tmp_path):
    book = tt.Ledger(tmp_path / "office.ledger")
    book.create("claims", tt.pure(3))
    paid = {"ledger": book, "dataset": "claims"}
    one = tt.sum(FRAME, "paid", epsilon=1, release_id="total", **paid)
    assert tt.sum(FRAME, "paid", epsilon=1, release_id="total", **paid) == one  # for nothing
    tt.median(FRAME, "paid", epsilon=1, **paid)
    tt.count(FRAME, "paid", epsilon=0.5, **paid)
    with pytest.raises(tt.errors.BudgetError):
        tt.describe(FRAME, "paid", epsilon=1, **paid)
    with pytest.raises(tt.errors.BudgetError):  # the same id, for something else
        tt.count(FRAME, "paid", epsilon=1, release_id="total", **paid)


@pytest.mark.parametrize("command", ["sum", "count", "quantile", "describe"])
def test_the_command_line_has_every_statistic(command, tmp_path, capsys):
    path = tmp_path / "claims.csv"
    FRAME.to_csv(path, index=False)
    assert main([command, str(path), "-c", "paid", "-e", "1"]) == 0
    assert "95% CI" in capsys.readouterr().out
    report = str(tmp_path / "report.html")
    asked = [command, str(path), "-c", "paid", "-e", "1", "--by", "state", "--keys", "CA,NY"]
    assert main([*asked, "--json", "--answers", "--report", report]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["plan"]["request"]["statistic"] == command
    assert main(["replay", report]) == 0
    assert main([command, str(path), "-c", "paid", "-e", "1", "--moment", "2:9"]) == 2
    assert main([command, "--help"]) == 0
    words = re.sub(r"`tametail mean`|^.*count, mean, sum.*$|means? (-?12|0\.12)", "",
                   capsys.readouterr().out, flags=re.MULTILINE)  # fmt: skip
    own = {"sum": "one sum per", "count": "one count per", "quantile": "the quantiles per"}
    assert own.get(command, "all statistics per") in re.sub(r"\s+", " ", words)
    assert command == "describe" or "the mean" not in words


def test_the_shell_asks_for_levels_and_shares(tmp_path, capsys):
    path = tmp_path / "claims.csv"
    FRAME.to_csv(path, index=False)
    levels = ["--level", "0.25", "--level", "0.9"]
    assert main(["quantile", str(path), "-c", "paid", "-e", "1", *levels]) == 0
    assert "90% quantile" in capsys.readouterr().out
    assert main(["mean", str(path), "-c", "paid > 2000", "-e", "1"]) == 0
    assert "share" in capsys.readouterr().out
    assert main(["plan", "-n", "9000", "-e", "1", "--statistic", "quantile", "--level", "0.9"]) == 0
    assert "share of records below" in capsys.readouterr().out


def test_fakes_are_made_of_every_statistic():
    with tt.testing.fake_releases():
        for ask in ASKED.values():
            release = ask(epsilon=1)
            assert release.fake
            assert "FAKE" in str(release)


def test_sums_and_counts_of_people_speak_of_people():
    for found in (
        tt.sum(FRAME, "paid", epsilon=1, person="who"),
        tt.count(FRAME, "paid", epsilon=1, person="who"),
    ):
        assert re.search(r"data +about [0-9,]+ people", str(found))
        assert " records" not in str(found).split("privacy")[0]


def test_a_count_of_all_records_is_paid_for_by_a_ledger(tmp_path):
    ledger = tt.Ledger(tmp_path / "office.ledger")
    ledger.create("all", budget=tt.pure(2))
    paid = {"ledger": ledger, "dataset": "all"}
    assert abs(tt.count(FRAME, epsilon=1, **paid).value - len(FRAME)) < 40
    assert ledger.remaining("all").epsilon == 1


@pytest.mark.parametrize("ask", [tt.median, tt.mean], ids=["quantile", "share"])
def test_a_group_without_records_is_never_quoted(ask):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"paid": rng.lognormal(size=4_000), "state": ["CA", "NY"] * 2_000})
    column = "paid" if ask is tt.median else "paid > 1"
    table = ask(frame, column, epsilon=1, by="state", keys=["CA", "NY", "AK"])
    assert [row.usable for row in table] == [True, True, False]
    assert "no signal" in str(table)
    assert "AK no reliable estimate" in sentence(table)


@pytest.mark.parametrize("count", [0.0, 7.0])
def test_the_sum_of_a_description_has_no_limit_if_its_mean_has_none(count):
    """Also if noise makes the count 0: what has no limit is no number times 0."""
    number = Interval(0.0, 12.0, "count", "none", True, {}, 0.95)
    counted = Estimate(count, (number,), count=count)
    for ends in ((-math.inf, math.inf), (-math.inf, 4.0), (1.0, math.inf)):
        mean = Estimate(2.0, (Interval(*ends, *MEAN, True, {}, 0.95),))
        (found,) = _sum(mean, counted, 0.95).intervals
        assert found.low <= 2.0 * count <= found.high
        assert [math.isinf(end) for end in (found.low, found.high)] == [*map(math.isinf, ends)]
