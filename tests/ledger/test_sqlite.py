"""What may be wrong with a file: always a typed error, and nothing is read."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

import tametail as tt
from tametail.errors import LedgerError, TametailError
from tametail.ledger import Ledger
from tametail.ledger.places import file_system_of, is_network, refuse_network


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "office.ledger"
    ledger = Ledger(path)
    ledger.create("claims", tt.pure(1))
    ledger.charge("claims", tt.pure(0.1), release_id="first").store("{}")
    return path


def refused(path, match, **options):
    with pytest.raises(LedgerError, match=match) as caught:
        Ledger(path, **options).charge("claims", tt.pure(0.1))
    assert "No data were read" in str(caught.value)


def test_journal_and_synchronous_are_what_durability_needs(path):
    with Ledger(path)._storage.reading() as rows:
        assert list(rows._run("PRAGMA journal_mode")) == [("delete",)]
        assert list(rows._run("PRAGMA synchronous")) == [(3,)]


def test_others_keep_it_busy(path):
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    refused(path, "busy", timeout=0.1)
    other.close()
    assert Ledger(path).remaining("claims").charges == 1


@pytest.mark.parametrize("content", [b"", b"id,amount\n1,2\n", b"\0" * 8192])
def test_a_file_that_is_no_ledger(tmp_path, content):
    path = tmp_path / "other"
    path.write_bytes(content)
    refused(path, "not a ledger")
    assert path.read_bytes() == content


def test_another_database(tmp_path):
    connection = sqlite3.connect(tmp_path / "other")
    connection.execute("CREATE TABLE t(x)")
    connection.close()
    refused(tmp_path / "other", "is not a ledger")


def test_a_folder_and_a_missing_folder(tmp_path):
    refused(tmp_path, "cannot be")
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger(tmp_path / "no" / "office.ledger").create("claims", tt.pure(1))


def test_a_damaged_file(path):
    size = path.stat().st_size
    for start in range(0, size, 4096):
        damaged = bytearray(path.read_bytes())
        damaged[start : start + 4096] = b"\xff" * len(damaged[start : start + 4096])
        other = path.with_name(f"damaged{start}")
        other.write_bytes(damaged)
        with pytest.raises(TametailError):
            Ledger(other).verify()


def test_a_truncated_file(path):
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TametailError):
        Ledger(path).verify()


@pytest.mark.parametrize("kept", [0, 100, 512, 1500])
def test_a_half_written_journal_is_no_harm(path, kept):
    """A crash while the journal was written: the file had not been touched yet."""
    head = Ledger(path).head
    (path.parent / "office.ledger-journal").write_bytes(os.urandom(kept))
    assert Ledger(path).verify(head=head).head == head
    Ledger(path).charge("claims", tt.pure(0.1))


FULL = """
import resource, signal, sys
import tametail as tt
from tametail.errors import LedgerError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
ledger = tt.Ledger(sys.argv[1])
size = __import__("os").stat(sys.argv[1]).st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
try:
    for index in range(100):
        ledger.charge("claims", tt.pure(0.001), request={"padding": "x" * 3000})
except LedgerError as error:
    print("refused", index, "No data were read" in str(error))
"""


def test_a_full_disk(path):
    """A limit on the size of files stands for the disk: what fits is charged, and no more."""
    command = [sys.executable, "-c", FULL, str(path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert said[::2] == ["refused", "True"]
    assert Ledger(path).remaining("claims").charges == 1 + int(said[1])
    Ledger(path).verify()


READ_ONLY = """
import os, sys
import tametail as tt
from tametail.errors import LedgerError
ledger = tt.Ledger(sys.argv[1])
ledger.remaining("claims"), tt.__version__  # so that all modules are loaded
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)
print(ledger.verify().entries)
try:
    ledger.charge("claims", tt.pure(0.1))
except LedgerError as error:
    print("read-only" in str(error), "No data were read" in str(error))
"""


def test_a_file_that_may_only_be_read_can_be_audited_but_not_charged(path):
    with tempfile.TemporaryDirectory() as folder:  # those of pytest let nobody in
        os.chmod(folder, 0o755)
        path = Path(shutil.copy(path, folder))
        path.chmod(0o444)
        command = [sys.executable, "-c", READ_ONLY, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["3", "True", "True"], done.stderr


def test_a_copy_of_the_open_file_has_every_charge(path, tmp_path):
    ledger = Ledger(path)
    with ledger._storage.reading():
        shutil.copy(path, tmp_path / "copy")
    assert Ledger(tmp_path / "copy").verify(head=ledger.head).entries == 3


def test_threads_share_a_ledger(path):
    ledger, failures = Ledger(path), []

    def work():
        try:
            ledger.charge("claims", tt.pure(0.01))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert ledger.remaining("claims").charges == 9


# Network file systems

MOUNTS = """sysfs / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/sdb /home/local ext4 rw 0 0
//host/share /mnt/my\\040share cifs rw 0 0
sshfs /mnt/ssh fuse.sshfs rw 0 0
tmpfs /dev/shm tmpfs rw 0 0
scratch /scratch lustre rw 0 0
gpfs0 /gpfs gpfs rw 0 0
"""


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("/var/office.ledger", "ext4"),
        ("/home/me/office.ledger", "nfs4"),
        ("/home/local/office.ledger", "ext4"),
        ("/homestead/office.ledger", "ext4"),
        ("/mnt/my share/office.ledger", "cifs"),
        ("/mnt/ssh/office.ledger", "fuse.sshfs"),
        ("/scratch/office.ledger", "lustre"),
        ("/gpfs/office.ledger", "gpfs"),
    ],
)
def test_network_file_systems_are_refused(tmp_path, place, kind):
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    assert file_system_of(Path(place), mounts) == kind
    if is_network(kind):
        with pytest.raises(LedgerError, match="postgresql://"):
            refuse_network(Path(place), mounts)
    else:
        refuse_network(Path(place), mounts)


def test_a_ledger_on_the_network_only_if_that_is_said(path, monkeypatch):
    monkeypatch.setattr("tametail.ledger.places.file_system_of", lambda *_: "nfs")
    refused(path, "network file system")
    Ledger(path, allow_network=True).charge("claims", tt.pure(0.1))


def test_where_mounts_cannot_be_seen_nothing_is_refused(tmp_path):
    assert file_system_of(tmp_path, tmp_path / "nothing") is None
    refuse_network(tmp_path, tmp_path / "nothing")


def test_sqlite_is_imported_when_it_is_used():
    code = "import sys, tametail; print('sqlite3' in sys.modules, 'psycopg' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
