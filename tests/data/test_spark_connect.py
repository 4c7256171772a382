"""Spark Connect, a client of the session on loopback, gives the integers of memory.

Neither the server's process nor its context can be reached through it, and some servers keep no
frame. ``tests/backends/connect.py`` is the client.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from ..backends.cases import CASES  # noqa: TID252
from ..backends.connect import ASKED, RELEASED, SECRET  # noqa: TID252
from ..spark import ON_SPARK, connect_address  # noqa: TID252

pytestmark = [
    *ON_SPARK,
    pytest.mark.skipif(find_spec("grpc") is None, reason="grpcio is not installed"),
]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def printed():
    """Run the client once, and return what it printed of each way to compute, errors and all."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.backends.connect"]
    done = subprocess.run(
        [*command, connect_address(), *ASKED], cwd=ROOT, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    before, *parts, after = done.stdout.split("# ")
    assert (before, after) == ("", "all alike\n")
    return {how: text for how, _, text in (part.partition("\n") for part in parts)}


def test_the_client_asks_what_the_table_has():
    assert set().union(*ASKED.values()) <= {case.name for case in CASES}


@pytest.mark.parametrize("how", ASKED)
def test_every_answer_is_that_of_memory(printed, how):
    assert all(f"{name}: " in printed[how] for name in ASKED[how])
    assert all(f"released {asked}" in printed[how] for asked in RELEASED[how])


def test_a_frame_that_cannot_be_computed_is_not_quoted(printed):
    assert "The Spark frame cannot be computed" in printed["ansi"]
    assert SECRET not in printed["ansi"]
