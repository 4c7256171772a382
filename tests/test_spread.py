"""Workers share the tests as ``tests/spread.py`` says."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from .spread import FAST, SPARK, rank, unit_of

ROOT = Path(__file__).parents[1]

TESTS = """
import os, time
import pytest

@pytest.mark.parametrize("place", ["memory", "Spark"] * 4)
def test_it(place, request):
    time.sleep(0.01)
    with open("ran", "a") as file:
        print(request.node.nodeid, os.environ["PYTEST_XDIST_WORKER"], file=file)
"""


def test_a_file_is_run_by_one_worker_and_spark_by_one(tmp_path):
    (tmp_path / "conftest.py").write_text("pytest_plugins = ('tests.spread',)\n", "utf-8")
    for name in ("one", "two", "three", "four"):
        (tmp_path / f"test_{name}.py").write_text(TESTS, "utf-8")
    command = [sys.executable, "-m", "pytest", "-n", "2", "-q", "-p", "no:cacheprovider"]
    subprocess.run(
        [*command, "-c", "/dev/null", "--rootdir", ".", "-o", f"pythonpath={ROOT}"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    ran = defaultdict(list)
    for line in (tmp_path / "ran").read_text("utf-8").splitlines():
        nodeid, _, worker = line.rpartition(" ")
        ran[unit_of(nodeid)].append(worker)
    assert {unit: len(workers) for unit, workers in ran.items()} == {
        SPARK: 16,
        **{f"test_{name}.py": 4 for name in ("one", "two", "three", "four")},
    }
    assert all(len(set(workers)) == 1 for workers in ran.values())
    assert len({worker for workers in ran.values() for worker in workers}) == 2


def test_spark_is_begun_first_and_fast_files_last():
    fast = f"{min(FAST)}::test_it"
    ids = [fast, "tests/a.py::test_it", "tests/a.py::test_it[Spark-one column]"]
    assert sorted(ids, key=rank) == ids[::-1]
