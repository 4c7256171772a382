"""A real standalone cluster, master and two workers on loopback, gives the same integers."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

import tametail as tt

from ..opened import open_table  # noqa: TID252
from ..spark import ON_SPARK, local_session  # noqa: TID252
from .conftest import QUERIES

pytestmark = ON_SPARK

#: Seconds until master, workers and executors must have found each other.
PATIENCE = 180


def _free_port():
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def _start(stack, folder, kind, *arguments):
    """Start one daemon of the pip package's own Spark; it ends with the stack."""
    import pyspark

    home = Path(pyspark.__file__).parent
    command = [home / "bin" / "spark-class", f"org.apache.spark.deploy.{kind}", *arguments]
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
    }
    log = stack.enter_context((folder / f"{kind}-{_free_port()}.log").open("wb"))
    daemon = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT
    )
    stack.callback(_stop, daemon)


def _stop(daemon):
    daemon.terminate()
    try:
        daemon.wait(timeout=20)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()


def _wait(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come up in {PATIENCE} seconds"
        time.sleep(0.2)


def _listens(port):
    with closing(socket.socket()) as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Return a session whose executors are two processes of a standalone cluster."""
    from pyspark.sql import SparkSession

    local_session().stop()  # a process has one; the next test that needs it starts another
    folder, port = tmp_path_factory.mktemp("cluster"), _free_port()
    address = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        here = ("--host", "127.0.0.1", "--webui-port", "0")
        _start(stack, folder, "master.Master", "--port", str(port), *here)
        _wait(lambda: _listens(port), "the master")
        for _ in range(2):
            limits = ("--cores", "1", "--memory", "600m", "--work-dir", str(folder / "work"))
            _start(stack, folder, "worker.Worker", *here, *limits, address)
        session = (
            SparkSession.builder.master(address)
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.executor.memory", "512m")
            .config("spark.executor.cores", "1")
            .config("spark.sql.shuffle.partitions", "2")
            .getOrCreate()
        )
        stack.callback(session.stop)
        session.sparkContext.setLogLevel("OFF")
        executors = session.sparkContext._jsc.sc().statusTracker().getExecutorInfos
        _wait(lambda: len(executors()) == 3, "two executors beside the driver")
        yield session


def test_equals_the_reference(cluster, records, reference, comparable):
    frame = cluster.createDataFrame([(x,) for x in records], "v double")
    engine = open_table(frame.repartition(4), "v")
    for query in {type(query): query for query in QUERIES}.values():  # one of a kind
        assert comparable(engine.answer(query)) == reference(query, records), query


def test_a_mean(cluster):
    frame = cluster.range(0, 50_000, 1, 8).selectExpr("double(id % 101) as amount")
    assert abs(float(tt.mean(frame, "amount", epsilon=1)) - 50) < 5
