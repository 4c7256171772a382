"""Faults while data are read: each function makes one happen and says what came of it.

They fail by an assertion. ``size`` says how long to try; ``make faults`` takes more than the tests.
Crashes, power losses and races of the ledger have their own evidence (tests/ledger).
"""

from __future__ import annotations

import hashlib
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tametail as tt
from tametail.errors import DataError, LedgerError, ParameterError, TametailError

RELEASE = "import sys, tametail as tt\nwhile True: tt.mean(sys.argv[1], 'x', epsilon=1)"
COMMAND = "import sys; from tametail.cli import main; sys.exit(main())"
ONCE = """
import sys, tametail as tt
from tametail.errors import TametailError
try:
    tt.mean(sys.argv[1], "x", epsilon=1)
except TametailError as error:
    sys.exit(error.exit_code)
"""


def write_csv(path: Path, rows: int) -> Path:
    """Write a column of numbers."""
    numbers = np.random.default_rng(1).lognormal(size=rows)
    path.write_text("x\n" + "\n".join(map(str, numbers.tolist())) + "\n", encoding="utf-8")
    return path


def write_parquet(path: Path, rows: int) -> Path:
    """Write a column of numbers."""
    pq.write_table(pa.table({"x": np.random.default_rng(1).lognormal(size=rows)}), path)
    return path


def write_arrow(path: Path, rows: int) -> Path:
    """Write a column of numbers, in batches and as they are: a reader could map them."""
    table = pa.table({"x": np.random.default_rng(1).lognormal(size=rows)})
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows // 10)
    return path


def killed_while_reading(folder: Path, size: int) -> str:
    """Kill -9 a process at random moments: the data stay as they were, and nothing is left."""
    file = write_csv(folder / "data.csv", 50_000)
    before = hashlib.sha256(file.read_bytes()).digest()
    for _ in range(size):
        process = subprocess.Popen([sys.executable, "-c", RELEASE, str(file)])
        time.sleep(random.uniform(0.1, 1.5))
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert hashlib.sha256(file.read_bytes()).digest() == before
    assert [found.name for found in folder.iterdir()] == ["data.csv"]
    return f"{size} kills: data unchanged, no file left behind"


