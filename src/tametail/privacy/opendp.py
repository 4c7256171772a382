"""OpenDP's noise, and its features, switched on for a moment and left as they were found.

OpenDP is imported on the first draw, not when tametail is imported. It keeps one set of enabled
features for the whole process. That set is the user's to decide upon, so tametail puts back what it
found, whatever happens in between.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opendp.mod import Domain, Measurement, Metric

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


@lru_cache(maxsize=1024)
def laplace_measurement(scale: float) -> Measurement:
    """Return OpenDP's discrete Laplace noise on vectors of 64-bit integers."""
    from opendp.measurements import make_laplace

    domain, l1, _ = _spaces()
    with features("contrib"):
        return make_laplace(domain, l1, scale=scale)


@lru_cache(maxsize=1024)
def gaussian_measurement(sigma: float) -> Measurement:
    """Return OpenDP's discrete Gaussian noise on vectors of 64-bit integers."""
    from opendp.measurements import make_gaussian

    domain, _, l2 = _spaces()
    with features("contrib"):
        return make_gaussian(domain, l2, scale=sigma)


@lru_cache(maxsize=1)
def _spaces() -> tuple[Domain, Metric, Metric]:
    """Return vectors of 64-bit integers and their distances: OpenDP takes long to make these."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.metrics import l1_distance, l2_distance

    with features("contrib"):
        return vector_domain(atom_domain(T="i64")), l1_distance(T="i64"), l2_distance(T="f64")
