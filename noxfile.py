"""The tests on other Pythons and with other versions of what tametail needs.

    make test-all       every Python from 3.11 on that is here, newest dependencies
    make test-oldest    the oldest Python, lowest dependencies

A further argument goes to pytest: ``nox --session suite -- tests/test_api.py``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nox

sys.path.insert(0, str(Path(__file__).with_name("tools")))

from pythons import pythons

PYTHONS = pythons()

#: The pins are of the project's own environment, which `make test` makes.
UNPINNED = ("--deselect", "tests/test_supply_chain.py::test_what_is_installed_is_what_was_pinned")


#: The first PySpark 4 leaves its sockets to Python to close; later ones do it themselves.
SOCKETS_LEFT = ("-W", "ignore:unclosed <socket:ResourceWarning")


def run(session: nox.Session, extras: str, *options: str, of_tests: tuple[str, ...] = ()) -> None:
    """Install tametail with its extras and the tests' tools, and run the tests."""
    session.install("--quiet", "--upgrade", "pip")  # one that knows dependency groups
    session.install("--quiet", *options, "--group", "test", "--editable", f".[{extras}]")
    # Modules of extras that are not installed have no doctests here.
    options = ("-n", "auto", "--doctest-ignore-import-errors", *UNPINNED)
    session.run("pytest", *options, *of_tests, *session.posargs)


@nox.session(python=list(PYTHONS.values()), reuse_venv=True)
def suite(session: nox.Session) -> None:
    """Run the tests without Spark and browser, with the newest versions of everything."""
    run(session, "page,plots,postgres,duckdb,clickhouse,excel")


@nox.session(python=min(PYTHONS.items())[1], reuse_venv=True)
def oldest(session: nox.Session) -> None:
    """Run the tests with the lowest versions that pyproject.toml allows."""
    # Starlette's test client spoke httpx before it spoke httpx2.
    lowest = ("--constraint", "constraints-oldest.txt", "httpx")
    extras = "page,plots,spark,postgres,duckdb,clickhouse,excel"
    run(session, extras, *lowest, of_tests=SOCKETS_LEFT)
