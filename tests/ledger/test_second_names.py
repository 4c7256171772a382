"""One file, one name, one lock: what is known about a ledger must not depend on how it is opened.

The long versions are in the evidence (``make ledger-evidence``).
"""

import os
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("links and POSIX locks are others on Windows", allow_module_level=True)

import tametail as tt
from tametail.errors import LedgerError
from tametail.ledger import Ledger
from tametail.ledger.places import refuse_second_name
from tametail.ledger.rows import TABLE

from . import attacks, crash


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "office.ledger"
    Ledger(path).create("claims", tt.pure(1))
    return path


def refused(path, match):
    for use in (
        lambda: Ledger(path).charge("claims", tt.pure(0.1)),
        lambda: Ledger(path).remaining("claims"),
        lambda: Ledger(path).verify(),
        lambda: Ledger(path).create("other", tt.pure(1)),
    ):
        with pytest.raises(LedgerError, match=match):
            use()


def test_a_second_link_is_refused_under_both_names(path):
    with attacks.hard_link(path) as second:
        refused(path, "2 hard links")
        refused(second, "2 hard links")
    assert Ledger(path).remaining("claims").charges == 0


def test_a_single_file_that_is_mounted_is_refused(path, tmp_path):
    if not attacks.may_mount(tmp_path):
        pytest.skip("this process may not mount; the next test reads a table of mounts instead")
    with attacks.file_mount(path) as second:
        refused(second, "Mount its folder")
    Ledger(path).charge("claims", tt.pure(0.1))


def test_mount_points_are_found_in_the_table_of_mounts(tmp_path):
    odd = tmp_path / "my office\n\\1\f\r\u2028.ledger"
    odd.touch()
    written = str(odd).replace("\\", "\\134").replace(" ", "\\040").replace("\n", "\\012")
    mounts = tmp_path / "mounts"
    mounts.write_bytes(f"/dev/sda / ext4 rw 0 0\n/dev/sda {written} ext4 rw 0 0\n".encode())
    with pytest.raises(LedgerError, match="mounted as a single file"):
        refuse_second_name(odd, mounts)
    refuse_second_name(tmp_path / "my office.ledger", mounts)
    refuse_second_name(odd, tmp_path / "nothing")


def test_a_folder_that_is_mounted_is_welcome(path, tmp_path):
    """The journal lies in the folder, under whichever name of it."""
    if not attacks.may_mount(tmp_path):
        pytest.skip("this process may not mount")
    folder = tmp_path / "folder"
    folder.mkdir()
    shutil.move(path, folder)
    with attacks.folder_mount(folder) as second:
        Ledger(second / path.name).charge("claims", tt.pure(0.1))
    assert Ledger(folder / path.name).remaining("claims").charges == 1


def test_a_symbolic_link_has_the_journal_of_its_target(path, tmp_path):
    link = tmp_path / "link.ledger"
    link.symlink_to(path)
    with Ledger(link)._storage.writing() as rows:
        list(rows._run(f"INSERT INTO {TABLE} VALUES (9,'note','','','','','','a','b')"))
        assert path.with_name("office.ledger-journal").exists()
    Ledger(link).charge("claims", tt.pure(0.1))
    assert Ledger(path).remaining("claims").charges == 1


@pytest.mark.parametrize("second_name", [attacks.hard_link, attacks.file_mount])
def test_no_charge_is_lost_by_a_kill_under_another_name(tmp_path, second_name):
    """At the last calls of a commit: what they leave behind would undo the other name's charge."""
    pytest.importorskip("apsw", reason="apsw is not installed")
    if second_name is attacks.file_mount and not attacks.may_mount(tmp_path):
        pytest.skip("this process may not mount")
    base = crash.prepare(tmp_path)
    calls = crash.count_file_calls(base, tmp_path / "run")
    outcome = attacks.killed_under_one_name(
        base, tmp_path / "run", list(range(calls // 3, calls, 2)), second_name
    )
    assert outcome.lost == []
    assert outcome.refused == outcome.runs


# Locks


def test_nothing_is_lost_where_other_code_opens_and_closes_the_file(tmp_path):
    outcome = attacks.with_dropped_locks(tmp_path / "office.ledger", processes=3, charges=12)
    assert (outcome.lost, outcome.refused, outcome.runs) == ([], 0, 36)


def test_a_second_writer_waits_although_the_locks_of_the_first_were_dropped(path):
    with Ledger(path)._storage.writing() as rows:
        rows.append(attacks.next_charge(rows))
        os.close(os.open(path, os.O_RDONLY))
        attacks.in_another_process(
            "import sys, tametail as tt\n"
            "try: tt.Ledger(sys.argv[1], timeout=0.2).charge('claims', tt.pure(0.1))\n"
            "except tt.errors.LedgerError as error: assert 'busy' in str(error)\n"
            "else: sys.exit(1)",
            path,
        )
    assert [event.release_id for event in Ledger(path).history()] == [None, "ours"]


def charge_and_then(path, do):
    """Charge, and do something just before the commit."""
    with Ledger(path)._storage.writing() as rows:
        rows.append(attacks.next_charge(rows))
        do()


def test_a_writer_who_holds_no_lock_is_noticed_before_anything_is_written(path):
    """As if the locks of the first writer had been dropped, and the second had waited for none."""

    def charge_without_a_lock():
        os.close(os.open(path, os.O_RDONLY))
        attacks.in_another_process(
            "import sys, tametail as tt\n"
            "from contextlib import nullcontext\n"
            "import tametail.ledger.sqlite as s; s.turn = lambda *a, **b: nullcontext()\n"
            "tt.Ledger(sys.argv[1]).charge('claims', tt.pure(0.1), release_id='theirs')",
            path,
        )

    head = Ledger(path).head
    with pytest.raises(LedgerError, match="changed while it was open"):
        charge_and_then(path, charge_without_a_lock)
    assert [event.release_id for event in Ledger(path).history()] == [None, "theirs"]
    assert Ledger(path).verify(head=head).entries == 2


def test_a_file_that_is_replaced_while_it_is_open_acknowledges_nothing(path):
    """A copy is restored in the middle of a charge: the commit goes to a file without a name."""
    old = path.with_name("copy")
    shutil.copy(path, old)
    with pytest.raises(LedgerError, match="replaced or overwritten"):
        charge_and_then(path, lambda: os.replace(old, path))
    assert Ledger(path).remaining("claims").charges == 0


def test_a_large_result_can_be_stored(path):
    """Larger than SQLite's cache: it must not be written before the commit."""
    ticket = Ledger(path).charge("claims", tt.pure(0.1), release_id="large")
    ticket.store("x" * 10_000_000)
    again = Ledger(path).charge("claims", tt.pure(0.1), release_id="large")
    assert len(again.stored) == 10_000_000


def test_a_trigger_that_swallows_entries(path):
    connection = sqlite3.connect(path)
    connection.execute(
        f"CREATE TRIGGER swallow BEFORE INSERT ON {TABLE} BEGIN SELECT RAISE(IGNORE); END"
    )
    connection.close()
    with pytest.raises(LedgerError, match="did not keep entry 2"):
        Ledger(path).charge("claims", tt.pure(0.1))
    assert Path(path).exists()
