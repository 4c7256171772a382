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
ledger.create("a", budget=tt.pure(2), unit="add-remove")
tt.mean(folder + "/a.csv", "x", epsilon=1, ledger=ledger, dataset="a")
print("done")
"""


def test_nothing_opens_a_socket(tmp_path):
    found = subprocess.run(
        [sys.executable, "-c", OFFLINE, str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert found.stdout.strip() == "done", found.stderr[-2000:]


#: Pages of measurements that say with which version they were made.
PAGES = ("performance.md", "reproduction.md", "mathematics/constants.md", "faults.md")


@pytest.mark.parametrize("page", PAGES)
def test_evidence_is_of_this_version(page):
    text = (ROOT / "docs" / page).read_text("utf-8")
    named = re.findall(r"\b[Vv]ersion (\d+\.\d+\.\d+)", text)
    assert named
    assert set(named) == {version("tametail")}
