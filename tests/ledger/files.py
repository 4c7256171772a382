"""SQLite's file layer, seen by the tests: recorded, or cut short by kill -9.

A VFS of apsw passes every call on to the system's own and writes it down, or kills the process at
the chosen one. The ledger runs on it unchanged, through its connection.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import apsw

from tametail.ledger import Ledger
from tametail.ledger.sqlite import SqliteStorage


@dataclass(frozen=True)
class Step:
    """A change of a file, or a moment that matters."""

    kind: str  # create, write, truncate, sync, delete, returned
    name: str = ""
    offset: int = 0
    data: bytes = b""
    directory_synced: bool = False


class _File(apsw.VFSFile):
    def __init__(self, layer, name, flags):
        self.layer = layer
        self.name = _base(name)
        super().__init__("", name, flags)

    def xWrite(self, data, offset):
        self.layer.note(Step("write", self.name, offset, bytes(data)))
        return super().xWrite(data, offset)

    def xTruncate(self, size):
        self.layer.note(Step("truncate", self.name, size))
        return super().xTruncate(size)

    def xSync(self, flags):
        self.layer.note(None)
        done = super().xSync(flags)
        self.layer.note(Step("sync", self.name))
        return done

    def xRead(self, amount, offset):
        self.layer.note(None)
        return super().xRead(amount, offset)

    def xLock(self, level):
        self.layer.note(None)
        return super().xLock(level)

    def xUnlock(self, level):
        self.layer.note(None)
        return super().xUnlock(level)


class FileLayer(apsw.VFS):
    """A VFS that writes its calls down; at call number ``kill_at`` the process is killed."""

    def __init__(self, name: str, kill_at: int | None = None) -> None:
        self.steps: list[Step] = []
        self.calls = 0
        self.kill_at = kill_at
        self.vfs_name = name
        super().__init__(name, "")

    def note(self, step: Step | None) -> None:
        self.calls += 1
        if self.calls == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if step is not None:
            self.steps.append(step)

    def xOpen(self, name, flags):
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if path and not os.path.exists(path):
            self.note(Step("create", _base(name)))
        return _File(self, name, flags)

    def xDelete(self, name, sync_directory):
        self.note(None)
        done = super().xDelete(name, sync_directory)
        self.note(Step("delete", os.path.basename(name), directory_synced=bool(sync_directory)))
        return done

    def ledger(self, path: Path) -> Ledger:
        """Return a ledger whose file calls go through this layer."""
        made = Ledger(path)
        made._storage = SqliteStorage(path, connect=self._connect)
        return made

    def _connect(self, path, mode, timeout):
        flags = apsw.SQLITE_OPEN_READWRITE
        if mode == "rwc":
            flags |= apsw.SQLITE_OPEN_CREATE
        return _Connection(apsw.Connection(str(path), flags=flags, vfs=self.vfs_name))


class _Connection:
    def __init__(self, connection):
        self._connection = connection

    def run(self, statement, parameters=()):
        return iter(list(self._connection.execute(statement, parameters)))

    def close(self):
        self._connection.close()


def _base(name):
    path = name.filename() if isinstance(name, apsw.URIFilename) else name
    return os.path.basename(path) if path else ""
