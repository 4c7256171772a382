"""A Spark session in local mode, one for all tests of a process that need one."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest

#: Tests with Spark are skipped without Java, and run in one worker, since a session takes long to
#: start. PySpark warns of pandas that is newer than itself.
ON_SPARK = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17"),
    pytest.mark.skipif(find_spec("pyspark") is None, reason="pyspark is not installed"),
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

#: For processes that live minutes: the first compiler only, and a collector without threads.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "1",
    "spark.driver.extraJavaOptions": JAVA,
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


# --- servers of Spark

#: Seconds until a server must be there.
PATIENCE = 180


def free_port():
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start_class(stack, folder, kind, *arguments, memory="256m"):
    """Start one daemon of the pip package's own Spark; it ends with the stack."""
    import pyspark

    home = Path(pyspark.__file__).parent
    command = [home / "bin" / "spark-class", f"org.apache.spark.{kind}", *arguments]
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": memory,
        "SPARK_DAEMON_JAVA_OPTS": JAVA,
        "PYSPARK_PYTHON": sys.executable,
    }
    log = stack.enter_context((folder / f"{kind}-{free_port()}.log").open("wb"))
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


def wait_for(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come up in {PATIENCE} seconds"
        time.sleep(0.2)


def listens(port):
    with closing(socket.socket()) as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


#: What keeps a server of Spark Connect on loopback.
_CONNECT_SETTINGS = {
    "spark.driver.extraJavaOptions": JAVA,
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


def connect_server(stack, folder):
    """Start a server of Spark Connect in local mode, and return its address."""
    port = free_port()
    settings = _CONNECT_SETTINGS | {"spark.connect.grpc.binding.port": str(port)}
    options = [word for item in settings.items() for word in ("--conf", "=".join(item))]
    server = "org.apache.spark.sql.connect.service.SparkConnectServer"
    submit = ["--master", "local[2]", "--class", server, *options, "spark-internal"]
    start_class(stack, folder, "deploy.SparkSubmit", *submit, memory="1g")
    wait_for(lambda: listens(port), "the server")
    return f"sc://127.0.0.1:{port}"
