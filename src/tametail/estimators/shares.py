"""How a plan divides its budget between the steps, from public numbers alone.

The rules follow from what each step needs. The centre must find one double among all: about 100
to 200 divided by n epsilon, and no more, since its error hardly matters after that. The tail and
the sum divide the rest; around the shares below the error is flat (benchmarks/accuracy.py).
"""

from __future__ import annotations

from tametail.budget import Budget, Zcdp
from tametail.unit import Unit

#: The private count of add-remove, when the caller gives no n.
COUNT_SHARE = 0.015

#: The second moment for the interval.
SPREAD_SHARE = 0.03

#: Octave counts: pure, and zCDP, where the sum profits more.
TAIL_SHARE, CONCENTRATED_TAIL_SHARE = 0.3, 0.25

#: n * epsilon at which the centre is safe, and at which it is still likely.
CENTRE_SAFE, CENTRE_LIKELY = 200.0, 120.0

#: Records that the centre looks at; more are sampled down to between this and twice this.
CENTRE_SAMPLE = 1024

#: Far beyond any data, and far within what the sampler can count.
MOST_HALVINGS = 40


def halvings(n: int) -> int:
    """Return how often to halve n records to get a sample for the centre.

    >>> halvings(1_000), halvings(100_000)
    (0, 6)
    """
    return min(max(0, (n // CENTRE_SAMPLE).bit_length() - 1), MOST_HALVINGS)


def shares(budget: Budget, unit: Unit, n: int) -> dict[str, float]:
    """Return the shares of centre, tail and sum; they add up to 1.

    >>> from tametail.budget import pure
    >>> shares(pure(1.0), Unit.REPLACE_ONE, 10_000)["centre"]
    0.02
    """
    strength = max(n, 1) * budget.strength
    if isinstance(budget, Zcdp):
        # The exponential mechanism of range e costs e^2/8; on a sample it counts as pure, e^2/2.
        needed = CENTRE_SAFE if halvings(n) else CENTRE_SAFE / 2
        centre, tail = min(max((needed / strength) ** 2, 0.005), 0.15), CONCENTRATED_TAIL_SHARE
    else:
        # Under add-remove the score of a median falls twice as fast.
        strength *= 2 if unit is Unit.ADD_REMOVE else 1
        wanted = min(CENTRE_SAFE / strength, max(0.12, CENTRE_LIKELY / strength))
        centre, tail = min(max(wanted, 0.01), 0.3), TAIL_SHARE
    return {"centre": centre, "tail": tail, "sum": 1.0 - centre - tail}
