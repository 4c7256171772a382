"""OpenDP's features are left as they were found: after errors, in threads and after forks."""

import os
import subprocess
import sys
import threading

import pytest
from opendp.mod import GLOBAL_FEATURES

import tametail as tt

PLAN = tt.plan(n=100, epsilon=1)


@pytest.fixture(autouse=True)
def none_enabled():
    """Whatever other tests enabled is off here, and on again afterwards."""
    before = set(GLOBAL_FEATURES)
    GLOBAL_FEATURES.clear()
    yield
    assert not GLOBAL_FEATURES
    GLOBAL_FEATURES.update(before)


@pytest.mark.parametrize("found", [set(), {"contrib"}, {"honest-but-curious", "rust-stack-trace"}])
def test_features_are_left_as_found(found, monkeypatch):
    monkeypatch.setattr("opendp.mod.GLOBAL_FEATURES", set(found))
    from opendp import mod

    tt.as_opendp(PLAN)([1.0] * 100)
    assert found == mod.GLOBAL_FEATURES


def test_features_are_left_as_found_when_something_fails(monkeypatch):
    before = set(GLOBAL_FEATURES)

    def fail(*_arguments):
        assert {"contrib", "honest-but-curious"} <= GLOBAL_FEATURES
        raise RuntimeError("on purpose")

    monkeypatch.setattr("opendp.measurements.make_user_measurement", fail)
    with pytest.raises(RuntimeError, match="on purpose"):
        tt.as_opendp(PLAN)
    assert before == GLOBAL_FEATURES


@pytest.fixture
def hasty_threads():
    """Let threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("hasty_threads")
# Whatever is drawn, it passes; the seeded source would not ask OpenDP.
@pytest.mark.real_noise(fails=0.0)
def test_features_survive_threads():
    """Many threads make and use measurements; none sees the features of another vanish."""
    before, failures = set(GLOBAL_FEATURES), []

    def work(seed):
        try:
            for step in range(10):
                made = tt.as_opendp(tt.plan(n=100, epsilon=1 + seed / 10 + step / 100))
                made([1.0] * 100)
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert before == GLOBAL_FEATURES


FORK = """
import os, threading
from opendp.mod import GLOBAL_FEATURES
from tametail.privacy.opendp import features
from tametail.mechanisms.noise import add_laplace

inside, forking = threading.Event(), threading.Event()

def hold():
    with features("contrib"):
        inside.set()
        forking.wait(0.3)  # the fork has to wait for the end of this block

thread = threading.Thread(target=hold)
thread.start()
inside.wait()
child = os.fork()
if child == 0:
    os._exit(1 if GLOBAL_FEATURES else add_laplace([0], 1, 1e6)[0])
thread.join()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), GLOBAL_FEATURES)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_in_the_middle_finds_nothing_half_done():
    command = [sys.executable, "-W", "ignore", "-c", FORK]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    assert done.stdout.strip() == "0 set()"
