"""A Spark session in local mode, one for all tests of a process that need one."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec

import pytest

#: Tests with Spark are skipped without Java, and run in one worker, since a session takes long to
#: start. PySpark warns of pandas that is newer than itself.
ON_SPARK = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17"),
    pytest.mark.skipif(find_spec("pyspark") is None, reason="pyspark is not installed"),
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "1",
}


def on_spark(test):
    """Mark one test among others as one that needs Spark."""
    for mark in ON_SPARK:
        test = mark(test)
    return test


def local_session():
    """Return the session on loopback, without pages and bars; it ends with the process."""
    pyspark = pytest.importorskip("pyspark.sql")
    # The executors' Python is otherwise whatever is called python3 here.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = pyspark.SparkSession.builder.master("local[2]").config(map=_SETTINGS)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
