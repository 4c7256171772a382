"""What the means by group were tuned with, on drawn groups and on flights and baseball."""

from __future__ import annotations

from typing import Final

#: Of the whole, for the private choice of keys.
KEYS_SHARE: Final = 0.15

#: Of what is left, for the pool: so many records' worth, within limits.
POOL_RECORDS: Final = 2500.0
LEAST_POOL: Final = 0.05
MOST_POOL: Final = 0.3

#: Of the pool: its count, its center, its octave counts.
TOTAL, CENTER, TAIL = 0.02, 0.12, 0.86

#: Of the whole, for the numbers of records: they say which groups are estimated alone.
RECORD_SIZES: Final = 0.02

#: Of what is left for a small group, for its cells.
CELLS: Final = 0.25

#: Cells are parted by quantiles of the pool at these shares of the records, from either end.
CUTS: Final = (0.02, 0.1, 0.3)

#: Parts into which the count of an octave node is spread.
PARTS: Final = 4

#: Octave counts may be off by this part in a cell: how far the cells of all groups are believed.
POOL_OFF: Final = 0.5

#: No cell of the pool counts as less than this part of what octave counts say.
LEAST_LIKE: Final = 0.01

#: Models of groups: where they lie among all records and how wide they are, in normal scores.
SHIFTS: Final = tuple(0.4 * step for step in range(-8, 9))
WIDTHS: Final = (0.25, 0.4, 0.65, 1.0, 1.2)

#: Of a narrow model this part is as wide as all records: cells show a body, and not its tail.
FRINGE: Final = 0.2

#: No group is quite like a model: its cells differ by about this part.
MISFIT: Final = 0.3

#: Rounds in which it is found how usual each model is, and groups' worth of not knowing.
ROUNDS, EVENLY = 30, 3.0

#: Groups whose clip points are chosen at a time.
GROUPS_AT_ONCE: Final = 2048

#: Quantiles of the models' means, each as usual as it is, around which groups may be clipped.
MIDDLES: Final = (0.01, 0.05, 0.12, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 0.95)

#: The weight of the count beside the sum of a small group, in sides.
COUNT_WEIGHT: Final = 0.15

#: A count of fewer standard deviations of its noise than these may be noise alone.
SEEN_COUNT: Final = 3.5

#: From so many records, times what a group may spend, it is estimated alone.
ALONE: Final = 600.0

#: The part of the pooled excess beyond a clip point that counts as bias. The excesses of both
#: sides cancel in part, and a group may differ from the pool.
BIAS: Final = 0.5

#: No group counts as fewer records than these.
FEWEST: Final = 3.0

#: Octaves below the highest seen that a shape keeps, and beyond it that clip points may lie.
OCTAVES_KEPT, OCTAVES_BEYOND = 30, 3

#: Tail indices that are believed, and the one without enough octaves to see any.
LEAST_INDEX, MOST_INDEX, USUAL_INDEX = 1.6, 6.0, 2.5

#: If so large a part of a group lies beyond the outermost cut of a side, no model is to be trusted.
UNLIKE: Final = 0.6

#: Persons in groups: shares of a pure budget, and of a concentrated one, where costs are squares.
OF_PERSONS: Final = {"pilot": 0.2, "tail": 0.15, "rows": 0.2, "groups": 0.45}
OF_PERSONS_SQUARED: Final = {"pilot": 0.14, "tail": 0.04, "rows": 0.14, "groups": 0.68}

#: The share of the squares, for intervals.
SPREAD, SPREAD_SQUARED = 0.06, 0.02

#: The part of what is cut off from vectors that counts as bias: that of one sign and of another
#: cancel in part.
BIAS_OF_PERSONS: Final = 0.3
BIAS_OF_ROWS: Final = 0.6

#: Numbers of records lie in so many octaves, and are detectable if so many noise scales above it.
OCTAVES_OF_ROWS, SEEN_ROWS = 24, 13.0

#: Farther out than what stands out, more persons than so many scales of the noise are believed.
SEEN_BEYOND: Final = 4.0

#: Octaves above the highest that stands out in which persons are still counted.
WINDOW: Final = 4

#: No group counts as fewer records than so many standard deviations of the noise on its count.
LEAST_COUNT: Final = 3.0

#: A count that noise alone exceeds with this probability says nothing.
UNSEEN_RISK: Final = 0.001

#: What persons' vectors are longer than the limit together is more than an interval takes it for
#: with this probability (decision 0269), and the longest vector of a group with that (0276).
LOST_RISK, LONGEST_RISK = 0.1, 0.025

#: A warning is due if what was scaled down moves a mean by more than so many half-widths of the
#: interval for the mean of scaled vectors.
MOSTLY_LOST: Final = 1.5

#: What may be cut off without being seen, in standard deviations of the noise on a usual group.
UNSEEN_BEYOND: Final = 1.0

#: Squares about a group's own mean are at least this part of those about the common one.
LEAST_SQUARE: Final = 0.2

#: Persons in one group each: the shares of what the release says about the rows that were kept,
#: and of the numbers of persons; of the first, the part that counts the rows that were kept.
KEPT, SIZES, KEPT_ROWS = 0.04, 0.03, 0.4

#: The share of the pool, if a group is small: so many persons' worth, within limits; and its parts
#: for the pilot, the octave counts of rows, and those of differences from the pilot.
POOL_PERSONS: Final = 1500.0
LEAST_POOL_OF_PERSONS, MOST_POOL_OF_PERSONS = 0.1, 0.35
POOL_OF_PERSONS: Final = (0.4, 0.2, 0.4)

#: From so many persons times epsilon on a group is estimated alone.
ALONE_PERSONS: Final = 700.0

#: The part of what the clip points of a small group cut off that counts as bias.
BIAS_IN_SMALL: Final = 0.4

#: Of what a small group may spend, for the number of its records.
SMALL_ROWS: Final = 0.2

#: A person weighs so much in the private choice of keys, divided among at most so many keys.
WHOLE, MOST_KEYS = 1 << 20, 1000
