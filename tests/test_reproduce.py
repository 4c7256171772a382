"""The laboratory: small runs of every experiment, the report's files, and the fits."""

import math
import operator
import sys
from functools import partial

import numpy as np
import pytest

import tametail.reproduce
from tametail import cli
from tametail.errors import MissingExtraError, ParameterError
from tametail.paper import mean_1d
from tametail.reproduce import (
    EXPERIMENTS,
    estimators,
    family,
    hard,
    needed,
    persons,
    phases,
    price,
    reproduce,
    slopes,
)
from tametail.reproduce.report import Chart, Check, Line, Report, Section, Table, html, markdown
from tametail.reproduce.trials import (
    Cell,
    Experiment,
    Measured,
    mean_absolute,
    root_mean_square,
    run_cells,
)
from tametail.theory import lower_bound, optimal_clip
from tametail.theory.lower_bounds import coin_floor, hardest_coins

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
}


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
    for name in NAMES:
        assert f"({name}.png)" in text
        assert f'src="{name}.png"' in page
    assert all(str(check) in text for check in checks)
    assert "seed 20200221" in text
    assert page.count("<table>") == text.count("| ---: |\n")


def test_progress_goes_from_start_to_end(made):
    _, _, parts = made
    assert parts == sorted(parts)
    assert parts[-1] == 1.0


def test_a_small_run_looks_at_every_bound(made):
    """Two repetitions say little about an error: only that it was compared."""
    _, checks, _ = made
    assert sum("below the" in check.statement for check in checks) >= 4
    assert sum("at most 1.6 times" in check.statement for check in checks) == 1


@pytest.mark.parametrize(
    ("ratio", "above_the_bound", "within_the_factor"),
    [(0.9, False, True), (1.1, True, True), (1.5, True, True), (1.7, True, False)],
)
def test_errors_are_compared_with_the_bound_and_with_a_multiple_of_it(
    ratio, above_the_bound, within_the_factor
):
    settings = hard.experiment("tiny").cells
    errors = {setting: np.full((30, 2), ratio * setting.bound) for setting in settings}
    below, factor = hard.conclude(errors).checks
    assert below.holds is above_the_bound
    assert factor.holds is within_the_factor


def _constant(rng, *, value):
    return [value, float(rng.integers(1000))]


def test_every_repetition_has_its_own_records():
    def made():
        cells = {value: Cell(partial(_constant, value=value), 3) for value in (1.0, 2.0)}
        return [Experiment("", cells, lambda _: Section("", []))]

    (found,) = run_cells(made(), 1, lambda _: None)
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
    assert mean_absolute(rows) == Measured(4.0, 1.0)
    found = root_mean_square(rows)
    assert found.value == pytest.approx(math.sqrt(17))
    # The squares are 9 and 25: 17 +- 8, and d sqrt(x) = dx/(2 sqrt(x)).
    assert found.deviation == pytest.approx(8 / (2 * math.sqrt(17)))
    assert Measured(0.9, 0.05).may_be_at_least(1.0)
    assert not Measured(0.9, 0.02).may_be_at_least(1.0)


@pytest.mark.parametrize("k", [2, 3, 4, 8])
def test_slope_of_exact_power_laws(k):
    sizes = [100, 1000, 30_000]
    power = -(k - 1) / k
    exact = [Measured(7 * n**power, 0.0) for n in sizes]
    assert slopes.fit_slope(sizes, exact) == Measured(pytest.approx(power), 0.0)
    known = [Measured(point.value, 0.01 * point.value) for point in exact]
    fitted = slopes.fit_slope(sizes, known)
    assert fitted.value == pytest.approx(power)
    spread = np.log(sizes) - np.mean(np.log(sizes))
    assert fitted.deviation == pytest.approx(0.01 / math.sqrt((spread**2).sum()))


def test_slope_trusts_precise_points():
    points = [Measured(1.0, 1e-4), Measured(0.1, 1e-5), Measured(5.0, 5.0)]
    assert slopes.fit_slope([1, 10, 100], points).value == pytest.approx(-1, abs=1e-3)


