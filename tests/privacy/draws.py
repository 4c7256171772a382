"""Every source of secret randomness, drawn once: what another process or thread must not repeat.

No outcome of a draw has a probability above 2^-``BITS``, so that two independent draws agree no
more often than that: equal ones mean a shared state and not chance. Remarks count the bits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from fractions import Fraction

import numpy as np

import tametail as tt
from tametail.data.sampling import Sampler
from tametail.mechanisms.medians import choose_many_medians, choose_median
from tametail.mechanisms.noise import add_gaussian, add_laplace
from tametail.mechanisms.select import select, uniform_integer
from tametail.mechanisms.sparse import draw_empty_keys, draw_geometric
from tametail.mechanisms.spherical import add_spherical
from tametail.privacy.adjacency import Adjacency

BITS = 60

_NOTHING = np.empty(0, dtype=np.int64)
_KEYS = list(range(30)) * 300
_RECORDS = [2.0, 3.0, 5.0, 7.0] * 5
_ROWS = np.array([[2.0, 3.0], [5.0, 7.0]] * 5)


def _vector_release() -> Hashable:
    answers: Hashable = tt.mean(_ROWS, rho=1e-3, n=10).answers
    return answers


SOURCES: dict[str, Callable[[], Hashable]] = {
    # 20 noises of scale 100: P(0) < 1 / 200, which is 7 bits each; of sigma 70: 1 / 175, as many.
    "laplace": lambda: tuple(add_laplace([0] * 20, 1, 0.01)),
    "gaussian": lambda: tuple(add_gaussian([0] * 20, 1, 1e-4)),
    # The length alone has scale 10,000 and is spread over a sphere of 20 dimensions.
    "spherical": lambda: add_spherical([0] * 20, 1, 1e-4),
    # 10 of 256, 8 bits each.
    "select": lambda: tuple(select([0] * 256, [1] * 256, Fraction(1)) for _ in range(10)),
    "uniform": lambda: uniform_integer(0, 2**80),
    # P(0) = 10^-25, which is 83 bits; and as many keys.
    "geometric": lambda: draw_geometric(Fraction(1, 10**25)),
    "empty keys": lambda: tuple(draw_empty_keys([], 0, 10**25, 2)),
    # 100 fair coins.
    "sample": lambda: tuple(Sampler(1).pick(100).tolist()),
    # No double of 1..9 has more than an eighth of the mass (1.0 has 0.124): 3 bits, 32 times.
    "median": lambda: tuple(
        choose_median(_NOTHING, _NOTHING, 1, adjacency=Adjacency.ADD_REMOVE, low=1.0)
        for _ in range(32)
    ),
    "medians": lambda: tuple(
        choose_many_medians(
            [(_NOTHING, _NOTHING)] * 32, [(1.0, 9.0)] * 32, Fraction(1), Adjacency.ADD_REMOVE
        )
    ),
    # 30 noises of scale 10: P(0) < 1 / 20, which is 4 bits each.
    "histogram": lambda: tuple(
        tt.mechanisms.histogram(_KEYS, tt.pure(0.1), universe=(0, 29)).counts.items()
    ),
    # The median of 5 blocks, with noise of scale 30,400 ticks each: 5 / 60,800, 13 bits, 8 times.
    "mean_1d": lambda: tuple(
        tt.paper.mean_1d(_RECORDS, tt.pure(0.01), alpha=0.5, beta=0.1, k=2, R=9.0) for _ in range(8)
    ),
    # Hundreds of noises of some thousands; a dozen of 10^5 and more.
    "release": lambda: tt.mean(_RECORDS, epsilon=0.1, n=20).answers,
    "vector release": _vector_release,
}


def draw_everything(_: object = None) -> tuple[int, dict[str, Hashable]]:
    """Return the process and a draw from every source."""
    return os.getpid(), {name: source() for name, source in SOURCES.items()}
