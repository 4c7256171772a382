"""What people take to documents: tables with their warnings, and no file of a kind it is not."""

import re

import numpy as np
import pandas as pd
import pytest

import tametail as tt
from tametail.cli import main
from tametail.errors import ParameterError
from tametail.report.tables import latex, markdown
from tametail.show.rows import is_usable, value_of
from tametail.show.warnings import notes_shown

from .test_report import RELEASES

HOSTILE = [
    "a|b",
    "a_b*c",
    "$x$",
    r"\input{/etc/passwd}",
    "50%",
    "<b>",
    "#1",
    "&amp;",
    "~^",
    "[a](b)",
]
RECORDS = np.random.default_rng(5).lognormal(3, 1, 20_000)


def cells_of(line):
    """Return the cells of a row of Markdown, at bars that are not escaped."""
    assert line.startswith("| ")
    assert line.endswith(" |")
    return re.split(r"(?<!\\) \| ", line[2:-2])


@pytest.mark.parametrize("name", RELEASES)
def test_markdown_has_a_row_for_each_mean_and_says_everything(name):
    release = RELEASES[name]()
    table, _, below = release.to_markdown().partition("\n\n")
    head, signs, *rows = map(cells_of, table.splitlines())
    assert len(rows) == len(release)
    assert {len(row) for row in (head, signs, *rows)} == {len(head)}
    shown = [value_of(row) if is_usable(row) else "\N{EN DASH}" for row in release]
    assert [row[1] for row in rows] == shown
    assert markdown(str(release.guarantee)) in below
    assert all(markdown(note.text) in below for note in notes_shown(release))


@pytest.mark.parametrize("name", RELEASES)
def test_latex_has_a_row_for_each_mean_and_says_everything(name):
    release = RELEASES[name]()
    lines = release.to_latex().splitlines()
    rows = [line for line in lines if line.endswith(r" \\")]
    assert len(rows) == len(release) + 1
    widths = {len(re.split(r"(?<!\\)&", row)) for row in rows}
    (sides,) = re.findall(r"\\begin\{tabular\}\{(\w+)\}", release.to_latex())
    assert widths == {len(sides)}
    caption = next(line for line in lines if line.startswith(r"\caption{"))
    assert latex(str(release.guarantee)).rstrip(".") in caption
    assert all(latex(note.text) in caption for note in notes_shown(release))


def test_names_cannot_break_a_table():
    frame = pd.DataFrame({"paid": RECORDS, "g": [HOSTILE[i % len(HOSTILE)] for i in range(20_000)]})
    release = tt.mean(frame, "paid", by="g", keys=HOSTILE, epsilon=5)
    rows = list(map(cells_of, release.to_markdown().partition("\n\n")[0].splitlines()))
    assert {len(row) for row in rows} == {len(rows[0])}
    text = release.to_latex()
    assert r"\input" not in text
    assert not re.search(r"(?<!\\)[%#]", text)
    body = text.split(r"\hline")[2]
    assert len(re.findall(r"(?<!\\)&", body)) == len(HOSTILE) * (len(rows[0]) - 1)
    # Braces come in pairs, whatever names hold.
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")


def test_numbers_are_those_of_mathematics_and_nothing_is_infinite():
    text = tt.mean(RECORDS * 1000 - 90_000, epsilon=1).to_latex()
    assert re.search(r"& \$-\d\d\{,\}\d{3}\$ &", text), text
    assert "infty" not in RELEASES["nothing seen"]().to_latex()


def test_a_name_with_line_ends_stays_in_its_row():
    frame = pd.DataFrame({"a\nb": RECORDS})
    for text in (tt.mean(frame, "a\nb", epsilon=1).to_markdown(), markdown("a\r\n\n|b")):
        assert "a b" in text or r"a \|b" in text


@pytest.mark.parametrize("name", ["r.pdf", "r.docx", "r.txt", "R.PDF"])
def test_a_report_is_html_or_refused(name, tmp_path):
    release = RELEASES["one"]()
    with pytest.raises(ParameterError, match=r"Reports are HTML files.*print it from a browser"):
        release.report(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    release.report(tmp_path / "r.HTML")
    assert (tmp_path / "r.HTML").read_text().startswith("<!doctype html>")


@pytest.fixture
def claims(tmp_path):
    (tmp_path / "claims.csv").write_text("amount\n" + "".join(f"{x}\n" for x in RECORDS))
    return str(tmp_path / "claims.csv")


@pytest.mark.parametrize("wrong", [["-o", "x.xlsx"], ["-o", "x.pdf"], ["-o", "x.html"],
                                   ["--csv", "-o", "x.xlsx"], ["--report", "r.pdf"]])  # fmt: skip
def test_other_kinds_of_files_are_refused_before_anything_is_spent(
    wrong, claims, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "office.ledger"
    tt.Ledger(place).create("claims", tt.pure(5))
    paid = ["--ledger", str(place), "--dataset", "claims"]
    assert main(["mean", claims, "-c", "amount", "-e", "1", *wrong, *paid]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert ".html" in said.err
    assert tt.Ledger(place).remaining("claims").epsilon == 5
    assert {path.name for path in tmp_path.iterdir()} == {"claims.csv", "office.ledger"}


def test_markdown_and_latex_by_the_name_of_the_output(claims, tmp_path):
    for name, begin in (("t.md", "| column | mean |"), ("t.tex", "\\begin{table}")):
        assert main(["mean", claims, "-c", "amount", "-e", "1", "-o", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_text().startswith(begin)


def test_strict_ends_with_code_5_if_there_is_a_warning(claims, tmp_path, capsys):
    few = tmp_path / "few.csv"
    few.write_text("amount\n" + "1\n2\n" * 10)
    asked = ["-c", "amount", "-e", "0.1", "-o", str(tmp_path / "mean.json")]
    assert main(["mean", str(few), *asked]) == 0
    (tmp_path / "mean.json").unlink()
    assert main(["mean", str(few), *asked, "--strict"]) == 5
    assert (tmp_path / "mean.json").is_file()  # it is released, and paid for
    assert main(["mean", claims, "-c", "amount", "-e", "1", "--strict"]) == 0
    capsys.readouterr()


def test_plot_gives_an_axis():
    axes = pytest.importorskip("matplotlib.axes")
    assert isinstance(RELEASES["one"]().plot(), axes.Axes)
    assert isinstance(tt.plan(n=1000, epsilon=1).plot(), axes.Axes)
