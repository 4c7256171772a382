"""The compiled inner loops, if they were built: same integers as NumPy, in less time.

``_native.c`` is compiled when tametail is installed and a C compiler is there. Everything works
without it.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

#: Bins of a profile: the top 16 bits of a double. Tables of them that are filled in turn.
BINS = 1 << 16
TABLES = 4

_LIBRARY = Path(__file__).with_name("_native.so")


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL | None:
    """Return the compiled loops, or None where they were not built."""
    try:
        loops = ctypes.CDLL(str(_LIBRARY))
        _declare(loops)
    except (OSError, AttributeError):  # not there, or of another version
        return None
    return loops


def _declare(loops: ctypes.CDLL) -> None:
    address, number, real = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
    loops.tametail_missing.argtypes = [address, number]
    loops.tametail_missing.restype = number
    loops.tametail_profile.argtypes = [address, number, real, address, number]
    loops.tametail_profile.restype = None
    loops.tametail_clipped.argtypes = [address, number, real, real, real, real, address]
    loops.tametail_clipped.restype = None


def count_present(loops: ctypes.CDLL, chunk: Floats) -> int:
    """Count the values that are not NaN."""
    chunk = _plain(chunk)
    return chunk.size - int(loops.tametail_missing(_address(chunk), chunk.size))


def add_to_profile(loops: ctypes.CDLL, chunk: Floats, centre: float, tables: Counts) -> None:
    """Count ``chunk - centre`` by the top 16 bits, and add up the 28 bits that follow.

    ``tables`` has the shape (TABLES, BINS, 2), or (1, BINS, 2); its tables are to be added up.
    """
    chunk, apart = _plain(chunk), 2 * BINS if len(tables) == TABLES else 0
    loops.tametail_profile(_address(chunk), chunk.size, centre, _address(tables), apart)


def clipped_sum(
    loops: ctypes.CDLL, chunk: Floats, inverse_tick: float, ends: tuple[float, float, float]
) -> tuple[int, int]:
    """Return the sum of ``floor(clip(x * inverse_tick, low, high)) - centre``, and the count.

    ``ends`` are low, centre and high, none of the former further than 2**36 from the centre.
    """
    chunk, (low, centre, high) = _plain(chunk), ends
    result = np.empty(2, dtype=np.int64)
    address = _address(chunk)
    loops.tametail_clipped(address, chunk.size, inverse_tick, low, high, centre, _address(result))
    return int(result[0]), chunk.size - int(result[1])


def _plain(chunk: Floats) -> Floats:
    """Return the chunk as C sees an array: values side by side, in native byte order."""
    return np.require(chunk, dtype=np.float64, requirements=["C", "A"])


def _address(array: npt.NDArray[np.float64] | Counts) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
