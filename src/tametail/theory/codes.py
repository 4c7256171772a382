"""Binary codes of relative distance 1/4, for the packing lower bound."""

from __future__ import annotations

import hashlib
import math
from functools import cache
from itertools import count

import numpy as np
from numpy.typing import NDArray

from tametail.errors import ParameterError
from tametail.inequalities.checks import whole

# SHA-256 gives a candidate its bits, and all 2^(256/16) words fit in memory for the check.
_LARGEST_LENGTH = 256


@cache
def binary_code(d: int) -> NDArray[np.uint8]:
    """Return a linear code in {0, 1}^d as rows: at least ``2^(d/16)`` words, d/4 apart.

    Theorem ``high-d-lb`` asks for ``2^Omega(d)`` words that differ pairwise in at least d/4
    places. Words are added greedily, as Varshamov does: a candidate joins the generators if it,
    plus any word so far, has weight at least d/4. In a linear code the least weight is the
    least distance, so the distance is verified by the construction. The candidates are the bits
    of SHA-256 of 0, 1, 2, ..., so that everybody builds the same code.

    >>> code = binary_code(32)
    >>> code.shape, int(code[1:].sum(axis=1).min()) >= 8
    ((4, 32), True)
    """
    whole(d=d)
    if d > _LARGEST_LENGTH:
        raise ParameterError(f"Expected d={d} to be at most {_LARGEST_LENGTH} for a code.")
    words = np.zeros((1, d), dtype=np.uint8)
    candidates = count()
    while len(words) < 2 ** math.ceil(d / 16):
        shifted = words ^ _candidate(next(candidates), d)
        if 4 * int(shifted.sum(axis=1, dtype=np.int64).min()) >= d:
            words = np.concatenate([words, shifted])
    words.flags.writeable = False  # shared by all callers
    return words


def _candidate(index: int, d: int) -> NDArray[np.uint8]:
    digest = hashlib.sha256(str(index).encode()).digest()
    return np.unpackbits(np.frombuffer(digest, dtype=np.uint8))[:d]
