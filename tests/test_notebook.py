"""Notebooks: pictures and cells show by themselves, and the example in the docs is kept true."""

import base64
import sys
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest

import tametail as tt

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from make_notebook import CELLS, TARGET, execute, make, sources  # noqa: E402

RECORDS = np.random.default_rng(2).lognormal(3, 1, 9000)


def kinds(cell):
    return {kind for output in cell["outputs"] for kind in output.get("data", {})}


def test_the_notebook_of_the_docs_has_the_cells_that_are_run():
    notebook = nbformat.read(TARGET, 4)
    nbformat.validate(notebook)
    assert sources(notebook) == list(CELLS)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["execution_count"] is not None
            assert all(output["output_type"] != "stream" for output in cell["outputs"])
    assert "/tmp" not in TARGET.read_text(encoding="utf-8")


def test_the_notebook_runs_and_shows_what_it_should():
    notebook = execute(make())
    shown = {cell["source"].splitlines()[-1]: cell for cell in notebook["cells"]}
    for name in ("plan", "release", "by_state", "ledger", "release.guarantee"):
        assert "text/html" in kinds(shown[name]), name
    for name in ("plan.plot()", "release.plot()"):
        assert "image/png" in kinds(shown[name]), name
    replayed = shown["tt.replay(release.plan, release.answers) == release"]["outputs"][0]
    assert replayed["data"]["text/plain"] == "True"
    written = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    streams = [one for cell in written for one in cell["outputs"] if one["output_type"] == "stream"]
    assert streams == []


def test_plots_show_in_a_cell():
    release = tt.mean(RECORDS, epsilon=1)
    for axes in (release.plot(), release.plan.plot()):
        assert axes._repr_png_().startswith(b"\x89PNG")
        assert len(base64.b64encode(axes._repr_png_())) > 5000


def test_axes_of_the_caller_stay_the_callers():
    from matplotlib.figure import Figure

    own = Figure().add_subplot()
    assert tt.mean(RECORDS, epsilon=1).plot(own) is own
    assert not hasattr(own, "_repr_png_")


def test_short_reprs():
    release = tt.mean(RECORDS, epsilon=1)
    for thing in (release, release.plan, release.guarantee, release[0]):
        assert len(repr(thing)) < 120
        assert "\n" not in repr(thing)
    assert repr(release).startswith("<Release: mean ")
    assert "epsilon = 1" in repr(release)
    several = tt.mean(np.column_stack([RECORDS, RECORDS]), rho=1)
    assert repr(several) == "<Release: 2 means, rho = 1>"


def test_one_mean_formats_and_rounds_as_a_number():
    release = tt.mean(RECORDS, epsilon=1)
    assert f"{release:,.2f}" == f"{release.value:,.2f}"
    assert f"{release[0]:.3e}" == f"{release.value:.3e}"
    assert f"{release}" == str(release)
    assert round(release, 1) == round(release.value, 1)
    assert isinstance(round(release), int)
    assert round(release[0]) == round(release.value)
    several = tt.mean(np.column_stack([RECORDS, RECORDS]), rho=1)
    assert f"{several}" == str(several)
    with pytest.raises(TypeError, match="not a number"):
        f"{several:.2f}"
    with pytest.raises(TypeError, match="not a number"):
        round(several)


def test_cells_escape_what_they_show():
    frame = pd.DataFrame({"<i>paid": RECORDS, "k": np.resize(["<b>a", "b"], 9000)})
    release = tt.mean(frame, "<i>paid", by="k", keys=["<b>a", "b"], epsilon=1)
    assert "<b>a" not in release._repr_html_()
    assert "&lt;b&gt;a" in release._repr_html_()
    assert "<i>" not in tt.mean(frame, "<i>paid", epsilon=1)._repr_html_()


def test_a_long_table_is_folded():
    keys = [f"k{number}" for number in range(90)]
    frame = pd.DataFrame({"paid": RECORDS, "k": np.resize(keys, 9000)})
    page = tt.mean(frame, "paid", by="k", keys=keys, epsilon=1)._repr_html_()
    assert "30 more rows" in page
    assert page.count("<tr>") == 92


def test_a_ledger_shows_what_is_left(tmp_path):
    ledger = tt.Ledger(tmp_path / "<b>.ledger")
    ledger.create("claims", tt.pure(2))
    tt.mean(RECORDS, epsilon=0.5, ledger=ledger, dataset="claims")
    page = ledger._repr_html_()
    assert "25.0% of epsilon = 2 (pure) spent" in page
    assert "<b>.ledger" not in page
    assert ledger.head in page


def test_tab_shows_public_names_only():
    assert set(dir(tt)) == {*tt.__all__, "__version__"}
    assert {"Release", "Ledger", "Parse", "errors", "mean", "plan"} <= set(dir(tt))
    assert issubclass(tt.errors.BudgetError, tt.errors.TametailError)
