"""What runs is what was pinned, nothing talks to a network, and evidence names its version."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PINS = dict(
    re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE)
)
#: What runs in the process that holds the data (pyproject.toml).
NEEDED = ("numpy", "scipy", "opendp", "narwhals", "pyarrow", "click", "rich")


@pytest.mark.parametrize("name", NEEDED)
def test_everything_that_is_needed_is_pinned(name):
    assert name in PINS


@pytest.mark.parametrize("name", PINS)
def test_what_is_installed_is_what_was_pinned(name):
    try:
        found = version(name)
    except PackageNotFoundError:
        pytest.skip("not installed here: an extra")
    assert found == PINS[name]


OFFLINE = """
import socket, sys

def refused(*arguments, **named):
    raise SystemExit("a socket was opened")

import asyncio
import tametail as tt
for name in ("socket", "create_connection", "getaddrinfo", "gethostbyname", "socketpair"):
    setattr(socket, name, refused)
import numpy as np, pandas as pd, polars as pl
folder = sys.argv[1]
frame = pd.DataFrame({"x": np.arange(3000.0), "who": np.arange(3000) % 500})
frame.to_csv(folder + "/a.csv")
frame.to_parquet(folder + "/a.parquet")
tt.mean(folder + "/a.csv", "x", epsilon=1)
tt.mean(folder + "/a.parquet", ["x", "who"], rho=1)
tt.mean(frame, "x", person="who", epsilon=1)
tt.mean(pl.from_pandas(frame), "x", epsilon=1, delta=1e-6)
tt.paper.mean_1d(np.arange(3000.0), tt.pure(1), alpha=0.5, beta=0.1, k=2, R=1e6)
ledger = tt.Ledger(folder + "/office.ledger")
ledger.create("a", budget=tt.pure(2), neighbors="add-remove")
tt.mean(folder + "/a.csv", "x", epsilon=1, ledger=ledger, dataset="a")
print("done")
"""


def test_nothing_opens_a_socket(tmp_path):
    found = subprocess.run(
        [sys.executable, "-c", OFFLINE, str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert found.stdout.strip() == "done", found.stderr[-2000:]


#: Where numbers in tables are no measurements: computed from formulas, examples of cells, ...
NOT_MEASURED = {"docs/how-to/choose-a-budget.md", "docs/how-to/parse-numbers.md"}

#: Folders whose pages are not renewed: proofs have no figures, and a decision is of its day.
AS_THEY_WERE = {"decisions", "proofs", "corrections", "_build"}

#: Measured, though not in tables of five lines.
MORE = (
    "docs/evidence/clusters.md",
    "docs/evidence/faults.md",
    "docs/evidence/ledger-evidence.md",
    "docs/explanation/limits.md",
)

PAGES = [
    page.relative_to(ROOT).as_posix()
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if not AS_THEY_WERE & set(page.relative_to(ROOT).parts)
]


#: Versions in the changelog, newest first, and whether each was released.
VERSIONS = re.findall(
    r"^## (\d+\.\d+\.\d+), (.*)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
)

#: The version that is installed. While it is being made, figures of the last release stand, and
#: say so; they have to be measured again before the changelog gives it a date.
OURS = {
    version("tametail"),
    *(number for number, day in VERSIONS[: 1 + (VERSIONS[0][1] == "unreleased")]),
}


def text_of(page):
    return (ROOT / page).read_text("utf-8")


def with_figures():
    """Return the pages that have five lines or more of a table with decimals, and some others."""
    tables = {page: re.findall(r"^\|.*\d\.\d.*$", text_of(page), re.MULTILINE) for page in PAGES}
    found = {page for page, lines in tables.items() if len(lines) >= 5}
    return sorted((found | set(MORE)) - NOT_MEASURED)


@pytest.mark.parametrize("page", with_figures())
def test_figures_say_of_which_version_and_day_they_are(page):
    text = text_of(page)
    assert re.search(r"\b([Vv]ersion|tametail)\s+\d+\.\d+\.\d+", text)
    assert re.search(r"\b20\d\d-\d\d-\d\d\b|\b\d+\s+[A-Z][a-z]+\s+20\d\d\b", text)


def test_no_page_is_of_an_older_version():
    """Where another library's version is meant, its name stands before it."""
    version_of = re.compile(r"(\w*\W{0,4})\b(?:[Vv]ersion|tametail)\s+(\d+\.\d+\.\d+)")
    for page in PAGES:
        named = version_of.findall(text_of(page))
        assert {number for before, number in named if "lib" not in before} <= OURS, page


def test_there_are_pages_with_figures():
    assert len(with_figures()) >= 12
    assert set(NOT_MEASURED) | set(MORE) <= set(PAGES)


MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def test_whatever_the_makefile_installs_is_pinned():
    """By pip within the constraints; by npm at an exact version."""
    continued = MAKEFILE.replace("\\\n", " ")
    lines = re.findall(r"^.*(?:pip|npm) install.*$", continued, re.MULTILINE)
    assert len(lines) >= 3
    for line in lines:
        assert "--constraint constraints.txt" in line or re.search(r"[\w-]+@\d+\.\d+\.\d+ ", line)
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
    direct = re.findall(
        r"--constraint constraints\.txt ([\w-]+)$", continued + workflow, re.MULTILINE
    )
    assert {"nox", "cyclonedx-bom"} <= set(direct) <= set(PINS)
