"""A Spark session in local mode, one for all tests of a process that need one."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from contextlib import closing
from importlib.util import find_spec

import pytest

#: Tests with Spark are skipped without Java. They have "spark" in their ids, so that one worker
#: runs them (``tests/spread.py``). PySpark warns of pandas that is newer than itself.
ON_SPARK = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17"),
    pytest.mark.skipif(find_spec("pyspark") is None, reason="pyspark is not installed"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

#: For processes that live minutes: the first compiler only, with room for all that it compiles, and
#: a collector without threads.
JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=128m -XX:+UseSerialGC"

CONNECT_PORT = "spark.connect.grpc.binding.port"

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": JAVA,
    "spark.sql.shuffle.partitions": "1",
}

#: The same Java machine serves Spark Connect.
CONNECT = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
}


def on_spark(test):
    """Mark one test among others as one that needs Spark."""
    for mark in ON_SPARK:
        test = mark(test)
    return test


def local_session():
    """Return the session on loopback, without pages and bars; it ends with the process."""
    pyspark = pytest.importorskip("pyspark.sql")
    assert "spark" in os.environ.get("PYTEST_CURRENT_TEST", "spark").lower(), "see tests/spread.py"
    found = pyspark.SparkSession.getActiveSession()
    if found is not None:
        return found
    # The executors' Python is otherwise whatever is called python3 here.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = SETTINGS | CONNECT | {CONNECT_PORT: str(free_port())}
    session = pyspark.SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def connect_address():
    """Return where the session serves clients of Spark Connect."""
    return f"sc://127.0.0.1:{local_session().conf.get(CONNECT_PORT)}"


def free_port():
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
