"""How the plan of a vector mean divides its budget, from public numbers alone."""

from __future__ import annotations

import math

from tametail.privacy.budget import Budget, Pure, Zcdp
from tametail.privacy.choices import choice_rate
from tametail.queries.column import MOST_HALVINGS

#: Exponents (n times rate / 2) that a center needs to be found among all doubles, or in a range.
CENTER_NEEDS, CENTER_IN_RANGE_NEEDS = 30.0, 16.0

#: Rank of the coarse scale, times the rate, less ln d: a false octave in any column has a chance
#: of about 20 e^-12 if all are on the edge of being seen, and next to none else (decision 0202).
SCALE_RANK = 12.0

#: The same in a second look at some columns, where the scales of others say which are likely.
#: Chosen on the files of the accuracy page, and judged on other laws as well (decision 0203).
SECOND_RANK = 8.0

#: The same of half of the rows, before an interval rests on the scale: a false one would make it
#: narrow, around noise (decision 0113).
CLEAR_RANK = 7.0

#: At most these shares go to centers and scales; if they need more, columns share one scale.
MOST_FOR_CENTERS, MOST_FOR_SCALES = 0.35, 0.2

#: Cells of a column that the steps before the radius look at, at least; more are sampled down.
SAMPLE = 64

#: Cells that a sample of all columns is expected to hold at most, where n is in doubt: 128 MB.
LARGEST_SAMPLE = 1 << 24

#: How many times the needs of a center a sample should serve, where there is a choice.
MARGIN = 1.3

#: Fewer records than this are not sampled.
SAMPLED_FROM = 1 << 14

#: How much more budget a choice needs from a sample. Under zCDP it counts as a pure one, so there
#: it is taken only where it is cheap, or where time without it would be long.
SAMPLE_COSTS = {Pure: 1.25, Zcdp: 6.0}
CHEAP, AFFORDABLE, MANY_CELLS = 0.1, 0.3, 1 << 24

#: Cells that are enough to choose distances, and the largest exponent per record of the choice:
#: beyond it a smaller sample puts them where more records are.
CHOICE_CELLS, CHOICE_RATE = 1 << 16, 1.75

#: The second moments for the interval.
SPREAD_SHARE = 0.03

#: Shares of the two rounds with a common scale, and of the steps of a round.
ROUNDS = (0.3, 0.7)
ROUND_SCALE, ROUND_RADIUS = 0.05, 0.05


def scale_rank(choices: int, *, again: bool = False) -> float:
    """Return the rank of a scale times the rate of its choice, if there are so many choices."""
    return (SECOND_RANK if again else SCALE_RANK) + math.log(choices)


def shares(
    budget: Budget, n: int, n_columns: int, *, scale_known: bool, ranges_known: bool
) -> dict[str, float] | None:
    """Return the share of each step, or None if n records cannot pay for their own scales.

    >>> from tametail.privacy.budget import zcdp
    >>> [name for name in shares(zcdp(0.5), 1000, 50, scale_known=False, ranges_known=False)]
    ['center', 'scale', 'radius', 'sum']
    >>> shares(zcdp(0.5), 100, 50, scale_known=False, ranges_known=False) is None
    True
    """
    nats = (CENTER_IN_RANGE_NEEDS if ranges_known else CENTER_NEEDS) + math.log(n_columns)
    center = _share_for(budget, n_columns, 2 * nats / max(n, 1))
    scale = (
        0.0 if scale_known else _share_for(budget, n_columns, 2 * scale_rank(n_columns) / max(n, 1))
    )
    if center > MOST_FOR_CENTERS or scale > MOST_FOR_SCALES:
        return None
    factor = _sample_factor(budget, n, n_columns, max(center, scale))
    parts = {"center": max(factor * center, 0.03)}
    if not scale_known:
        # Columns that are mostly constant need a scale of high rank; it is had where it is cheap.
        cheap = factor == 1.0 and parts["center"] < 0.1
        parts["scale"] = max(factor * scale, 0.18 if cheap else 0.13)
    parts["radius"] = 0.05
    return parts | {"sum": 1.0 - sum(parts.values())}


