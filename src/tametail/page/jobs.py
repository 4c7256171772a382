"""The jobs of the page: releases that wait for a yes, are under way, or are done.

A release happens once for one confirmation. The confirmation is taken out of the store before the
release begins, so that a second click, a reload or a repeated request spends nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock

from tametail.errors import TametailError
from tametail.page.forms import ReleaseForm
from tametail.page.messages import for_people
from tametail.release import Release

#: So many confirmations and releases are kept.
_MOST = 200

_FAILED = (
    "Internal error. If data had been opened, the budget of this release is spent. Please report "
    "how to reproduce it."
)

Make = Callable[[Callable[[float], None]], Release]


@dataclass(slots=True)
class Job:
    """A release under way, or done: then it has a result, or words that say why not."""

    name: str
    asked: ReleaseForm
    part: float = 0.0
    release: Release | None = None
    failed: str | None = None

    @property
    def done(self) -> bool:
        """Whether it has come to an end."""
        return self.release is not None or self.failed is not None

    def run(self, make: Make) -> None:
        """Make the release; whatever goes wrong becomes words that hold no record."""
        try:
            self.release = make(self._tell)
        except TametailError as error:
            self.failed = for_people(str(error))
        except Exception:  # what it says may quote records
            self.failed = _FAILED

    def _tell(self, part: float) -> None:
        self.part = part


@dataclass(slots=True)
class JobStore:
    """What waits, and what was begun, in the order in which it was."""

    waiting: dict[str, tuple[ReleaseForm, Make]] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    _hand: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(max_workers=1, thread_name_prefix="release")
    )

    def add_pending(self, asked: ReleaseForm, make: Make) -> str:
        """Keep a release until it is confirmed; return its name."""
        name = secrets.token_urlsafe(12)
        with self._lock:
            self.waiting[name] = asked, make
            _forget(self.waiting)
        return name

    def start(self, name: str) -> Job | None:
        """Begin what waits under a name; None if nothing does, or does any more."""
        with self._lock:
            found = self.waiting.pop(name, None)
            if found is None:
                return None
            asked, make = found
            job = self.jobs[name] = Job(name, asked)
            _forget(self.jobs)
        self._hand.submit(job.run, make)
        return job

    def latest(self) -> list[Job]:
        """Return what was begun, the newest first."""
        return list(reversed(self.jobs.values()))


def _forget(kept: dict[str, tuple[ReleaseForm, Make]] | dict[str, Job]) -> None:
    while len(kept) > _MOST:
        del kept[next(iter(kept))]