def test_slope_checks_can_fail():
    """Errors that fall as 1/n are no privacy term for k = 2."""
    cells = slopes.experiment("tiny").cells
    for power, holds in ((-0.5, True), (-1.0, False)):
        errors = {key: np.full((3, 2), 5e3 * key[2] ** power) for key in cells}
        verdicts = slopes.conclude(errors).checks
        assert [check.holds for check in verdicts if "k = 2" in check.statement] == [holds] * 2


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
    assert all(value == pytest.approx(math.sqrt(2)) for line in dots for value in line.y)


def test_bound_checks_can_fail():
    cells = hard.experiment("tiny").cells
    for factor, expected in ((0.9, [False, True]), (1.5, [True, True]), (3.0, [True, False])):
        errors = {key: np.full((3, 2), factor * key.bound) for key in cells}
        assert [check.holds for check in hard.conclude(errors).checks] == expected


def test_settings_carry_their_own_bound():
    setting = hard.Setting("tametail.mean", 2, 1.0, 1000, notion="zCDP")
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
        return next(c.holds for c in price.conclude(errors).checks if "below the" in c.statement)

    assert verdict(1.01)
    assert not verdict(0.9)


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
    checks = [check for check in needed.conclude(errors).checks if "power of" in check.statement]
    assert [check.holds for check in checks] == [right] * 12


def test_too_few_records_are_noticed():
    cells = needed.experiment("tiny").cells
    found = {key: np.full((2, 1), 0.5 * needed.floor(key) or 1.0) for key in cells}
    below, enough = needed.conclude(found).checks[:2]
    assert not below.holds
    assert enough.holds


def test_persons_are_compared_with_the_rate():
    cells = persons.experiment("tiny").cells
    for wrong in (0.0, 0.2):
        errors = {
            (k, n, m): np.full((3, 1), (n * m) ** (-((k - 1) / k if k else 0.5) - wrong))
            for k, n, m in cells
        }
        assert all(check.holds for check in persons.conclude(errors).checks) is (wrong == 0)


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
    assert phases.crossing([10, 100], [Measured(3.0, 0), Measured(2.0, 0)]) is None


def test_text_is_escaped_and_tables_are_shown():
    chart = Chart("name", "a < b", "x", "y", [Line("line", [1, 2], [1, 2])])
    section = Section("R & D", ["1 < 2"], [Check("x > 0", False)], [Table(["h"], [["&"]])], [chart])
    report = Report("T", ["<p>"], [section])
    page = html(report)
    for shown in ("R &amp; D", "1 &lt; 2", "FAILS: x &gt; 0", "<td>&amp;</td>", "a &lt; b"):
        assert shown in page
    assert "&lt;p&gt;" in page
    assert "- FAILS: x > 0" in markdown(report)


def test_pictures_are_refused_before_any_work(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match="tametail\\[plots\\]"):
        reproduce(tmp_path / "folder", effort="tiny")
    assert not (tmp_path / "folder").exists()


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ParameterError, match="cannot be made"):
        reproduce(tmp_path / "file", effort="tiny")


@pytest.mark.parametrize(("arguments", "effort"), [(["--quick"], "quick"), ([], "full")])
@pytest.mark.parametrize("holds", [True, False])
def test_command_line(monkeypatch, tmp_path, capsys, arguments, effort, holds):
    seen = {}

    def stub(folder, **settings):
        seen.update(settings, folder=folder)
        return [Check("the theory", holds)]

    monkeypatch.setattr(tametail.reproduce, "reproduce", stub)
    folder = str(tmp_path / "out")
    assert cli.main(["reproduce", *arguments, "--output", folder]) == (0 if holds else 1)
    assert (seen["folder"], seen["effort"]) == (folder, effort)
    shown = capsys.readouterr().out
    assert ("holds: the theory" if holds else "FAILS: the theory") in shown
    assert "report.html" in shown
