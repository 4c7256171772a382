"""The observer hears all that a call says, and nothing that others say meanwhile."""

from __future__ import annotations

import gc
import logging
import threading
import warnings

import pytest

from .observing import observe

CELL = 31_415.5


@pytest.mark.parametrize("name", ["tametail", "py4j.clientserver", "pyspark.sql", ""])
@pytest.mark.parametrize("level", [logging.DEBUG, logging.INFO, logging.CRITICAL])
def test_a_record_of_the_log_is_heard(name, level, capfd):
    seen = observe(lambda: logging.getLogger(name).log(level, "a cell is %s", CELL), capfd)
    assert seen.logged == (f"{name or 'root'} {logging.getLevelName(level)} a cell is {CELL}",)


def test_threads_that_a_call_starts_are_heard(capfd):
    def call():
        thread = threading.Thread(target=logging.getLogger("py4j.clientserver").debug, args=["17"])
        thread.start()
        thread.join()

    assert observe(call, capfd).logged == ("py4j.clientserver DEBUG 17",)


class _Circle:
    """Garbage that speaks when it is collected, and that nothing but a collection frees."""

    def __init__(self):
        self.itself = self

    def __del__(self):
        logging.getLogger("garbage").info("collected")
        warnings.warn("collected", ResourceWarning, stacklevel=1)


def test_the_garbage_of_a_call_is_heard(capfd):
    seen = observe(lambda: type(_Circle()).__name__, capfd)
    assert (seen.logged, seen.warned) == (
        ("garbage INFO collected",),
        ("ResourceWarning: collected",),
    )


@pytest.mark.filterwarnings("ignore:collected:ResourceWarning")
def test_the_garbage_of_others_is_not_heard(capfd):
    gc.disable()
    try:
        _Circle()
        seen = observe(lambda: gc.collect() and None, capfd)
    finally:
        gc.enable()
        gc.collect()
    assert (seen.logged, seen.warned) == ((), ())


def test_what_py4j_deletes_meanwhile_is_not_heard(capfd):
    clientserver = pytest.importorskip("py4j.clientserver")
    told, deleted = threading.Event(), []

    class Client:
        def garbage_collect_object(self, number, enqueue):
            told.wait(600)
            logging.getLogger("py4j.clientserver").debug("Command to send: m\nd\n%s", number)
            deleted.append((number, enqueue))

    tasks = clientserver.deque([clientserver.SHUTDOWN_FINALIZER_WORKER, (Client(), "o17")])
    worker = clientserver.FinalizerWorker(tasks)
    worker.start()

    def call():
        told.set()
        worker.join(600)

    seen = observe(call, capfd)
    assert (deleted, seen.raised, seen.logged) == ([("o17", False)], None, ())
