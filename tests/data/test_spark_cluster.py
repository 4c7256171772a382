"""A cluster of Spark, a master and two workers on loopback, gives the same integers.

The workers' executors are processes of their own.
"""

from __future__ import annotations

import os
import time

import pytest

import tametail as tt

from ..opened import open_table  # noqa: TID252
from ..spark import JAVA, ON_SPARK, SETTINGS, local_session  # noqa: TID252
from .conftest import QUERIES

pytestmark = ON_SPARK

#: Seconds until the executors must be there.
PATIENCE = 600


@pytest.fixture(scope="module")
def cluster():
    """Return a session with two executors of one core and 512 MB each."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is not None:
        local_session().stop()  # a process has one; the next test that needs it starts another
    of_executors = {"spark.executor.extraJavaOptions": JAVA, "spark.executor.memory": "512m"}
    settings = SETTINGS | of_executors | {"spark.sql.shuffle.partitions": "2"}
    session = SparkSession.builder.master("local-cluster[2,1,512]").config(map=settings)
    session = session.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    executors = session.sparkContext._jsc.sc().statusTracker().getExecutorInfos
    deadline = time.monotonic() + PATIENCE
    while len(executors()) < 3:  # the driver is one of them
        assert time.monotonic() < deadline, f"no two executors within {PATIENCE} seconds"
        time.sleep(0.2)
    yield session
    session.stop()


def test_executors_are_processes_of_their_own(cluster):
    found = cluster.sparkContext.parallelize(range(8), 8).map(lambda _: os.getppid())
    assert len(set(found.collect())) == 2


def test_equals_the_reference(cluster, records, reference, comparable):
    frame = cluster.createDataFrame([(x,) for x in records], "v double")
    engine = open_table(frame.repartition(4), "v")
    for query in {type(query): query for query in QUERIES}.values():  # one of a kind
        assert comparable(engine.answer(query)) == reference(query, records), query


def test_a_mean(cluster):
    frame = cluster.range(0, 50_000, 1, 8).selectExpr("double(id % 101) as amount")
    assert abs(float(tt.mean(frame, "amount", epsilon=1)) - 50) < 5
