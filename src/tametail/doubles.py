"""The order-preserving integer image of a double.

The bits of a float64, read as an integer, grow with the value on either side of zero. Mirroring
the negative half gives one integer per finite double, in order, with -0.0 and 0.0 both at 0.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

LARGEST = float(np.finfo(np.float64).max)


def to_key(values: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return the keys of ``values``; infinities become the largest doubles, NaN is not allowed.

    >>> to_key([-1.0, -0.0, 0.0, 5e-324]).tolist()
    [-4607182418800017408, 0, 0, 1]
    """
    finite = np.clip(np.asarray(values, dtype=np.float64), -LARGEST, LARGEST)
    bits = np.asarray(finite).view(np.int64)
    magnitude = bits & np.int64(2**63 - 1)
    return np.where(bits < 0, -magnitude, magnitude)


def from_key(key: int) -> float:
    """Undo ``to_key`` for one key.

    >>> from_key(1), from_key(int(to_key(-19.99)))
    (5e-324, -19.99)
    """
    return math.copysign(float(np.int64(abs(key)).view(np.float64)), key)
