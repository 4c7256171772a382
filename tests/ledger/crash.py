"""kill -9 at every step of a release, by two ways of counting steps.

A process is made by fork for each step. It charges, "reads the data" (it makes a file), stores its
result and "prints" it (it makes another). Either strace kills it at a system call that touches the
ledger or its journal, or SQLite's file layer does so at one of its own calls.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import tametail as tt
from tametail.errors import ResultNotStoredError
from tametail.ledger import Ledger

NAME = "office.ledger"
CALLS = "openat,close,read,pread64,write,pwrite64,fsync,fdatasync,ftruncate,unlink,fcntl,lseek"


@dataclass
class Outcome:
    """What was found after the kills."""

    runs: int = 0
    killed: int = 0
    charged: int = 0
    read: int = 0
    printed: int = 0
    unsound: list[str] = field(default_factory=list)


def prepare(folder: Path) -> Path:
    """Return a ledger with one charge, which is copied for every run."""
    path = folder / "base.ledger"
    ledger = Ledger(path)
    ledger.create("claims", tt.pure(1))
    ledger.charge("claims", tt.pure(0.5), release_id="first").store("{}")
    return path


def release(ledger: Ledger, folder: Path) -> None:
    """Do what a release does, with two files as its traces."""
    ticket = ledger.charge("claims", tt.pure(0.25), release_id="r", request={"column": "x"})
    (folder / "read").touch()
    ticket.store('{"value": 1.5}')
    (folder / "printed").touch()


def in_child(work) -> int:
    """Run ``work`` in a child that first stops itself; return its process id."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.kill(os.getpid(), signal.SIGSTOP)
            work()
            code = 0
        finally:
            os._exit(code)
    os.waitpid(pid, os.WUNTRACED)
    return pid


def fresh(base: Path, folder: Path) -> Path:
    """Return a folder with a copy of the ledger and nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copy(base, folder / NAME)
    return folder


def examine(folder: Path, killed: bool, where: str, outcome: Outcome) -> None:
    """See that what was left behind is sound."""
    ledger = Ledger(folder / NAME)
    read, printed = (folder / "read").exists(), (folder / "printed").exists()
    ledger.verify()
    events = [event.release_id for event in ledger.history("claims")]
    charged = events.count("r") == 1
    try:
        again = ledger.charge(
            "claims", tt.pure(0.25), release_id="r", request={"column": "x"}
        ).stored
        lost = False
    except ResultNotStoredError:
        again, lost = None, True
    sound = {
        "data were read, and nothing was charged": not read or charged,
        "printed, and not stored": not printed or again is not None,
        "charged twice": events.count("r") <= 1 and ledger.remaining("claims").charges == 2,
        "charged, and free to be charged again": lost or again is not None or not charged,
        "stored, and not given back": again in (None, '{"value": 1.5}'),
    }
    outcome.runs += 1
    outcome.killed += killed
    outcome.charged += charged
    outcome.read += read
    outcome.printed += printed
    outcome.unsound += [f"{where}: {why}" for why, holds in sound.items() if not holds]


# By system call


def strace_works() -> bool:
    """Say whether strace is there and may attach to a process."""
    if shutil.which("strace") is None:
        return False
    pid = in_child(lambda: None)
    tracer = _attach(pid, [])
    os.kill(pid, signal.SIGCONT)
    os.waitpid(pid, 0)
    if tracer is None:
        return False
    tracer.communicate()
    return True


def _attach(pid: int, options: list[str]) -> subprocess.Popen | None:
    command = ["strace", "-p", str(pid), "-y", "-e", f"trace={CALLS}", *options]
    tracer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    if "attached" in tracer.stderr.readline():
        return tracer
    tracer.communicate()
    return None


def system_calls(base: Path, folder: Path) -> list[tuple[str, int]]:
    """Return each system call that touches ledger or journal: its name, and which one of them."""
    pid = in_child(lambda: release(Ledger(folder / NAME), folder))
    fresh(base, folder)
    tracer = _attach(pid, [])
    os.kill(pid, signal.SIGCONT)
    _, status = os.waitpid(pid, 0)
    lines = tracer.communicate()[1].splitlines()
    if status != 0:
        raise AssertionError(f"the release itself failed: {lines[-3:]}")
    seen: Counter[str] = Counter()
    found = []
    for line in lines:
        call = re.match(r"(\w+)\(", line)
        if call is None:
            continue
        seen[call[1]] += 1
        if str(folder) in line:  # its files, and the folder itself, which is synced too
            found.append((call[1], seen[call[1]]))
    return found


def kill_by_strace(base: Path, folder: Path, calls: list[tuple[str, int]]) -> Outcome:
    """Kill one release at each of these system calls."""
    outcome = Outcome()
    for call, number in calls:
        pid = in_child(lambda: release(Ledger(folder / NAME), folder))
        fresh(base, folder)
        tracer = _attach(pid, ["-e", f"inject={call}:signal=SIGKILL:when={number}"])
        os.kill(pid, signal.SIGCONT)
        _, status = os.waitpid(pid, 0)
        tracer.communicate()
        examine(folder, os.WIFSIGNALED(status), f"{call} number {number}", outcome)
    return outcome


# By call of SQLite's file layer


def count_file_calls(base: Path, folder: Path) -> int:
    """Return how many calls a release makes to the file layer."""
    from .files import FileLayer

    layer = FileLayer(f"counting-{os.getpid()}")
    release(layer.ledger(fresh(base, folder) / NAME), folder)
    layer.unregister()
    return layer.calls


def kill_one(base: Path, folder: Path, number: int) -> bool:
    """Kill one release at this call to the file layer; say whether it got that far."""
    from .files import FileLayer

    def work() -> None:
        layer = FileLayer(f"killing-{number}", kill_at=number)
        release(layer.ledger(folder / NAME), folder)

    pid = in_child(work)
    fresh(base, folder)
    os.kill(pid, signal.SIGCONT)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


def kill_by_file_layer(base: Path, folder: Path, numbers: list[int]) -> Outcome:
    """Kill one release at each of these calls to the file layer."""
    outcome = Outcome()
    for number in numbers:
        killed = kill_one(base, folder, number)
        examine(folder, killed, f"file call {number}", outcome)
    return outcome
