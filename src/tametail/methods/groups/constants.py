"""What the means by group were tuned with, on drawn groups and on flights and baseball."""

from __future__ import annotations

from typing import Final

#: Of the whole, for the private choice of keys.
KEYS_SHARE: Final = 0.15

#: Of what is left, for the pool: so many records' worth, within limits.
POOL_RECORDS: Final = 5000.0
LEAST_POOL: Final = 0.05
MOST_POOL: Final = 0.3

#: Of the pool: its count, its centre, its octave counts.
TOTAL, CENTRE, TAIL = 0.02, 0.12, 0.86

#: Of what the pool leaves, for the cells of every group.
CELLS: Final = 0.15

#: The part of the pooled records beyond either cut.
OUTER: Final = 0.125

#: From so many records times epsilon on a group is estimated alone.
ALONE: Final = 500.0

#: The part of the pooled excess beyond a clip point that counts as bias. The excesses of both
#: sides cancel in part, and a group may differ from the pool.
BIAS: Final = 0.35

#: No group counts as fewer records than these.
FEWEST: Final = 3.0

#: Octaves below the highest seen that a shape keeps, and beyond it that clip points may lie.
OCTAVES_KEPT, OCTAVES_BEYOND = 30, 3

#: Tail indices that are believed, and the one without enough octaves to see any.
LEAST_INDEX, MOST_INDEX, USUAL_INDEX = 1.6, 6.0, 2.5

#: If so large a part of a group lies beyond one cut of the pool, the pool is no model for it.
UNLIKE: Final = 0.6
