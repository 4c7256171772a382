"""Whether releases of this process are fakes now; :mod:`tametail.testing` says so.

The mode holds for all threads: a program under test may release in threads of its own, and a real
release that slips through would spend a real budget.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Final

from tametail.errors import ParameterError


@dataclass(frozen=True, slots=True, eq=False)
class Fakes:
    """How releases are made up: the seed, and what nobody says where no data are read."""

    seed: int
    n: int
    columns: int
    groups: int


_modes: list[Fakes] = []
_LOCK: Final = Lock()


def fakes_in_use() -> Fakes | None:
    """Return how releases are made up; None if they are real."""
    return _modes[-1] if _modes else None


@contextmanager
def using_fakes(fakes: Fakes) -> Iterator[None]:
    """Make up all releases of this process meanwhile."""
    with _LOCK:
        _modes.append(fakes)
    try:
        yield
    finally:
        with _LOCK:
            _modes.remove(fakes)


def refuse_fakes(function: str) -> None:
    """Refuse a function whose result could not be marked, if releases are fakes now."""
    if fakes_in_use() is not None:
        raise ParameterError(
            f"{function} returns plain numbers, which cannot be marked as fake. Replace it with a "
            "function of your own in the test, or test outside fake_releases(). No data were read "
            "and no budget was spent."
        )
