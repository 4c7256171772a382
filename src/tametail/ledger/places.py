"""Where a ledger file may lie: on a local disk, under one name only.

The locks of network file systems cannot be relied on. And SQLite names its journal after the path:
what a crash left behind under one name of a file undoes charges that were made under another.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tametail._shown import shown_path
from tametail.errors import LedgerError

_NETWORK: Final = {
    "9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "fhgfs", "gfs", "gfs2",
    "glusterfs", "gpfs", "lustre", "mfs", "ncpfs", "nfs", "nfs3", "nfs4", "ocfs2", "orangefs",
    "panfs", "prl_fs", "pvfs2", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs",
    "wekafs",
}  # fmt: skip
#: Of file systems in user space only those that are known to be local may pass.
_LOCAL_IN_USER_SPACE: Final = {
    "fuse.ext4",
    "fuse.fuse-overlayfs",
    "fuse.lxcfs",
    "fuse.mergerfs",
    "fuseblk",
}
MOUNTS: Final = Path("/proc/mounts")


_ESCAPED: Final = re.compile(r"\\([0-7]{3})")


def _mounted(mounts: Path) -> Iterator[tuple[str, str]]:
    """Yield the mount points of this process and their file systems; none where not told."""
    try:
        text = mounts.read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return
    # Not splitlines(): a name may hold a form feed, or another sign that Python ends lines at.
    for line in filter(None, text.split("\n")):
        _, point, kind, *_ = line.split(" ")
        yield _ESCAPED.sub(lambda code: chr(int(code[1], 8)), point), kind


def file_system_of(path: Path, mounts: Path = MOUNTS) -> str | None:
    """Return the type of the file system that holds ``path``; None where it cannot be seen."""
    place = os.path.realpath(path)
    if place.startswith("\\\\"):
        return "smb3"
    found, longest = None, -1
    for point, kind in _mounted(mounts):
        inside = place == point or place.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= longest:  # of two at one point the later one is seen
            found, longest = kind, len(point)
    return found


def is_network(kind: str | None) -> bool:
    """Say whether a file system of this type reaches over a network, as far as is known.

    >>> is_network("nfs4"), is_network("fuse.sshfs"), is_network("ext4"), is_network(None)
    (True, True, False, False)
    """
    if kind is None:
        return False
    return kind in _NETWORK or (kind.startswith("fuse") and kind not in _LOCAL_IN_USER_SPACE)


def refuse_network(path: Path, mounts: Path = MOUNTS) -> None:
    """Raise a :class:`LedgerError` if the ledger would lie on a network file system."""
    kind = file_system_of(path, mounts)
    if is_network(kind):
        raise LedgerError(
            f"{shown_path(path)} is on a network file system ({kind}), where file locks may fail "
            "and charges may be lost. Use a local disk, or a server: "
            "Ledger('postgresql://host/db'). Ledger(..., allow_network=True) accepts the risk."
        )


def refuse_second_name(path: Path, mounts: Path = MOUNTS) -> None:
    """Raise a :class:`LedgerError` if the file may be reached by a second name."""
    place = os.path.realpath(path)
    if not os.path.isfile(place):
        return
    links = os.stat(place).st_nlink
    if links > 1:
        raise LedgerError(
            f"The ledger {shown_path(path)} has {links} hard links. A crash under one name can "
            "undo charges made under another. Keep one name and delete the others; `find FOLDER "
            "-samefile FILE` lists them. If one of them has a -journal file, keep that one."
        )
    if any(point == place for point, _ in _mounted(mounts)):
        raise LedgerError(
            f"The ledger {shown_path(path)} is mounted as a single file. A crash under one name "
            "can undo charges made under another. Mount its folder instead, in every container."
        )
