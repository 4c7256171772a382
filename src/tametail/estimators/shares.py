"""How a plan divides its budget between the steps, from public numbers alone."""

from __future__ import annotations

from tametail.budget import Budget, Zcdp

#: The private count of add-remove, when the caller gives no n.
COUNT_SHARE = 0.02

#: The second moment for the interval.
SPREAD_SHARE = 0.03

#: n * epsilon that the centre needs: it must find one double among all.
CENTRE_NEEDS = 200.0

#: Records that the centre looks at; more are sampled down to between this and twice this.
CENTRE_SAMPLE = 1024


def halvings(n: int) -> int:
    """Return how often to halve n records to get a sample for the centre."""
    return max(0, (n // CENTRE_SAMPLE).bit_length() - 1)


def shares(budget: Budget, n: int) -> tuple[float, float, float]:
    """Return the shares of centre, tail and sum; they add up to 1."""
    strength = max(n, 1) * budget.strength
    if isinstance(budget, Zcdp):
        # The exponential mechanism of range e costs e^2/8; on a sample it counts as pure, e^2/2.
        cost = 0.5 if halvings(n) else 0.125
        centre = cost * (CENTRE_NEEDS / max(n, 1)) ** 2 / budget.rho
        centre = min(max(centre, 0.001), 0.1)
        tail = 0.25
    else:
        centre = min(max(CENTRE_NEEDS / strength, 0.01), max(0.12, min(0.3, 120 / strength)))
        tail = min(max(0.3 * (1e4 / strength) ** 0.05, 0.2), 0.4)
    return centre, tail, 1.0 - centre - tail
