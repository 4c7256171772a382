"""Captures all that leaves a call besides its noise, and finds numbers in whatever it is given."""

from __future__ import annotations

import gc
import logging
import pickle
import pickletools
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

import tametail as tt

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class Observed:
    """What an onlooker sees of a call, apart from noisy numbers."""

    raised: str | None
    warned: tuple[str, ...]
    logged: tuple[str, ...]
    printed: tuple[str, str]
    shape: Any


class _Recorder(logging.Handler):
    def __init__(self) -> None:
        super().__init__(level=0)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        # A thread of Py4J forgets the objects of earlier tests, by number, whenever it comes to it.
        worker = type(threading.current_thread())
        if (worker.__module__, worker.__name__) == ("py4j.clientserver", "FinalizerWorker"):
            return
        self.said.append(f"{record.name} {record.levelname} {record.getMessage()}")


@contextmanager
def _own_garbage() -> Iterator[None]:
    """Collect the garbage of the block at its end, and none of what was there before.

    What the last tests left behind may speak when it is collected, and that moment is chance.
    """
    gc.freeze()
    try:
        yield
        gc.collect()
    finally:
        gc.unfreeze()


def observe(call: Callable[[], Any], capfd: Any) -> Observed:
    """Run ``call`` and note everything that comes out of it, and out of its garbage."""
    recorder, root = _Recorder(), logging.getLogger()
    level = root.level
    capfd.readouterr()
    root.addHandler(recorder)
    root.setLevel(1)
    try:
        with warnings.catch_warnings(record=True) as caught, _own_garbage():
            warnings.simplefilter("always")
            raised, result = None, None
            try:
                result = call()
            except Exception as error:
                raised = f"{type(error).__name__}: {error}"
    finally:
        root.setLevel(level)
        root.removeHandler(recorder)
    return Observed(
        raised,
        tuple(f"{one.category.__name__}: {one.message}" for one in caught),
        tuple(recorder.said),
        tuple(capfd.readouterr()),
        shape_of(result),
    )


#: What of a release and of its rows is decided by noisy answers, and by the clock and a new id
#: before any record is read.
_FROM_ANSWERS = (
    "answers", "assumption_contradicted", "intervals", "notes", "shared_notes", "issued",
    "share_used", "shape",
)  # fmt: skip


def shape_of(value: Any) -> Any:
    """Return the types of a value and of all that it holds, and its words, without numbers.

    How many answers there are follows from the answers, and so do doubts, notes, how many intervals
    there are, and how far the survival curve reaches: these are left out. That they follow from
    nothing else is what a replay shows, and a release that is not its own replay looks like none
    other.
    """
    if is_dataclass(value) and not isinstance(value, type):
        held = {field.name: getattr(value, field.name) for field in fields(value)}
        if "answers" in held and tt.replay(value.plan, value.answers) != value:
            return "not a function of its answers", held["answers"]
        for name in _FROM_ANSWERS:
            held.pop(name, None)
        return type(value).__name__, {name: shape_of(item) for name, item in held.items()}
    if isinstance(value, dict):
        return {key: shape_of(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return type(value).__name__, [shape_of(item) for item in value]
    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.shape
    return value if isinstance(value, str) else type(value).__name__


def numbers_in(value: Any) -> set[float]:
    """Return all numbers in the pickle of a value, and in the texts that it makes of itself.

    The id and the date of a release are made before any record is read, and are left out.
    """
    if isinstance(value, tt.Release):
        value = replace(value, issued=None)
    texts = [repr(value), str(value)]
    for name in ("to_json", "_repr_html_", "to_dict"):
        made = getattr(value, name, None)
        if made is not None:
            texts.append(str(made()))
    found = {float(number) for text in texts for number in _NUMBER.findall(text)}
    return found | set(_pickled(value))


def _pickled(value: Any) -> Iterator[float]:
    for _, argument, _ in pickletools.genops(pickle.dumps(value)):
        if isinstance(argument, int | float) and abs(argument) < 1e300:
            yield float(argument)
        elif isinstance(argument, str):
            yield from (float(number) for number in _NUMBER.findall(argument))
        elif isinstance(argument, bytes) and len(argument) % 8 == 0:  # the cells of an array
            yield from np.frombuffer(argument, dtype=np.float64).tolist()
