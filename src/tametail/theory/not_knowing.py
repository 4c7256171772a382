"""What it costs not to know the law: a bound for every private algorithm that is told nothing."""

from __future__ import annotations

import math

import numpy as np

from tametail.errors import ParameterError
from tametail.inequalities.binomials import Floats, expect_binomial
from tametail.inequalities.checks import as_replace_one, positive, whole
from tametail.privacy.budget import Pure

#: Masses of the far records, times n epsilon, and doublings from one place to the next, that are
#: tried; each gives a valid bound. The far records are less than half of all.
_LEAST_MASS, _MOST_MASS = 0.2, 24.0
_MOST_FAR = 0.5
_STEPS = np.arange(0.5, 12.0, 0.25)


def price_of_not_knowing(
    n: int, *, epsilon: float, doublings: float = 1000.0, neighbors: str = "replace-one"
) -> float:
    """Return a ratio to an oracle that every epsilon-DP algorithm reaches for some distribution.

    A part p of the records lies far away, at one of the K places ``t_j = B^j t_0``, so many factors
    of 2 apart that all fit into ``doublings`` of them; the others are as they may be, and small
    beside t_0. An oracle that knows p and t_j has an error of at most
    ``o p t_j`` with ``o = min(1, sqrt(2/(n p epsilon)^2 + 1/(n p)))``: it leaves the far records
    out, or clips at t_j and adds noise. For every algorithm there is a place with

        rmse / oracle  >=  r sqrt(1 - E min(1, e^(epsilon H)/K)) / o,   r = (B - 1)/(B + 1),

    H ~ Bin(n, p); the largest over p and B is returned. Without any far record to be seen it is 1
    at most, and says nothing. So it is for an n epsilon below 2 or so: even the oracle does no
    better there than to leave the far records out.

    Proof. Let records be ``X_i = Z_i`` or, where a coin B_i of probability p says so, t_j; let M_0
    be the output for Z_1, ..., Z_n, and M_j that for X. The intervals
    ``A_j = p t_j [1 - r, 1 + r)`` are disjoint, as ``(1 + r)/(1 - r) = B``, so
    ``P(M_0 in A_j) <= 1/K`` for one j. The data sets differ in H records, and coins are independent
    of Z, so ``P(M_j in A_j) <= E min(1, e^(epsilon H) P(M_0 in A_j | Z))``, which is at most
    ``E min(1, e^(epsilon H)/K)`` as a minimum with 1 is concave. Otherwise the error is at least
    ``r p t_j``, but for what the small records add to the mean, which vanishes beside t_0. Under
    add-remove a replaced record is two steps: e^(2 epsilon H).

    ``doublings=1000`` is for somebody who has no assumption: doubles have 2,046. Two distributions
    alone say nothing (their ratio stays below 0.8): whoever knows that it is one of two pays no
    more than the oracle of the farther one does. It is the many places that cost.

    >>> [round(price_of_not_knowing(10_000, epsilon=epsilon), 2) for epsilon in (1.0, 0.1)]
    [1.18, 1.99]
    """
    whole(n=n)
    positive(doublings=doublings, epsilon=epsilon)
    if doublings < 1:
        raise ParameterError("doublings is at least 1: so many are possible for far records.")
    step_cost = as_replace_one(Pure(epsilon), neighbors).strength
    # With few records and little budget the least mass would be more than all records.
    least = min(_LEAST_MASS, n * epsilon * _MOST_FAR / 4)
    return max(
        _bound(n, epsilon, float(mass), float(step), doublings / float(step), step_cost)
        for mass in np.geomspace(least, _MOST_MASS, 60)
        if mass / (n * epsilon) < _MOST_FAR
        for step in _STEPS
        if doublings / step >= 2
    )


def _bound(
    n: int, epsilon: float, mass: float, step: float, places: float, step_cost: float
) -> float:
    """Return the bound for a mass over n epsilon, and places so many doublings apart.

    ``step_cost`` is what a replaced record costs: epsilon, or twice that under add-remove.
    """
    p, radius = mass / (n * epsilon), math.tanh(step * math.log(2) / 2)
    oracle = min(1.0, math.sqrt(2 / mass**2 + 1 / (n * p)))
    count = math.floor(places)

    def missed(differing: Floats) -> Floats:
        reached: Floats = np.exp(np.minimum(step_cost * differing, 700.0)) / count
        return np.maximum(1 - reached, 0.0)

    far = expect_binomial(missed, n, p, math.log(count) / step_cost)
    return radius * math.sqrt(far) / oracle
