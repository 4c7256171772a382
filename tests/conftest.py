"""What all tests share: one profile for property tests, and servers."""

from __future__ import annotations

from importlib.util import find_spec

from hypothesis import settings

from .seeded import ROUND
from .servers import server, spark  # noqa: F401 - fixtures

# The machines are shared, so no deadline per example; the same examples in every run.
settings.register_profile("same-every-time", deadline=None, derandomize=not ROUND)
settings.load_profile("same-every-time")

# Not every environment has Spark: `make test-all` does without.
collect_ignore_glob = [] if find_spec("pyspark") else ["data/test_spark*.py"]