def truncated_while_read(folder: Path, size: int) -> str:
    """Cut a file off while it is read: a release or an error of ours, never a crash."""
    ends: dict[int, int] = {}
    kinds = {"csv": write_csv, "parquet": write_parquet, "arrow": write_arrow}
    for number in range(size):
        kind = list(kinds)[number % len(kinds)]
        file = kinds[kind](folder / f"data.{kind}", 300_000)
        process = subprocess.Popen([sys.executable, "-c", ONCE, str(file)], stderr=-1)
        time.sleep(random.uniform(0.2, 1.2))
        os.truncate(file, file.stat().st_size // 3)
        _, said = process.communicate(timeout=600)
        assert process.returncode in (0, DataError.exit_code), said[-500:]
        ends[process.returncode] = ends.get(process.returncode, 0) + 1
    return f"{size} truncations: {ends.get(0, 0)} releases, {ends.get(4, 0)} errors of ours"


def unreadable_file_in_a_folder(folder: Path, size: int) -> str:
    """Put rubbish among the files of a folder: an error that quotes nothing of it."""
    for number in range(size):
        write_parquet(folder / "a.parquet", 1000)
        rubbish = (b"", b"PAR1", b"zebrafish" * 99, (folder / "a.parquet").read_bytes()[:-9])
        (folder / "b.parquet").write_bytes(rubbish[number % len(rubbish)])
        with pytest.raises(DataError) as caught:
            tt.mean(folder, "x", epsilon=1)
        assert "zebrafish" not in str(caught.value)
    return f"{size} folders with a broken file: an error each"


def full_disk(folder: Path, size: int) -> str:
    """Write results to a full disk: a failure that is told, without a traceback."""
    file = write_csv(folder / "data.csv", 1000)
    command = [sys.executable, "-c", COMMAND, "mean", str(file), "--column", "x"]
    for _ in range(size):
        with open("/dev/full", "w", encoding="utf-8") as full:
            found = subprocess.run(
                [*command, "--epsilon", "1"],
                check=False,
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
            )
        assert found.returncode != 0
        assert "Traceback" not in found.stderr, found.stderr[-500:]
    return f"{size} times: exit code not 0, no traceback"


NO_ROOM = """
import resource, sys, tametail as tt
from tametail.errors import DataError, LedgerError, ParameterError
file, folder, release = sys.argv[1], sys.argv[2], tt.mean([1.0, 2.0] * 500, epsilon=1)
told = tt.Parse(format="csv")
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # no file grows beyond this

def fails(kind, call):
    try:
        call()
    except kind:
        return
    sys.exit(f"no {kind.__name__}")

with open(file, "rb") as stream:
    fails(DataError, lambda: tt.mean(stream, "x", epsilon=1, parse=told))
fails(ParameterError, lambda: release.report(folder + "/report.html"))
ledger = tt.Ledger(folder + "/office.ledger")
fails(LedgerError, lambda: ledger.create("a", budget=tt.pure(1), neighbors="add-remove"))
"""


def no_room_on_the_disk(folder: Path, size: int) -> str:
    """Let no file grow: the copy of a stream, a report and a ledger are errors of ours."""
    file = write_csv(folder / "data.csv", 3000)
    for _ in range(size):
        command = [sys.executable, "-c", NO_ROOM, str(file), str(folder)]
        found = subprocess.run(command, check=False, capture_output=True, text=True)
        assert found.returncode == 0, found.stderr[-500:]
    return f"{size} times a stream, a report and a ledger: an error of ours each"


def read_only_folder(folder: Path, size: int) -> str:
    """Read from a folder that nobody may write to, and write where nobody can."""
    inside = folder / "inside"
    inside.mkdir()
    file = write_csv(inside / "data.csv", 1000)
    inside.chmod(0o500)
    try:
        for _ in range(size):
            release = tt.mean(file, "x", epsilon=1)
            with pytest.raises(ParameterError, match="cannot be written"):
                release.report(Path(os.devnull) / "report.html")
            with pytest.raises(LedgerError, match="cannot be"):
                tt.Ledger(Path(os.devnull) / "office.ledger").create(
                    "a", budget=tt.pure(1), neighbors="add-remove"
                )
        assert [found.name for found in inside.iterdir()] == ["data.csv"]
    finally:
        inside.chmod(0o700)
    return f"{size} releases from it; reports and ledgers that cannot be written: errors of ours"


def many_releases(folder: Path, size: int) -> str:
    """Release again and again: memory stays flat."""
    records = np.random.default_rng(1).lognormal(size=2000)
    for _ in range(size // 4):
        tt.mean(records, epsilon=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(size):
        tt.mean(records, epsilon=1)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < 32, grown
    return f"{size} releases: peak memory grew by {grown:.1f} MB"


def eight_threads(folder: Path, size: int) -> str:
    """Release from one file in eight threads: every release is made."""
    file, made, wrong = write_csv(folder / "data.csv", 2000), [], []

    def work() -> None:
        try:
            made.extend(tt.mean(file, "x", epsilon=1).answers for _ in range(size))
        except TametailError as error:
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(made) == len(set(made)) == 8 * size
    return f"{8 * size} releases in 8 threads, no two alike"


def digest_of_release(file: Path) -> bytes:
    """Release, and return a hash of all answers."""
    return hashlib.sha256(repr(tt.mean(file, "x", epsilon=1).answers).encode()).digest()


def forked(folder: Path, size: int) -> str:
    """Fork after a release: children repeat neither their parent nor each other."""
    file = write_csv(folder / "data.csv", 2000)
    made = [digest_of_release(file)]
    for _ in range(size):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:  # nothing but the release, and no way back into the tests
            try:
                os.write(writing, digest_of_release(file))
            finally:
                os._exit(0)
        os.close(writing)
        made += [digest_of_release(file), os.read(reading, 99)]
        os.close(reading)
        assert os.waitpid(child, 0)[1] == 0
    assert len(set(made)) == 2 * size + 1
    return f"{size} forks: {2 * size + 1} releases, no two alike"


def many_rows(folder: Path, size: int) -> str:
    """Stream a file of very many rows: memory does not grow with them."""
    file, block = folder / "long.parquet", min(size, 1_000_000)
    numbers = np.round(np.random.default_rng(1).lognormal(size=block), 2)
    with pq.ParquetWriter(file, pa.schema({"x": pa.float64()})) as writer:
        for _ in range(size // block):
            writer.write_table(pa.table({"x": numbers}))
    before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    release = tt.mean(file, "x", epsilon=1)
    seconds = time.process_time() - begun
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < 256, grown
    assert abs(release.value / numbers.mean() - 1) < 0.1
    return f"{size:,} rows: {seconds:.1f} s of CPU, peak memory grew by {grown:.0f} MB"


def many_columns(folder: Path, size: int) -> str:
    """Read one column of a CSV file with very many."""
    file = folder / "wide.csv"
    names = ",".join(f"c{number}" for number in range(size))
    row = ",".join("1" for _ in range(size))
    file.write_text(f"{names}\n{row}\n{row}\n", encoding="utf-8")
    begun = time.process_time()
    tt.mean(file, f"c{size - 1}", epsilon=1)
    return f"{size:,} columns: {time.process_time() - begun:.1f} s"


#: Each fault, how long the tests try it and how long ``make faults`` does.
CASES = {
    killed_while_reading: (2, 40),
    truncated_while_read: (3, 60),
    unreadable_file_in_a_folder: (4, 40),
    full_disk: (1, 10),
    no_room_on_the_disk: (1, 10),
    read_only_folder: (1, 10),
    many_releases: (200, 10_000),
    eight_threads: (5, 100),
    forked: (8, 100),
    many_rows: (1_000_000, 100_000_000),
    many_columns: (20_000, 1_000_000),
}
