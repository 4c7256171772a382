"""One writer at a time on a ledger file, by a lock that no other part of the process can drop.

SQLite locks its file with POSIX locks. They belong to the process, not to the connection: as soon
as any other code of the same process opens and closes the file, they are gone, and two writers may
both believe to be alone. A lock on the folder, by flock, belongs to whoever took it. Both are held.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

#: What a file system says that cannot lock a folder; SQLite's own locks are then all there is.
_UNSUPPORTED: Final = {errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}
_FIRST_PAUSE, _LONGEST_PAUSE = 0.0005, 0.02


@contextmanager
def turn(file: Path, *, alone: bool, timeout: float) -> Iterator[None]:
    """Hold the folder of ``file``: alone, to write, or beside others who read."""
    if sys.platform == "win32":  # there SQLite's locks belong to the open file
        yield
        return
    import fcntl

    try:
        folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:
        if alone:  # the folder could not be synced either
            raise
        yield
        return
    try:
        _wait(folder, fcntl.LOCK_EX if alone else fcntl.LOCK_SH, timeout)
        yield
    finally:
        # Closing is not enough: a process that was forked meanwhile has the folder open, too.
        with suppress(OSError):
            fcntl.flock(folder, fcntl.LOCK_UN)
        os.close(folder)


def _wait(folder: int, kind: int, timeout: float) -> None:
    """Take the lock, or raise a TimeoutError."""
    import fcntl

    give_up, pause = time.monotonic() + timeout, _FIRST_PAUSE
    while True:
        try:
            fcntl.flock(folder, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > give_up:
                raise TimeoutError("the folder is locked") from None
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
            return
        else:
            return
