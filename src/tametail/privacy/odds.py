"""What a budget means, by odds: how sure anyone may become of one record or person.

Under epsilon, whatever is released, the odds between two data sets that differ in one record
(person) change by a factor of at most e^epsilon, also for an attacker who knows all other records.
"""

from __future__ import annotations

import math
from typing import Final

from tametail.notes import Note
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Budget, Guarantee

#: Above this epsilon every plan and release says what it means.
MUCH: Final = 10.0

#: The delta at which rho is read as an epsilon.
_DELTA: Final = 1e-6

#: From here on odds are told by their power of ten.
_MANY: Final = 1e6


def odds(guarantee: Guarantee) -> str:
    """Say in a sentence what a guarantee means.

    >>> from tametail.privacy.budget import pure, zcdp
    >>> print(odds(Guarantee.from_budget(pure(1), Adjacency.ADD_REMOVE)))
    an attacker's odds that a certain record is in the data rise from 1:1 to at most 2.72:1 (73.2%)
    """
    epsilon, delta = _epsilon(guarantee)
    thing = guarantee.protects.thing
    what = (
        f"a certain {thing} is this one and not that one"
        if guarantee.protects.size_is_public
        else f"a certain {thing} is in the data"
    )
    apart = f", but for a probability of {delta:.3g}" if delta else ""
    return f"an attacker's odds that {what} rise from 1:1 to at most {_most(epsilon)}{apart}"


def weak_budget(budget: Budget, adjacency: Adjacency) -> tuple[Note, ...]:
    """Return the note that a large budget protects little; none if it is not large.

    >>> from tametail.privacy.budget import pure
    >>> weak_budget(pure(10), Adjacency.ADD_REMOVE)
    ()
    >>> print(weak_budget(pure(1000), Adjacency.ADD_REMOVE)[0].text)
    This budget protects little: an attacker's odds that a certain record is in the data rise from \
1:1 to at most 10^435:1.
    """
    guarantee = Guarantee.from_budget(budget, adjacency)
    if _epsilon(guarantee)[0] <= MUCH:
        return ()
    return (Note("info", "weak-budget", f"This budget protects little: {odds(guarantee)}."),)


def _epsilon(guarantee: Guarantee) -> tuple[float, float]:
    """Return epsilon and delta; of rho, those of a small delta."""
    if guarantee.epsilon is not None:
        return guarantee.epsilon, guarantee.delta or 0.0
    return guarantee.at_delta(_DELTA), _DELTA


def _most(epsilon: float) -> str:
    """Return e^epsilon to 1, rounded up, and as a probability where that says more than 100%."""
    if epsilon >= math.log(_MANY):
        return f"10^{math.ceil(epsilon / math.log(10))}:1"
    factor = math.exp(epsilon)
    digit = 10.0 ** (math.floor(math.log10(factor)) - 2)
    rounded = math.ceil(factor / digit) * digit
    chance = math.ceil(1000 * rounded / (1 + rounded)) / 10
    shown = f"{rounded:,.0f}" if rounded >= 100 else f"{rounded:.4g}"
    return f"{shown}:1" + (f" ({chance:.1f}%)" if chance < 100 else "")
