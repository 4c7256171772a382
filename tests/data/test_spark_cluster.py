"""A real standalone cluster, master and two workers on loopback, gives the same integers."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

import tametail as tt

from ..opened import open_table  # noqa: TID252
from ..spark import (  # noqa: TID252
    JAVA,
    ON_SPARK,
    free_port,
    listens,
    local_session,
    start_class,
    wait_for,
)
from .conftest import QUERIES

pytestmark = ON_SPARK


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Return a session whose executors are two processes of a standalone cluster."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is not None:
        local_session().stop()  # a process has one; the next test that needs it starts another
    folder, port = tmp_path_factory.mktemp("cluster"), free_port()
    address = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        here = ("--host", "127.0.0.1", "--webui-port", "0")
        start_class(stack, folder, "deploy.master.Master", "--port", str(port), *here)
        wait_for(lambda: listens(port), "the master")
        for _ in range(2):
            limits = ("--cores", "1", "--memory", "600m", "--work-dir", str(folder / "work"))
            start_class(stack, folder, "deploy.worker.Worker", *here, *limits, address)
        session = (
            SparkSession.builder.master(address)
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.extraJavaOptions", JAVA)
            .config("spark.executor.extraJavaOptions", JAVA)
            .config("spark.executor.memory", "512m")
            .config("spark.executor.cores", "1")
            .config("spark.sql.shuffle.partitions", "2")
            .getOrCreate()
        )
        stack.callback(session.stop)
        session.sparkContext.setLogLevel("OFF")
        executors = session.sparkContext._jsc.sc().statusTracker().getExecutorInfos
        wait_for(lambda: len(executors()) == 3, "two executors beside the driver")
        yield session


def test_equals_the_reference(cluster, records, reference, comparable):
    frame = cluster.createDataFrame([(x,) for x in records], "v double")
    engine = open_table(frame.repartition(4), "v")
    for query in {type(query): query for query in QUERIES}.values():  # one of a kind
        assert comparable(engine.answer(query)) == reference(query, records), query


def test_a_mean(cluster):
    frame = cluster.range(0, 50_000, 1, 8).selectExpr("double(id % 101) as amount")
    assert abs(float(tt.mean(frame, "amount", epsilon=1)) - 50) < 5
