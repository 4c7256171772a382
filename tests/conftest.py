"""What all tests share: one profile for property tests, and servers."""

from __future__ import annotations

import gc
from importlib.util import find_spec

import pytest
from hypothesis import settings

from .seeded import ROUND
from .servers import server, spark  # noqa: F401 - fixtures

# The machines are shared, so no deadline per example; the same examples in every run.
settings.register_profile("same-every-time", deadline=None, derandomize=not ROUND)
settings.load_profile("same-every-time")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect twelve thousand tests without looking for garbage, of which there is none."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


# Not every environment has Spark: `make test-all` does without.
collect_ignore_glob = [] if find_spec("pyspark") else ["data/test_spark*.py"]
