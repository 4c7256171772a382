"""Spark Connect, a server and a client on loopback, gives the integers of memory.

Neither the server's process nor its context can be reached through it, and some servers keep no
frame. ``tests/backends/connect.py`` is the client.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import pytest

from ..backends.cases import CASES  # noqa: TID252
from ..backends.connect import ASKED, KEPT, SECRET  # noqa: TID252
from ..spark import ON_SPARK, connect_server  # noqa: TID252

pytestmark = [
    *ON_SPARK,
    pytest.mark.skipif(find_spec("grpc") is None, reason="grpcio is not installed"),
]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Return the address of a server of Spark Connect in local mode."""
    with ExitStack() as stack:
        yield connect_server(stack, tmp_path_factory.mktemp("connect"))


def client(address, how):
    """Run the client, and return what it printed; its errors go with it."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.backends.connect", address, how]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "all alike" in done.stdout
    return done.stdout


def test_the_client_asks_what_the_table_has():
    assert KEPT < ASKED <= {case.name for case in CASES}


def test_arithmetic_that_raises(address):
    printed = client(address, "ansi")
    assert all(f"{name}: " in printed for name in ASKED)
    # A frame that cannot be computed is refused, and nothing of it is written anywhere.
    assert "The Spark frame cannot be computed" in printed
    assert SECRET not in printed


def test_arithmetic_that_wraps(address):
    printed = client(address, "wrapping")
    assert all(f"{name}: " in printed for name in ASKED)
    assert "released {'person': 'who'}" in printed


def test_a_server_that_keeps_no_frame(address):
    printed = client(address, "refused")
    assert all(f"{name}: " in printed for name in KEPT)
    assert "released {'by': 'g', 'keys': [0, 1]}" in printed
