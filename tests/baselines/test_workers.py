"""The adapters and their protocol: OpenDP as it is installed here, a fake for the others."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from baselines import environments
from baselines.environments import NotInstalledError, Worker, prepare

HERE = Path(environments.__file__).parent

FAKE = """
import numpy as np

DISTRIBUTION = "numpy"


def mean(records, epsilon, low, high):
    print("a library that chatters on standard output")
    return float(np.clip(records, low, high).mean() + epsilon)


def refuse(records, epsilon, low, high):
    if records[0] > 2:
        raise RuntimeError("no bounds found")
    return float("inf") if records[0] > 1 else 1.0


METHODS = {"mean": mean, "refuse": refuse}
"""


@pytest.fixture
def fake(tmp_path):
    """A worker that needs nothing but NumPy."""
    adapter = tmp_path / "fake.py"
    adapter.write_text(FAKE)
    worker = Worker(Path(sys.executable), adapter)
    yield worker
    worker.close()


@pytest.fixture
def opendp():
    worker = Worker(Path(sys.executable), HERE / "peers_opendp.py")
    yield worker
    worker.close()


def saved(folder, samples):
    np.save(folder / "samples.npy", samples)
    return folder / "samples.npy"


def test_a_worker_says_its_version_and_answers_several_times(fake, tmp_path):
    assert fake.version == np.__version__
    path = saved(tmp_path, np.array([[1.0, 2.0, 99.0], [4.0, 4.0, 4.0]]))
    for epsilon in (0.5, 2.0):
        values, seconds = fake.means("mean", path, epsilon, -9.0, 9.0)
        np.testing.assert_allclose(values, [4 + epsilon, 4 + epsilon])
        assert seconds >= 0


def test_a_refusal_or_an_infinity_is_no_answer(fake, tmp_path):
    path = saved(tmp_path, np.array([[1.0], [2.0], [3.0]]))
    values, _ = fake.means("refuse", path, 1.0, -9.0, 9.0)
    np.testing.assert_array_equal(values, [1.0, math.nan, math.nan])


def test_a_library_that_does_not_import_is_not_installed(tmp_path):
    adapter = tmp_path / "broken.py"
    adapter.write_text("raise ImportError('no such library')")
    with pytest.raises(NotInstalledError, match="ended"):
        Worker(Path(sys.executable), adapter)


#: These draw OpenDP's own noise in a process of their own, which no seed reaches.
@pytest.mark.real_noise(fails=1e-9)
def test_opendp_bounded_mean_has_the_noise_of_changing_one_record(opendp, tmp_path):
    path = saved(tmp_path, np.full((2_000, 40), 1e6))
    values, _ = opendp.means("bounded mean", path, 0.5, -10.0, 10.0)
    expected = stats.laplace(loc=10.0, scale=20 / (40 * 0.5))
    assert stats.kstest(values, expected.cdf, method="exact").pvalue > 1e-9


#: How often a quantile runs away and leaves an error above 0.15, at most: of 3,780 runs by even
#: quantiles none did, and of 10,575 by geometric ones 2 (with a confidence of 1 - 1e-9).
RUNS_AWAY = 0.0055


@pytest.mark.real_noise(fails=float(stats.binom.sf(4, 9, RUNS_AWAY)))
@pytest.mark.parametrize("method", ["even quantiles", "geometric quantiles"])
def test_opendp_quantiles_bring_the_error_far_below_that_of_the_given_bounds(
    opendp, tmp_path, method
):
    samples = np.random.default_rng(1).normal(size=(9, 4_000))
    values, _ = opendp.means(method, saved(tmp_path, samples), 1.0, -1000.0, 1000.0)
    # Clamping to the given bounds has a median error of 0.35. A quantile may run away, not five.
    assert np.median(np.abs(values)) < 0.15


def test_an_environment_is_made_once_for_what_is_pinned(tmp_path, monkeypatch):
    commands = []

    def pretend(command, **options):
        commands.append(command)
        (tmp_path / "python-dp").mkdir(exist_ok=True)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(environments.subprocess, "run", pretend)
    interpreter = prepare("python-dp", tmp_path)
    assert [command[2] for command in commands] == ["venv", "pip"]
    assert prepare("python-dp", tmp_path, install=False) == interpreter
    assert len(commands) == 2
    (tmp_path / "python-dp" / "installed.txt").write_text("something older")
    prepare("python-dp", tmp_path)
    assert len(commands) == 4


def test_a_failed_installation_says_why(tmp_path, monkeypatch):
    def pretend(command, **options):
        return subprocess.CompletedProcess(command, 1, "", "collecting\nno matching distribution")

    monkeypatch.setattr(environments.subprocess, "run", pretend)
    with pytest.raises(NotInstalledError, match="no matching distribution"):
        prepare("diffprivlib", tmp_path)


def test_requirements_are_pinned_and_name_no_address():
    for path in (HERE / "requirements").glob("*.txt"):
        wanted = [line for line in path.read_text().splitlines() if not line.startswith("#")]
        assert wanted
        assert all(line.count("==") == 1 and "/" not in line for line in wanted)
