"""Where a ledger file may lie: not on a network file system, whose locks cannot be relied on."""

from __future__ import annotations

import os
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


def file_system_of(path: Path, mounts: Path = MOUNTS) -> str | None:
    """Return the type of the file system that holds ``path``; None where it cannot be seen."""
    place = os.path.realpath(path)
    if place.startswith("\\\\"):
        return "smb3"
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    found, longest = None, -1
    for line in lines:
        _, point, kind, *_ = line.split(" ")
        point = point.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
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
            f"{shown_path(path)} lies on a network file system ({kind}), where two writers may "
            "both believe to be alone: use a local disk, or a server: "
            "Ledger('postgresql://host/db'). Ledger(..., allow_network=True) takes the risk."
        )
