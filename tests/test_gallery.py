"""The examples run as they are and say what they promise; the gallery lists each of them."""

import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .seeded import seeded_program
from .spark import on_spark

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"

#: Words that must be in what an example prints.
PRINTED = {
    "demo": ["What it costs", "epsilon = 1", "claims.html"],
    "hospital_charges": ["VT", "higher in CA than in TX"],
    "hospital_hour": [
        "90% quantile",
        "share of charge > 10000",
        "times that in TX",
        "remaining budget: epsilon",
    ],
    "incomes_per_person": ["a job pays", "with all their records"],
    "latencies": ["private median", "follows from its answers: True"],
    "monthly_report": [
        "first run",
        "second run",
        "refused: Budget exceeded",
        "needs epsilon = 0.6",
    ],
    "spark_job": ["mean       16"],
    "typed": ["thousand", "3.0 apart"],
}


def run(name, folder, time="once"):
    program = seeded_program(f"{name} {time}", EXAMPLES / f"{name}.py")
    program["env"] |= {"PYTHONWARNINGS": "error"}
    done = subprocess.run(**program, cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_gallery_lists_every_example():
    page = (ROOT / "docs" / "tutorials" / "examples.md").read_text(encoding="utf-8")
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    assert all(f"`examples/{name}.py`" in page for name in names)
    assert names == {*PRINTED, "make_claims"}


@pytest.mark.parametrize("name", [name for name in PRINTED if name != "spark_job"])
def test_an_example_runs(name, tmp_path):
    printed = run(name, tmp_path)
    assert all(words in printed for words in PRINTED[name]), printed


def test_a_report_is_charged_once(tmp_path):
    first, second = (run("monthly_report", tmp_path, time).splitlines() for time in ("1", "2"))
    assert first[:2] == second[:2]
    assert (tmp_path / "claims-2026-10.html").is_file()


@on_spark
def test_the_spark_job_runs(spark, monkeypatch, capsys):
    """In the session of the other tests: to start one for itself takes it most of its time."""
    stopped = []
    monkeypatch.setattr(spark, "stop", lambda: stopped.append(spark))
    runpy.run_path(str(EXAMPLES / "spark_job.py"), run_name="__main__")
    assert all(words in capsys.readouterr().out for words in PRINTED["spark_job"])
    assert stopped == [spark]


def test_the_claims_can_be_made_again(tmp_path):
    shutil.copy(EXAMPLES / "make_claims.py", tmp_path)
    subprocess.run([sys.executable, tmp_path / "make_claims.py"], check=True, capture_output=True)
    assert (tmp_path / "claims.csv").read_bytes() == (EXAMPLES / "claims.csv").read_bytes()
