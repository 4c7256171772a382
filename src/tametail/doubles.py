"""The order-preserving integer image of a double.

The bits of a float64, read as an integer, grow with the value on either side of zero. Mirroring
the negative half gives one integer per finite double, in order, with -0.0 and 0.0 both at 0.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

LARGEST = float(np.finfo(np.float64).max)


def to_key(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return the keys of ``values``; infinities become the largest doubles, NaN is not allowed.

    >>> to_key(np.array([-1.0, -0.0, 0.0, 5e-324])).tolist()
    [-4607182418800017408, 0, 0, 1]
    """
    bits = np.clip(values, -LARGEST, LARGEST).view(np.int64)
    return np.where(bits >= 0, bits, np.int64(-(2**63)) - bits)


def from_key(key: int) -> float:
    """Undo ``to_key`` for one key.

    >>> from_key(1), from_key(-4607182418800017408)
    (5e-324, -1.0)
    """
    magnitude = float(np.int64(abs(key)).view(np.float64))
    return -magnitude if key < 0 else magnitude
