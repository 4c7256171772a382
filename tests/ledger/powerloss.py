"""Power loss: disks as they may be found, rebuilt from recorded writes.

Of what was not yet synced, any sectors of 512 bytes may have reached the disk, in any order, and
changes of the folder (a journal created or deleted) up to any point. What was synced is there.
Every such disk is opened with plain SQLite and verified.
"""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import tametail as tt
from tametail.errors import TametailError
from tametail.ledger import Ledger

from .files import FileLayer, Step

SECTOR = 512
NAME = "office.ledger"


@dataclass
class Outcome:
    """What was found on the disks."""

    disks: int = 0
    corrupt: int = 0
    lost: int = 0


@dataclass
class _Content:
    """A file: what is certainly on the disk, and what may be."""

    sure: bytearray = field(default_factory=bytearray)
    pending: list[Step] = field(default_factory=list)

    def settle(self, keeps) -> bytearray:
        """Return the content if of the pending changes those are there that ``keeps`` picks."""
        content = bytearray(self.sure)
        for step in self.pending:
            if step.kind == "truncate":
                if keeps():
                    del content[step.offset :]
                continue
            for start in range(0, len(step.data), SECTOR):
                if keeps():
                    piece = step.data[start : start + SECTOR]
                    at = step.offset + start
                    content.extend(b"\0" * (at + len(piece) - len(content)))
                    content[at : at + len(piece)] = piece
        return content


class Disk:
    """The folder of a ledger, step by step."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = {name: _Content(bytearray(data)) for name, data in files.items()}
        #: The folder after each change since it was last synced, oldest first.
        self.folders = [dict(self.files)]

    def do(self, step: Step) -> None:
        """Carry out a step as the running system sees it."""
        if step.kind == "create":
            self.files[step.name] = _Content()
            self.folders.append(dict(self.files))
        elif step.kind in ("write", "truncate"):
            self.files[step.name].pending.append(step)
        elif step.kind == "sync":
            content = self.files[step.name]
            content.sure, content.pending = content.settle(lambda: True), []
            # SQLite syncs the folder of a journal together with the journal's first sync.
            if self.folders[0].get(step.name) is not content:
                self.folders = [dict(self.files)]
        elif step.kind == "delete":
            self.files.pop(step.name, None)
            self.folders.append(dict(self.files))
            if step.directory_synced:
                self.folders = [dict(self.files)]

    def after_power_loss(self, keeps, folder_at) -> dict[str, bytes]:
        """Return the files that are found when the power is back."""
        found = self.folders[folder_at(len(self.folders))]
        return {name: bytes(content.settle(keeps)) for name, content in found.items()}


def record(folder: Path, charges: int = 3) -> tuple[dict[str, bytes], list[Step]]:
    """Charge and store a few times; return the files before, and every step."""
    path = folder / NAME
    plain = Ledger(path)
    plain.create("claims", tt.pure(1000))
    for index in range(5):
        plain.charge("claims", tt.pure(0.5), release_id=f"before{index}").store("{}")
    start = {NAME: path.read_bytes()}
    layer = FileLayer(f"recording-{folder.name}")
    watched = layer.ledger(path)
    for index in range(charges):
        ticket = watched.charge("claims", tt.pure(0.5), release_id=f"r{index}")
        layer.steps.append(Step("returned", f"charge r{index}"))
        ticket.store('{"value": 1}')
        layer.steps.append(Step("returned", f"result r{index}"))
    layer.unregister()
    return start, layer.steps


def examine(start: dict[str, bytes], steps: list[Step], draws: int, seed: int = 18) -> Outcome:
    """Cut the power before every step, ``draws`` times at random and twice in the extreme."""
    rng, outcome = random.Random(seed), Outcome()
    ways = [(lambda: False, lambda count: 0), (lambda: True, lambda count: count - 1)]
    ways += [
        (lambda odds=odds: rng.random() < odds, rng.randrange)
        for odds in (rng.choice([0.2, 0.5, 0.8]) for _ in range(draws))
    ]
    disk, promised = Disk(start), []
    for step in [*steps, Step("end")]:
        for keeps, folder_at in ways:
            _look(disk.after_power_loss(keeps, folder_at), promised, outcome)
        if step.kind == "returned":
            promised.append(tuple(step.name.split()))
        else:
            disk.do(step)
    return outcome


def _look(files: dict[str, bytes], promised: list[tuple[str, ...]], outcome: Outcome) -> None:
    outcome.disks += 1
    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        for name, data in files.items():
            Path(folder, name).write_bytes(data)
        ledger = Ledger(Path(folder, NAME))
        try:
            ledger.verify()
        except TametailError:
            outcome.corrupt += 1
            return
        with ledger._storage.reading() as rows:
            found = {(entry.kind, entry.release) for entry in rows.all()}
    outcome.lost += not set(promised) <= found


def _memory() -> str | None:
    """Return a folder in memory, where syncing costs nothing."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
