"""OpenDP's features, switched on for a moment and left as they were found.

OpenDP keeps one set of enabled features for the whole process. It is the user's to decide upon, so
tametail puts back what it found, whatever happens in between.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# One lock for all of tametail: two threads that both put back what they found would otherwise
# undo each other. Reentrant, since one construction may lead to another.
_lock = threading.RLock()

# A process forked in the middle of a block would find the lock taken and the features on for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


@contextmanager
def features(*names: str) -> Iterator[None]:
    """Enable these features of OpenDP inside a ``with`` block.

    A thread that switches the same features *itself* while the block runs, a few microseconds, may
    find its change undone: OpenDP offers no way to tell who enabled a feature.

    >>> from opendp.mod import GLOBAL_FEATURES
    >>> before = set(GLOBAL_FEATURES)
    >>> with features("contrib"):
    ...     "contrib" in GLOBAL_FEATURES
    True
    >>> GLOBAL_FEATURES == before
    True
    """
    from opendp.mod import GLOBAL_FEATURES, disable_features, enable_features

    with _lock:
        added = [name for name in names if name not in GLOBAL_FEATURES]
        enable_features(*added)
        try:
            yield
        finally:
            disable_features(*added)
