"""The long versions of the ledger's crash, power-loss and race tests, as a table.

    python -m tests.ledger.evidence --write docs/ledger-evidence.md

Takes minutes. The exit code is 1 if anything is unsound.
"""

from __future__ import annotations

import argparse
import os
import platform
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path

import tametail as tt
from tametail.ledger import Ledger, accounts, charging, sqlite
from tametail.ledger.cost import Cost, Protection
from tametail.ledger.entries import Entry, request_hash

from . import crash, powerloss, race
from .servers import kill_and_start_again, new_schema, start_server


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    found: str
    sound: bool


def by_strace(folder: Path) -> Row:
    what = "kill -9 at every system call on ledger, journal and folder, charge to return (strace)"
    if not crash.strace_works():
        return Row(what, "not run: strace may not attach here", True)
    base = crash.prepare(folder)
    calls = crash.system_calls(base, folder / "run")
    outcome = crash.kill_by_strace(base, folder / "run", calls)
    sound = outcome.runs - len({text.split(":")[0] for text in outcome.unsound})
    return Row(what, f"{sound} of {outcome.runs} sound ({outcome.killed} killed)",
               not outcome.unsound and outcome.killed == len(calls))  # fmt: skip


def by_file_layer(folder: Path) -> Row:
    base = crash.prepare(folder)
    calls = crash.count_file_calls(base, folder / "run")
    outcome = crash.kill_by_file_layer(base, folder / "run", list(range(1, calls + 1)))
    sound = outcome.runs - len({text.split(":")[0] for text in outcome.unsound})
    return Row("kill -9 at every call of SQLite's file layer",
               f"{sound} of {outcome.runs} sound", not outcome.unsound)  # fmt: skip


def power_loss(folder: Path) -> Row:
    outcome = powerloss.examine(*powerloss.record(folder, charges=4), draws=32)
    found = f"{outcome.disks:,} disks: {outcome.corrupt} corrupt, {outcome.lost} lost a charge"
    return Row("power loss, disks rebuilt (512-byte sectors), synchronous EXTRA", found,
               outcome.disks >= 5000 and outcome.corrupt == outcome.lost == 0)  # fmt: skip


def power_loss_full(folder: Path) -> Row:
    """The mutant: with FULL the same test must see losses."""
    before = sqlite._SYNCHRONOUS, sqlite._PRAGMAS
    sqlite._SYNCHRONOUS = ("FULL", 2)
    sqlite._PRAGMAS = tuple(text.replace("EXTRA", "FULL") for text in before[1])
    try:
        outcome = powerloss.examine(*powerloss.record(folder, charges=4), draws=3)
    finally:
        sqlite._SYNCHRONOUS, sqlite._PRAGMAS = before
    found = f"{outcome.disks:,} disks: {outcome.corrupt} corrupt, {outcome.lost} lost a charge"
    return Row("the same with synchronous FULL, which must be caught", found, outcome.lost > 0)


def _raced(what: str, place: str, threads: int, during: Callable[[], None] | None = None) -> Row:
    start = time.monotonic()
    outcome = race.run(place, 1000, threads, during=during or (lambda: None))
    seconds = time.monotonic() - start
    entries = Ledger(place).verify().entries
    again = f", {outcome['asked again']} asked again" if outcome["asked again"] else ""
    found = f"{outcome['accepted']} accepted{again}, {seconds:.0f} s"
    exact = (outcome["accepted"], outcome["refused"], entries) == (499, 501, 500)
    return Row(f"1,000 spenders in 10 processes with room for 499: {what}", found, exact)


def race_in_a_file(folder: Path) -> Row:
    return _raced("SQLite", str(folder / "race.ledger"), threads=10)


def race_on_a_server(folder: Path) -> Row:
    server = start_server()
    try:
        return _raced("PostgreSQL, 80 connections", new_schema(server.get_uri()), threads=8)
    finally:
        server.cleanup()


def race_with_a_kill(folder: Path) -> Row:
    server = start_server()
    place = new_schema(server.get_uri())

    def kill() -> None:
        for _ in range(3):
            time.sleep(3)
            kill_and_start_again(server)

    try:
        return _raced("PostgreSQL, killed (-9) and started again three times", place, 8, kill)
    finally:
        server.cleanup()


def fill(ledger: Ledger, count: int) -> None:
    """Add charges with results of 1 kB, all in one transaction, to save time."""
    demand = charging.Demand("claims", Cost.of(tt.pure(0.1)), Protection(), {"column": "x"})
    digest = request_hash("claims", demand.request)
    with ledger._storage.writing() as rows:
        account = accounts.find_account(rows, "claims")
        for number in range(count):
            account = account.after(demand.cost)
            changed = [(demand.cost, account)]
            charging._write(rows, demand, changed, f"r{number}", digest, demand.request)
            body = accounts.body_of(result="x" * 1000)
            rows.append(Entry.after(rows.last(), "result", "claims", body,
                                    release=f"r{number}", request=digest))  # fmt: skip


def speed(folder: Path) -> Row:
    ledger = Ledger(folder / "speed.ledger")
    ledger.create("claims", tt.pure(1e6))
    fill(ledger, 100_000)
    took = []
    for _ in range(200):
        start = time.perf_counter()
        ticket = ledger.charge("claims", tt.pure(0.1), request={"column": "x"})
        took.append(1000 * (time.perf_counter() - start))
        ticket.store("x" * 1000)
    start, cpu = time.perf_counter(), time.process_time()
    entries = ledger.verify().entries
    seconds, own = time.perf_counter() - start, time.process_time() - cpu
    median, slow = sorted(took)[100], sorted(took)[190]
    found = (
        f"a charge {median:.1f} ms (median of 200), {slow:.1f} ms (95%); verify of {entries:,} "
        f"entries {seconds:.1f} s, of which {own:.1f} s in this process; load average "
        f"{os.getloadavg()[0]:.0f}"
    )
    return Row("100,000 charges with results of 1 kB", found, True)


PARTS = (
    by_strace, by_file_layer, power_loss, power_loss_full, race_in_a_file, race_on_a_server,
    race_with_a_kill, speed,
)  # fmt: skip

HEAD = """# Evidence for the ledger

`make ledger-evidence` wrote this page. Sound means: the file passes SQLite's check and the chain
verifies; if data were read, it was charged; if a result was printed, it is stored; asking again
under the same id never charges twice. {versions}, {cores} shared cores.

| test | found |
|---|---|
"""

FOOT = """
The times depend on what else the machine does, which the load average says. A charge waits for
several syncs of the disk. The 100,000 charges were added in one transaction, to save time; the 200
that were timed came after them, each by itself.
"""


def main() -> int:
    """Run all parts and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="only parts whose name contains one of these")
    parser.add_argument("--write", type=Path, help="write the table to this Markdown file")
    options = parser.parse_args()
    rows = []
    for part in PARTS:
        if options.names and not any(name in part.__name__ for name in options.names):
            continue
        with tempfile.TemporaryDirectory(prefix="ledger-") as folder:
            rows.append(part(Path(folder)))
        print(f"{'sound  ' if rows[-1].sound else 'UNSOUND'} {rows[-1].what}: {rows[-1].found}")
        sys.stdout.flush()
    if options.write:
        versions = f"Version {version('tametail')}, {date.today().isoformat()}; "
        versions += f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
        text = HEAD.format(versions=versions, cores=os.cpu_count())
        text += "".join(f"| {row.what} | {row.found} |\n" for row in rows) + FOOT
        options.write.write_text(text, encoding="utf-8")
    return 0 if all(row.sound for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
