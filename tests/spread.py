"""How workers share the tests: a file goes to one of them, and all of Spark to the same one.

What a file sets up once (a browser, a server's tables, a compiled library) is then set up once, and
there is one Java machine. Tests that need Spark say so in their ids, since ids are all that the
process knows that distributes them. (The groups of pytest-xdist 3.8 stopped to have an effect with
pytest 9.2, which no test noticed: https://github.com/pytest-dev/pytest-xdist/issues/1386.)
"""

from __future__ import annotations

from pathlib import Path

import pytest

SPARK = "spark"

#: Files that take about a second each: they fill the end, when one worker waits for the other.
FAST = frozenset(Path(__file__).with_name("fast.txt").read_text(encoding="utf-8").split())


def unit_of(nodeid: str) -> str:
    """Return what is run by one worker."""
    return SPARK if SPARK in nodeid.lower() else nodeid.partition("::")[0]


def rank(nodeid: str) -> tuple[bool, bool, bool]:
    """Return where a test stands in the order: what takes longest is begun first."""
    # A process has one session of Spark: that of a cluster takes the place of the local one.
    return unit_of(nodeid) != SPARK, unit_of(nodeid) in FAST, "cluster" in nodeid


def pytest_collection_modifyitems(config, items):
    """Put the tests of a worker into the order in which units are to be begun."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: rank(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Let pytest-xdist distribute units, in the order in which they were collected."""
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Units(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return unit_of(nodeid)

    config.option.loadscopereorder = False
    return Units(config, log)
