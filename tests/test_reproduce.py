"""The laboratory: small runs of every experiment, the report's files, and the fits."""

import math
import operator
import os
import signal
import subprocess
import sys
import time
from functools import partial
from multiprocessing import active_children
from pathlib import Path

import numpy as np
import pytest

import tametail.reproduce
from tametail import cli
from tametail.errors import MissingExtraError, ParameterError
from tametail.inequalities.lower_bounds import coin_floor, hardest_coins
from tametail.paper import mean_1d
from tametail.reproduce import (
    EXPERIMENTS,
    balls,
    dimensions,
    estimators,
    family,
    hard,
    needed,
    persons,
    phases,
    price,
    ranges,
    reproduce,
    slopes,
    tournament_rate,
)
from tametail.reproduce.checks import Power, at_most, has_powers, judge, not_below, worst
from tametail.reproduce.measured import Measured, fit_slope, mean_absolute, root_mean_square
from tametail.reproduce.report import (
    Chart,
    Check,
    Line,
    Report,
    Section,
    Table,
    Verdict,
    html,
    markdown,
)
from tametail.reproduce.trials import Cell, Experiment, run_cells
from tametail.theory import lower_bound, optimal_clip

NAMES = {
    "slopes",
    "visible",
    "pdpodme",
    "cdpodme",
    "adpodme",
    "phases",
    "price",
    "hard",
    "family",
    "ranges",
    "needed-alpha",
    "needed-beta",
    "person-persons",
    "person-rows",
    "ball-zcdp",
    "ball-approximate",
    "dimensions-zcdp",
    "dimensions-approximate",
    "dimensions",
    "tournament",
    "tournament-alpha",
}
HOLDS, UNDECIDED, FAILS = Verdict


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run with the least of everything, in this process."""
    folder = tmp_path_factory.mktemp("laboratory") / "new" / "folder"
    parts = []
    checks = reproduce(folder, effort="tiny", workers=1, advance=parts.append)
    return folder, checks, parts


def test_files_are_written(made):
    folder, _, _ = made
    pictures = {path.stem for path in folder.glob("*.png")}
    assert pictures == NAMES
    assert {path.name for path in folder.iterdir()} - {f"{name}.png" for name in NAMES} == {
        "report.md",
        "report.html",
    }
    for path in folder.glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")


def test_report_shows_every_experiment(made):
    folder, checks, _ = made
    text, page = ((folder / name).read_text("utf-8") for name in ("report.md", "report.html"))
    assert text.count("\n## ") == page.count("<h2>") == len(EXPERIMENTS)
    assert "So far" not in text
    for name in NAMES:
        assert f"({name}.png)" in text
        assert f'src="{name}.png"' in page
    assert "seed 20200221" in text
    assert page.count("<table>") == text.count("\n| :--- |")
    # All claims are in one table at the top, before the first section.
    top = text.partition("\n## ")[0]
    for check in checks:
        cells = (check.claim, check.theory, check.measured, check.tolerance, check.verdict)
        assert f"| {' | '.join(cells)} |" in top
    assert all(check.tolerance for check in checks)


def test_progress_goes_from_start_to_end(made):
    _, _, parts = made
    assert parts == sorted(parts)
    assert parts[-1] == 1.0


def test_a_small_run_looks_at_every_bound(made):
    """Two repetitions say little about an error: only that it was compared."""
    _, checks, _ = made
    assert sum("below the" in check.claim for check in checks) >= 4


# --- verdicts


@pytest.mark.parametrize("theory", [-0.5, -2 / 3, -0.75])
def test_a_wrong_exponent_fails_and_a_vague_one_is_undecided(theory):
    rivals = [power for power in (-0.5, -2 / 3, -0.75, -1.0) if power != theory]

    def verdict(value, deviation):
        return Power("", Measured(value, deviation), theory, rivals).verdict

    assert verdict(theory, 0.01) == HOLDS
    for rival in rivals:
        assert verdict(rival, 0.01) == FAILS
        # However large the standard error is: a wrong exponent never holds.
        assert all(verdict(rival, deviation) != HOLDS for deviation in (0.0, 0.05, 1.0))
    assert verdict(theory, 0.5) == UNDECIDED


def test_a_group_of_claims_is_as_good_as_its_worst():
    assert worst([HOLDS, UNDECIDED, HOLDS]) == UNDECIDED
    assert worst([HOLDS, FAILS, UNDECIDED]) == FAILS
    assert worst([]) == UNDECIDED
    powers = [Power("a", Measured(x, 0.01), -1.0, (0.0,)) for x in (-1.0, -0.2)]
    check = has_powers("the claim", powers)
    assert check.verdict == FAILS
    assert check.theory == "-1.000, -1.000"
    assert check.tolerance == "0.500, 0.500"


def test_a_bound_is_decided_by_precise_errors_only():
    def verdict(value, deviation):
        return not_below("no", [Measured(value, deviation)], [1.0]).verdict

    assert verdict(1.3, 0.05) == HOLDS
    assert verdict(0.95, 0.05) == HOLDS  # chance can explain it
    assert verdict(1.3, 0.5) == UNDECIDED
    assert verdict(0.8, 0.05) == FAILS
    assert verdict(0.5, 0.1) == UNDECIDED  # a fifth of it: too few draws to say so
    assert at_most("x", Measured(0.9, 0.01), 1.0).verdict == HOLDS
    assert at_most("x", Measured(0.99, 0.01), 1.0).verdict == UNDECIDED
    assert at_most("x", Measured(1.1, 0.01), 1.0).verdict == FAILS
    assert judge(0.0, 0.0, 0.0) == HOLDS


def test_two_bisections_that_agree_by_chance_decide_nothing():
    """A quick run said FAILS: both ended at 2,198 where 3,806 records are the least."""
    cells = needed.experiment("quick").cells
    rng = np.random.default_rng(1)
    errors = {
        key: 2 * needed.floor(key) * rng.lognormal(0, 0.3, (cell.repeats, 1))
        for key, cell in cells.items()
    }
    errors["tametail.mean", 2, 0.05, 0.3] = np.full((2, 1), 2_198.0)
    check = next(c for c in needed.conclude(errors).checks if "lower bound" in c.claim)
    assert check.verdict == UNDECIDED


def _constant(rng, *, value):
    return [value, float(rng.integers(1000))]


def test_every_repetition_has_its_own_records():
    def made():
        cells = {value: Cell(partial(_constant, value=value), 3) for value in (1.0, 2.0)}
        return [Experiment("", cells, lambda _: Section("", []))]

    (found,) = list(run_cells(made(), 1, lambda _: None))
    assert found[1.0].shape == (3, 2)
    assert (found[1.0][:, 0] == 1).all()
    assert (found[2.0][:, 0] == 2).all()
    assert len({*found[1.0][:, 1], *found[2.0][:, 1]}) > 3
    (again,) = run_cells(made(), 1, lambda _: None)
    assert all((again[key] == rows).all() for key, rows in found.items())


def test_two_processes_find_the_same():
    # A function that another process can import, unlike those of a test.
    cells = {1: Cell(partial(np.random.Generator.standard_normal, size=3), 4)}
    experiment = Experiment("", cells, lambda _: Section("", []))
    (one,), (two,) = (run_cells([experiment], workers, lambda _: None) for workers in (1, 2))
    assert (one[1] == two[1]).all()


def test_measures():
    rows = np.array([[3.0, -3.0], [5.0, -5.0]])
    # Of two rows little is known: 12.7 standard errors are what 1.96 are of many.
    wide = 12.706 / 1.96
    assert mean_absolute(rows) == Measured(4.0, pytest.approx(wide, rel=1e-3))
    found = root_mean_square(rows)
    assert found.value == pytest.approx(math.sqrt(17))
    # The squares are 9 and 25: 17 +- 8, and d sqrt(x) = dx/(2 sqrt(x)).
    assert found.deviation == pytest.approx(wide * 8 / (2 * math.sqrt(17)), rel=1e-3)
    many = np.array([[3.0], [5.0]] * 500)
    assert mean_absolute(many).deviation == pytest.approx(1 / math.sqrt(999), rel=2e-3)
    # What bisection leaves open is open, whatever the repetitions say.
    assert mean_absolute(np.full((9, 1), 100.0), 1.1).deviation == pytest.approx(
        100 * math.log(1.1) / math.sqrt(12)
    )
    assert Measured(0.9, 0.05).may_be_at_least(1.0)
    assert not Measured(0.9, 0.02).may_be_at_least(1.0)


@pytest.mark.parametrize("k", [2, 3, 4, 8])
def test_slope_of_exact_power_laws(k):
    sizes = [100, 1000, 30_000]
    power = -(k - 1) / k
    exact = [Measured(7 * n**power, 0.0) for n in sizes]
    assert fit_slope(sizes, exact) == Measured(pytest.approx(power), 0.0)
    known = [Measured(point.value, 0.01 * point.value) for point in exact]
    fitted = fit_slope(sizes, known)
    assert fitted.value == pytest.approx(power)
    spread = np.log(sizes) - np.mean(np.log(sizes))
    assert fitted.deviation == pytest.approx(0.01 / math.sqrt((spread**2).sum()))


def test_slope_trusts_precise_points():
    points = [Measured(1.0, 1e-4), Measured(0.1, 1e-5), Measured(5.0, 5.0)]
    assert fit_slope([1, 10, 100], points).value == pytest.approx(-1, abs=1e-3)


def test_slope_checks_can_fail():
    """Errors that fall as 1/n are no privacy term for k = 2."""
    cells = slopes.experiment("tiny").cells
    for power_of, holds in ((-0.5, True), (-1.0, False)):
        errors = {key: np.full((3, 2), 5e3 * key[2] ** power_of) for key in cells}
        verdicts = slopes.conclude(errors).checks
        powers = [check.measured.split("; ")[0] for check in verdicts]
        assert len(powers) == 2
        assert all(power.startswith(f"k = 2: {power_of:.3f}") for power in powers)
        # All k fall alike, so some of them are wrong; with k = 2 alone, right is right.
        assert all(check.verdict == FAILS for check in verdicts)
        alone = Power("", Measured(power_of, 0.001), -0.5, (-2 / 3, -1.0))
        assert (alone.verdict == HOLDS) is holds


def test_more_effort_draws_more_of_every_law():
    draws = {}
    for effort in ("quick", "full"):
        for (law, *_), cell in slopes.experiment(effort).cells.items():
            draws[effort, law] = max(draws.get((effort, law), 0), cell.repeats)
    assert draws["full", "D2"] > draws["quick", "D2"] > 4
    assert draws["full", "D±"] > draws["quick", "D±"] > 4


def test_root_mean_squares_stand_beside_a_bound_on_them():
    """Errors of 0 and 2 have the mean size 1 and the root mean square 1.41."""
    cells = slopes.experiment("tiny").cells
    section = slopes.conclude({key: np.array([[0.0, 2.0]] * 3) for key in cells})
    dots = [line for chart in section.charts for line in chart.lines if line.style == "o"]
    assert dots
    assert all(float(y) == pytest.approx(math.sqrt(2)) for line in dots for y in line.y)


@pytest.mark.parametrize(("ratio", "expected"), [(0.9, FAILS), (1.1, HOLDS), (3.0, HOLDS)])
def test_bound_checks_can_fail(ratio, expected):
    cells = hard.experiment("tiny").cells
    section = hard.conclude({key: np.full((3, 2), ratio * key.bound) for key in cells})
    assert [check.verdict for check in section.checks] == [expected]
    assert f"in the picture is {ratio:g};" in section.words[0]


def test_settings_carry_their_own_bound():
    setting = hard.Setting("tametail.mean", 2, 1.0, 1000, definition="zCDP")
    assert setting.bound == lower_bound(1000, k=2, rho=0.5)
    unit = hard.Setting("tametail.mean", 2, 1.0, 1000, unit="add-remove")
    assert unit.bound == lower_bound(1000, k=2, epsilon=2.0)
    assert setting.instance().kth_moment(2) == pytest.approx(1)
    assert setting.instance(1e9).p == 0.5


def test_fixed_clip_by_simulation():
    setting = hard.Setting("tametail.mean", 2, 1.0, 1000)
    law, rng = setting.instance(3.0), np.random.default_rng(4)
    clip = optimal_clip(1000, k=2, epsilon=1.0)
    hits = rng.binomial(1000, law.p, 400_000)
    released = (hits * min(law.tau, clip) + rng.laplace(0, 2 * clip, hits.size)) / 1000
    simulated = math.sqrt(np.mean((released - law.mean) ** 2))
    exact = family.fixed_clip_error(law, n=1000, k=2, epsilon=1.0)
    assert simulated == pytest.approx(exact, rel=0.02)


def test_the_price_is_compared_with_the_bounds_of_its_own_laws():
    """The floor without privacy is proved on coins: no other law has to respect it."""
    cells = price.experiment("tiny").cells

    def verdict(coins):
        errors = {}
        for law, k in cells:
            bound = lower_bound(price.RECORDS, k=k, epsilon=price.EPSILON)
            own = {"D±": bound, "coins": coins * hardest_coins(price.RECORDS, k)[0], "normal": 1e-9}
            errors[law, k] = np.full((3, 2), own[law])
        return next(c.verdict for c in price.conclude(errors).checks if "below the" in c.claim)

    assert verdict(1.01) == HOLDS
    assert verdict(0.9) == FAILS


def test_coins_are_as_their_bound_wants_them():
    floor, width, value = hardest_coins(30_000, 8)
    assert floor == coin_floor(30_000, 8) == lower_bound(30_000, k=8)
    for mean in np.linspace(0, width, 50):  # in units of c; the k-th central moment
        up, down = (1 + mean) / 2, (1 - mean) / 2
        moment = up * (value * (1 - mean)) ** 8 + down * (value * (1 + mean)) ** 8
        assert moment <= 1 + 1e-9


@pytest.mark.parametrize("right", [True, False])
def test_powers_of_alpha_and_beta_can_fail(right):
    """n that grows as 1/alpha is too slow for every k, and n that forgets beta is too."""
    errors = {}
    for who, k, alpha, beta in needed.experiment("tiny").cells:
        keys = ((who, k, alpha, found) for found in (beta, needed.BETA))
        blocks = operator.truediv(*map(needed.theorem, keys))
        n = alpha ** (-k / (k - 1)) * blocks if right else 1 / alpha
        errors[who, k, alpha, beta] = np.full((2, 1), 100 * n)
    checks = [check for check in needed.conclude(errors).checks if "grow" in check.claim]
    assert [check.verdict for check in checks] == [HOLDS if right else FAILS] * 4


def test_too_few_records_are_noticed():
    cells = needed.experiment("tiny").cells
    found = {key: np.full((2, 1), 0.5 * needed.floor(key)) for key in cells}
    below, enough = needed.conclude(found).checks[-2:]
    assert below.verdict == FAILS
    assert enough.verdict == HOLDS
    assert all(needed.floor(key) for key in cells)  # no algorithm is without a bound


def test_persons_are_compared_with_the_rate():
    cells = persons.experiment("tiny").cells
    for wrong in (0.0, 0.2):
        errors = {
            (k, n, m): np.full((3, 1), (n * m) ** (-((k - 1) / k if k else 0.5) - wrong))
            for k, n, m in cells
        }
        verdicts = {check.verdict for check in persons.conclude(errors).checks}
        assert verdicts == {FAILS if wrong else HOLDS}


@pytest.mark.parametrize("right", [True, False])
def test_the_ball_is_compared_with_its_formula(right):
    cells = balls.experiment("tiny").cells
    errors = {}
    for definition, k, d, n in cells:
        like = k if right else {2: 3, 3: 4, 4: 2}[k]
        ball, ours = (balls.exact_error(definition, like, d, n), 1.0)
        errors[definition, k, d, n] = np.array([[ball, ours]] * 3)
    powers = [check for check in balls.conclude(errors).checks if "formula" in check.claim]
    assert [check.verdict for check in powers] == [HOLDS if right else FAILS] * 4


@pytest.mark.parametrize(("definition", "k", "d"), [("zCDP", 2, 2), ("approximate", 4, 20)])
def test_the_formula_of_the_ball_is_its_error(definition, k, d):
    n = 20_000
    rng = np.random.default_rng(5)
    runs = 120 if d == 2 else 30
    found = root_mean_square(
        np.array(
            [[balls._errors(rng, definition=definition, k=k, d=d, n=n)[0]] for _ in range(runs)]
        )
    )
    assert abs(found.value - balls.exact_error(definition, k, d, n)) <= 5 * found.deviation


def test_too_few_rows_for_the_ball_are_said_and_drawn_apart():
    cells = dimensions.experiment("full").cells
    section = dimensions.conclude({key: np.ones((2, 2)) for key in cells})
    words = " ".join(section.words)
    assert "from d = 5 on (zCDP) and from d = 2 on (approximate)" in words
    assert "nothing is promised" in words
    (chart,) = (chart for chart in section.charts if chart.name == "dimensions-approximate")
    apart = [line for line in chart.lines if line.label == "paper.mean_ball, too few rows"]
    assert all(200 in line.x for line in apart)
    assert len(apart) == 3


@pytest.mark.parametrize("right", [True, False])
def test_the_tournaments_power_of_alpha_can_fail(right):
    errors = {
        (d, k, alpha): np.full((2, 1), 1e3 * alpha ** -((k if right else 6 - k) / (k - 1)))
        for d, k, alpha in tournament_rate.experiment("tiny").cells
    }
    (check,) = tournament_rate.conclude(errors).checks
    assert check.verdict == (HOLDS if right else FAILS)


def test_powers_of_log_r_can_fail():
    cells = ranges.experiment("tiny").cells
    for wrong, expected in ((0.0, HOLDS), (0.5, FAILS)):
        errors = {
            (definition, exponent): np.full(
                (2, 1), 2 * exponent ** (ranges.NOTIONS[definition][2] + wrong)
            )
            for definition, exponent in cells
        }
        assert ranges.conclude(errors).checks[0].verdict == expected


@pytest.mark.parametrize(("power", "expected"), [(3.0, HOLDS), (2.0, FAILS)])
def test_the_phase_change_moves_with_the_power_of_epsilon(power, expected):
    """What privacy adds: at an n that moves so, it is as large as the sampling error."""
    spread = math.sqrt(phases.pareto().kth_moment(2))
    errors = {}
    for epsilon, n in phases.experiment("quick").cells:
        change = 2e5 * (0.1 / epsilon) ** power
        added = spread / math.sqrt(n) * (n / change) ** -0.25
        signs = np.array([[1.0] * 4, [-1.0] * 4, [1.0] * 4, [-1.01] * 4])
        errors[epsilon, n] = np.hstack([added * signs, np.zeros((4, 1))])
    moved = phases.conclude(errors).checks[1]
    if power == 3.0:
        assert moved.verdict == expected
    else:  # one of the changes is outside of what was measured, or the power is wrong
        assert moved.verdict != HOLDS


@pytest.mark.parametrize("name", estimators.ALGORITHMS)
@pytest.mark.parametrize("k", estimators.MOMENTS)
def test_slopes_of_the_papers_estimators(name, k):
    """Within .05 of theory for every k and notion: exactly, without a draw."""
    sizes = sorted({n for *_, n in estimators.experiment("full").cells})
    assert abs(estimators.exact_slope(name, k, sizes) + (k - 1) / k) <= 0.05


@pytest.mark.parametrize("name", estimators.ALGORITHMS)
def test_the_exact_error_is_that_of_the_algorithm(name):
    n, k = 20_000, 3
    law, alpha = estimators._setting(name, k, n)
    budget, _ = estimators.ALGORITHMS[name]
    rng = np.random.default_rng(3)
    errors = []
    for _ in range(300):
        value = mean_1d(
            law.sample(n, rng), budget, alpha=alpha, beta=estimators.BETA, k=k, R=estimators.R
        )
        errors.append([value - law.mean])
    found = root_mean_square(np.array(errors))
    assert abs(found.value - estimators.exact_error(name, k, n)) <= 5 * found.deviation


def test_no_crossing():
    assert phases.crossing([10, 100], [Measured(3.0, 0.1), Measured(2.0, 0.1)]) is None
    assert phases.crossing([10, 100], [Measured(0.5, 0.1), Measured(2.0, 0.1)]) is None


def test_a_crossing_is_no_accident_of_one_point():
    """A quick run said FAILS: one ratio of 0.94, in truth 1.23, moved the crossing by a half."""
    sizes = {0.3: (3_162, 5_623, 17_783, 100_000), 0.1: (17_783, 100_000, 316_228, 1_000_000)}
    found = {
        0.3: [(1.66, 0.2), (1.49, 0.3), (0.781, 0.09), (0.623, 0.08)],
        0.1: [(2.01, 0.1), (0.938, 0.08), (0.883, 0.1), (0.765, 0.1)],
    }
    changes = {
        epsilon: phases.crossing(sizes[epsilon], [Measured(*ratio) for ratio in ratios])
        for epsilon, ratios in found.items()
    }
    assert phases._moved(changes).verdict != FAILS
    # What the full run found, 7,396 and 179,699, within two standard errors.
    assert abs(changes[0.3].value - 7_396) < 2 * changes[0.3].deviation
    assert abs(changes[0.1].value - 179_699) < 2 * changes[0.1].deviation


def test_text_is_escaped_and_tables_are_shown():
    chart = Chart("name", "a < b", "x", "y", [Line("line", [1, 2], [1, 2])])
    check = Check("x > 0", "1", "0 < 1", "0.5", FAILS)
    section = Section("R & D", ["1 < 2"], [check], [Table(["h"], [["&"]])], [chart])
    report = Report("T", ["<p>"], [section])
    page = html(report)
    row = "<td>x &gt; 0</td><td>1</td><td>0 &lt; 1</td><td>0.5</td><td>FAILS</td>"
    for shown in ("R &amp; D", "1 &lt; 2", row, "<td>&amp;</td>", "a &lt; b"):
        assert shown in page
    assert "&lt;p&gt;" in page
    assert "| x > 0 | 1 | 0 < 1 | 0.5 | FAILS |" in markdown(report)


def test_pictures_are_refused_before_any_work(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match="pip install 'matplotlib>="):
        reproduce(tmp_path / "folder", effort="tiny")
    assert not (tmp_path / "folder").exists()


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ParameterError, match="cannot be made"):
        reproduce(tmp_path / "file", effort="tiny")


@pytest.mark.parametrize(("arguments", "effort"), [(["--quick"], "quick"), ([], "full")])
@pytest.mark.parametrize(("verdict", "code"), [(HOLDS, 0), (UNDECIDED, 0), (FAILS, 1)])
def test_command_line(monkeypatch, tmp_path, capsys, arguments, effort, verdict, code):
    seen = {}

    def stub(folder, **settings):
        seen.update(settings, folder=folder)
        return [Check("the theory", "1", "1 ± 0.1", "0.5", verdict)]

    monkeypatch.setattr(tametail.reproduce, "reproduce", stub)
    folder = str(tmp_path / "out")
    assert cli.main(["reproduce", *arguments, "--output", folder]) == code
    assert (seen["folder"], seen["effort"]) == (folder, effort)
    shown = capsys.readouterr().out
    assert f"{verdict}: the theory: 1 ± 0.1 (theory 1; tolerance 0.5)" in shown
    assert "report.html" in shown


# --- stopped before the end


class StopError(Exception):
    pass


def test_the_report_is_written_as_it_goes(tmp_path, monkeypatch):
    """Whoever is stopped after the second experiment has a report with two."""
    for number, module in enumerate(EXPERIMENTS):
        cells = {1: Cell(partial(_constant, value=1.0), 2)}
        chart = Chart(f"chart-{number}", "", "x", "y", [Line("", [1, 2], [1, 2])])
        section = Section(f"Experiment {number}", ["words"], charts=[chart])
        made = Experiment("", cells, lambda _, section=section: section)
        monkeypatch.setattr(module, "experiment", lambda _, made=made: made)
    seen = []

    def advance(part):
        seen.append(part)
        if part > 5 / (2 * len(EXPERIMENTS)):
            raise StopError

    with pytest.raises(StopError):
        reproduce(tmp_path, effort="tiny", workers=1, advance=advance)
    text = (tmp_path / "report.md").read_text("utf-8")
    assert f"So far it has 2 of {len(EXPERIMENTS)} experiments." in text
    assert "## Experiment 1" in text
    assert "## Experiment 2" not in text
    assert {path.name for path in tmp_path.glob("*.png")} == {"chart-0.png", "chart-1.png"}


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "term")]
)
def test_it_ends_quietly_when_it_is_stopped(tmp_path, number, code, word):
    """Ctrl-C goes to all processes of a terminal: no traceback of any of them, no budget."""
    folder = tmp_path / "out"
    command = [sys.executable, "-m", "tametail", "reproduce", "--quick", "-o", str(folder)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        for _ in range(600):
            if (folder / "report.md").exists():
                break
            time.sleep(0.1)
        time.sleep(2.0)  # two more processes are starting, or at work
        send = os.killpg if number == signal.SIGINT else os.kill
        send(process.pid, number)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == code
    assert out == ""
    assert err.count("\n") == 1
    assert word in err
    assert "report.html" in err
    assert "budget" not in err
    assert "So far it has" in (folder / "report.md").read_text("utf-8")
    assert Path(folder, "report.html").exists()


def test_no_process_is_left_when_nobody_listens():
    cells = {1: Cell(partial(np.random.Generator.standard_normal, size=3), 50)}
    experiment = Experiment("", cells, lambda _: Section("", []))

    def stop(_):
        raise StopError

    with pytest.raises(StopError):
        list(run_cells([experiment], 2, stop))
    # A thread of the pool may be waiting for the same processes, and has their ends first.
    ends = time.monotonic() + 30
    while active_children() and time.monotonic() < ends:
        time.sleep(0.1)
    assert active_children() == []
