"""The long versions of the ledger's crash, power-loss, race and attack tests, as a table.

    python -m tests.ledger.evidence --write docs/evidence/ledger-evidence.md

Takes minutes. The exit code is 1 if anything is unsound.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path

import tametail as tt
from tametail.errors import BudgetError, LedgerError
from tametail.ledger import Ledger, accounts, charging, sqlite
from tametail.ledger.cost import Cost, Protection
from tametail.ledger.entries import Entry, request_hash
from tametail.ledger.rows import TABLE

from . import attacks, by_hand, crash, powerloss, race
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


def second_link(folder: Path) -> Row:
    return _second_name(folder, "hard link", attacks.hard_link)


def second_mount(folder: Path) -> Row:
    if not attacks.may_mount(folder):
        return Row(_SECOND.format("mount of the single file"), "not run: no right to mount", True)
    return _second_name(folder, "mount of the single file", attacks.file_mount)


_SECOND = "kill -9 at every call of SQLite's file layer, then a charge under a second name: {}"


def _second_name(folder: Path, name: str, second_name: attacks.SecondName) -> Row:
    base = crash.prepare(folder)
    calls = crash.count_file_calls(base, folder / "run")
    numbers = list(range(1, calls + 1))
    outcome = attacks.killed_under_one_name(base, folder / "run", numbers, second_name)
    found = f"{outcome.refused} of {outcome.runs} refused, {len(outcome.lost)} lost a charge"
    return Row(_SECOND.format(name), found, not outcome.lost and outcome.refused == outcome.runs)


def dropped_locks(folder: Path) -> Row:
    outcome = attacks.with_dropped_locks(folder / "office.ledger", processes=4, charges=100)
    kept = outcome.runs - outcome.refused
    found = f"{kept} of {outcome.runs} acknowledged, {'some' if outcome.lost else 'none'} lost"
    return Row(
        "4 processes charge while a thread of each opens and closes the file, which drops POSIX "
        "locks", found, not outcome.lost and kept == outcome.runs,
    )  # fmt: skip


def swallowed(folder: Path) -> Row:
    what = "rules and triggers that drop or change rows, 25 charges each: PostgreSQL"
    server, acknowledged, kept = start_server(), 0, 0
    try:
        for statements in by_hand.SWALLOWED.values():
            url = new_schema(server.get_uri())
            Ledger(url).create("claims", tt.pure(5))
            by_hand.run(url, *(text.format(table=TABLE) for text in statements))
            for _ in range(25):
                with suppress(LedgerError):
                    Ledger(url).charge("claims", tt.pure(0.1))
                    acknowledged += 1
            kept += Ledger(url).remaining("claims").charges
    finally:
        server.cleanup()
    runs = 25 * len(by_hand.SWALLOWED)
    return Row(what, f"{acknowledged} of {runs} acknowledged", acknowledged == kept == 0)


def row_security(folder: Path) -> Row:
    """Rows by hand, at random, by a role that the guide's policy lets add charges."""
    server, rng, believed, runs = start_server(), random.Random(42), 0, 200
    try:
        for _ in range(runs):
            url = new_schema(server.get_uri())
            Ledger(url).create("claims", tt.pure(1))
            with by_hand.role(url, policy=True) as spender:
                Ledger(spender).charge("claims", tt.pure(0.9))
                by_hand.insert(spender, by_hand.forged_at_random(Ledger(spender), rng))
                for place in (url, spender):
                    with suppress(BudgetError, LedgerError):
                        Ledger(place).charge("claims", tt.pure(0.5))
                        believed += 1
            by_hand.run(url, f"DROP TABLE {TABLE} CASCADE")
    finally:
        server.cleanup()
    what = (
        "charges that a spender writes by hand, with budget, sums, unit or cost of its own, under "
    )
    what += "the guide's row security: PostgreSQL"
    return Row(what, f"{believed} of {runs} believed", believed == 0)


def fill(ledger: Ledger, count: int) -> None:
    """Add charges with results of 1 kB, all in one transaction, to save time."""
    demand = charging.ChargeRequest("claims", Cost.of(tt.pure(0.1)), Protection(), {"column": "x"})
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
    took, busy = [], []
    for _ in range(200):
        start, cpu = time.perf_counter(), time.process_time()
        ticket = ledger.charge("claims", tt.pure(0.1), request={"column": "x"})
        took.append(1000 * (time.perf_counter() - start))
        busy.append(1000 * (time.process_time() - cpu))
        ticket.store("x" * 1000)
    start, cpu = time.perf_counter(), time.process_time()
    entries = ledger.verify().entries
    seconds, own = time.perf_counter() - start, time.process_time() - cpu
    median, slow = sorted(took)[100], sorted(took)[190]
    found = (
        f"a charge {median:.1f} ms (median of 200), {slow:.1f} ms (95%), of which "
        f"{sorted(busy)[100]:.1f} ms in this process; verify of {entries:,} "
        f"entries {seconds:.1f} s, of which {own:.1f} s in this process; load average "
        f"{os.getloadavg()[0]:.0f}"
    )
    return Row("100,000 charges with results of 1 kB", found, True)


def speed_on_a_server(folder: Path) -> Row:
    """The first charge of a process recomputes all entries, the next ones what is new."""
    server = start_server()
    try:
        url = new_schema(server.get_uri())
        Ledger(url).create("claims", tt.pure(1e6))
        fill(Ledger(url), 10_000)
        ledger, took = Ledger(url), []
        for _ in range(101):
            start = time.perf_counter()
            ledger.charge("claims", tt.pure(0.1), request={"column": "x"})
            took.append(1000 * (time.perf_counter() - start))
    finally:
        server.cleanup()
    found = (
        f"the first charge of a process {took[0]:.0f} ms, then {sorted(took[1:])[50]:.1f} ms "
        f"(median of 100); load average {os.getloadavg()[0]:.0f}"
    )
    return Row("10,000 charges with results of 1 kB: PostgreSQL", found, True)


PARTS = (
    by_strace, by_file_layer, power_loss, power_loss_full, race_in_a_file, race_on_a_server,
    race_with_a_kill, second_link, second_mount, dropped_locks, swallowed, row_security, speed,
    speed_on_a_server,
)  # fmt: skip

HEAD = """# Evidence for the ledger

`make ledger-evidence` wrote this page. Sound means: the file passes SQLite's check and the chain
verifies; if data were read, it was charged; if a result was printed, it is stored; asking again
under the same id never charges twice. The attacks are those of the
[threat model](threat-model.md). {versions}, {cores} shared cores.

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
