"""A PostgreSQL server of our own on a socket in a temporary folder, for the tests that need one."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest


def _folder():
    found = shutil.which("initdb")
    if found:
        return Path(found).parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)


BINARIES = _folder()
needs_postgres = pytest.mark.skipif(
    BINARIES is None or find_spec("psycopg") is None, reason="needs PostgreSQL's initdb and psycopg"
)


@contextmanager
def start_server():
    """Start a server, and stop it at the end; yield a connection."""
    import psycopg

    # A server does not run as root; and the path of a socket must be short.
    user = {"user": "postgres"} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory(prefix="pg-") as folder:
        if user:
            shutil.chown(folder, "postgres")
        data = f"{folder}/data"
        run = partial(subprocess.run, check=True, capture_output=True, cwd=folder, **user)
        initdb = [BINARIES / "initdb", "-D", data, "-A", "trust", "-E", "UTF8", "--no-sync"]
        run([*initdb, "--locale=C.UTF-8", "-U", "tester"])
        options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
        control = [BINARIES / "pg_ctl", "-D", data, "-w"]
        run([*control, "-o", options, "-l", f"{folder}/log", "start"])
        try:
            with psycopg.connect(
                f"host={folder} user=tester dbname=postgres", autocommit=True
            ) as connection:
                yield connection
        finally:
            run([*control, "-m", "immediate", "stop"])
