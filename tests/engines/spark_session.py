"""A Spark session in local mode, for the tests that need one."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17")


def local_session(**settings):
    """Start a session on loopback, without pages and bars; the caller stops it."""
    from pyspark.sql import SparkSession

    quiet = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "1",
    }
    # The executors' Python is otherwise whatever is called python3 here.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master("local[2]").config(map=quiet | settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
