"""Ways around a ledger file: second names, dropped locks. The long evidence runs all of each."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import tametail as tt
from tametail.errors import TametailError
from tametail.ledger import Ledger
from tametail.ledger.accounts import body_of, find_account
from tametail.ledger.cost import Cost
from tametail.ledger.entries import Entry
from tametail.ledger.rows import Rows


@dataclass
class Outcome:
    """What became of the attempts."""

    runs: int = 0
    refused: int = 0
    lost: list[str] = field(default_factory=list)
    """Attempts after which an acknowledged charge was missing, or the ledger did not verify."""


# A second name for the file


@contextmanager
def hard_link(ledger: Path) -> Iterator[Path]:
    """Give the file a second name in another folder."""
    second = ledger.parent / "elsewhere" / ledger.name
    second.parent.mkdir()
    os.link(ledger, second)
    try:
        yield second
    finally:
        second.unlink()


@contextmanager
def file_mount(ledger: Path) -> Iterator[Path]:
    """Mount the file, alone, at a second place."""
    second = ledger.parent / "elsewhere" / ledger.name
    second.parent.mkdir()
    second.touch()
    subprocess.run(["mount", "--bind", str(ledger), str(second)], check=True)
    try:
        yield second
    finally:
        subprocess.run(["umount", str(second)], check=True)


@contextmanager
def folder_mount(folder: Path) -> Iterator[Path]:
    """Mount a folder at a second place."""
    second = folder.parent / "elsewhere"
    second.mkdir()
    subprocess.run(["mount", "--bind", str(folder), str(second)], check=True)
    try:
        yield second
    finally:
        subprocess.run(["umount", str(second)], check=True)


def may_mount(folder: Path) -> bool:
    """Say whether this process may mount a file."""
    if shutil.which("mount") is None or sys.platform != "linux":
        return False
    one, other = folder / "one", folder / "other"
    one.touch()
    other.touch()
    command = ["mount", "--bind", str(one), str(other)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        return False
    subprocess.run(["umount", str(other)], check=True)
    return True


SecondName = Callable[[Path], "contextmanager[Path]"]


def killed_under_one_name(
    base: Path, folder: Path, numbers: list[int], second_name: SecondName
) -> Outcome:
    """Kill a release at each of these calls of the file layer; then charge under a second name.

    What the kill left beside the first name is there when the ledger is next opened by it.
    """
    from . import crash

    outcome = Outcome()
    for number in numbers:
        crash.kill_one(base, folder, number)
        with second_name(folder / crash.NAME) as second:
            try:
                Ledger(second).charge("claims", tt.pure(0.125), release_id="second").store("{}")
                acknowledged = True
            except TametailError:
                acknowledged = False
        outcome.runs += 1
        outcome.refused += not acknowledged
        if acknowledged and not _has(folder / crash.NAME, {"second"}):
            outcome.lost.append(f"file call {number}")
    return outcome


def _has(path: Path, releases: set[str]) -> bool:
    """Say whether a ledger verifies and has these releases."""
    try:
        ledger = Ledger(path)
        ledger.verify()
        return releases <= {event.release_id for event in ledger.history()}
    except TametailError:
        return False


# Locks that another part of the process drops


def with_dropped_locks(place: Path, processes: int, charges: int) -> Outcome:
    """Charge in several processes, in each of which a thread opens and closes the file."""
    Ledger(place).create("claims", tt.pure(1))
    command = [sys.executable, __file__, str(place), str(charges)]
    running = [
        subprocess.Popen([*command, str(index)], stdout=subprocess.PIPE, text=True)
        for index in range(processes)
    ]
    told = [json.loads(process.communicate()[0]) for process in running]
    acknowledged = {release for one in told for release in one}
    outcome = Outcome(processes * charges, processes * charges - len(acknowledged))
    if not _has(place, acknowledged):
        outcome.lost.append("dropped locks")
    return outcome


def _spend_while_others_look(place: str, charges: int, who: str) -> list[str]:
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.0002):
            os.close(os.open(place, os.O_RDONLY))  # which drops all locks of this process

    looking = threading.Thread(target=look)
    looking.start()
    ledger, acknowledged = Ledger(place), []
    for number in range(charges):
        try:
            ledger.charge("claims", tt.pure(0.001), release_id=f"{who}-{number}")
        except TametailError:
            continue
        acknowledged.append(f"{who}-{number}")
    done.set()
    looking.join()
    return acknowledged


def next_charge(rows: Rows) -> Entry:
    """Return a charge as it would be written now."""
    account = find_account(rows, "claims").after(Cost.of(tt.pure(0.1)))
    body = body_of(account, price={"epsilon": "0.1"})
    return Entry.after(rows.last(), "charge", "claims", body, release="ours")


def in_another_process(code: str, path: Path) -> None:
    """Run Python code with a path as its argument."""
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)


if __name__ == "__main__":
    print(json.dumps(_spend_while_others_look(sys.argv[1], int(sys.argv[2]), sys.argv[3])))