def common_shares(budget: Budget, n: int) -> dict[tuple[str, int], float]:
    """Return the shares of two rounds around one center with one scale."""
    need = _share_for(budget, 1, 2 * scale_rank(1) / max(n, 1))
    parts = {}
    for number, whole in enumerate(ROUNDS, start=1):
        scale = min(max(need, ROUND_SCALE * whole), MOST_FOR_CENTERS * whole)
        parts["scale", number] = scale
        parts["radius", number] = ROUND_RADIUS * whole
        parts["sum", number] = whole - scale - ROUND_RADIUS * whole
    return parts


def center_halvings(cost: Budget, n: int, n_columns: int) -> int:
    """Return how often to halve the n cells of a column before ``n_columns`` medians are chosen.

    As often as leaves the nats that a center needs, that is records times rate / 2, with a margin;
    if none does, without one.
    """
    if n < SAMPLED_FROM:
        return 0
    times = range(1, min(max(n // SAMPLE, 1).bit_length(), MOST_HALVINGS + 1))
    found = {h: (n >> h) * choice_rate(cost, n_columns, h) / 2 for h in times}
    for nats in (MARGIN * (CENTER_NEEDS + math.log(n_columns)), CENTER_NEEDS + math.log(n_columns)):
        enough = [h for h in times if found[h] >= nats]
        if enough:
            return max(enough)
    return 0


def least_halvings(n: int, most: float, n_columns: int) -> int:
    """Return how often to halve cells at least, if there may be so many records in place of n.

    A guess of n may cost accuracy, never memory: the sample is not expected to hold more than
    LARGEST_SAMPLE cells, or twice those of n records, if there are ``most``.

    >>> least_halvings(10**6, 1.1e6, 50), least_halvings(1000, 3e9, 2)
    (0, 9)
    """
    allowed = max(2 * n * n_columns, LARGEST_SAMPLE)
    times = max(math.ceil(most * n_columns / allowed) - 1, 0).bit_length()
    return min(times, MOST_HALVINGS)


def choice_halvings(cost: Budget, n: int, choices: int) -> int:
    """Return how often to halve the cells before distances are chosen in so many columns.

    As long as the rate of a choice is below CHOICE_RATE, halving the sample nearly doubles it, so
    that the number of records beyond the distance hardly grows.
    """
    if n * choices < MANY_CELLS:
        return 0
    most = min((n * choices // CHOICE_CELLS).bit_length() - 1, MOST_HALVINGS)
    while most > 1 and choice_rate(cost, choices, most) > CHOICE_RATE:
        most -= 1
    return most


def least_cells(cost: Budget, choices: int) -> float:
    """Return below how many cells a scale, one of so many choices, may be noise.

    The chance of that falls like e^-(cells rate / 2). So many cells that they are sampled first are
    always enough.

    >>> from tametail.privacy.budget import pure
    >>> round(least_cells(pure(0.245), 1), 1)
    114.3
    """
    return 2 * (CLEAR_RANK + math.log(choices)) / float(choice_rate(cost, choices))


def _sample_factor(budget: Budget, n: int, n_columns: int, need: float) -> float:
    """Return by what factor the needs of a sample exceed ``need``; 1 if none is taken."""
    if n < SAMPLED_FROM:
        return 1.0
    factor = SAMPLE_COSTS[type(budget)]
    most = AFFORDABLE if n * n_columns >= MANY_CELLS or isinstance(budget, Pure) else CHEAP
    return factor if factor * need <= most else 1.0


def _share_for(budget: Budget, choices: int, rate: float) -> float:
    """Return the share with which each of some choices has this rate."""
    if isinstance(budget, Zcdp):
        return choices * rate**2 / 2 / budget.rho
    return choices * 2 * rate / budget.strength
