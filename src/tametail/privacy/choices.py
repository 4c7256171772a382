"""Many private choices at one cost: what each of them may spend."""

from __future__ import annotations

from fractions import Fraction

from tametail.privacy.accounting import round_down
from tametail.privacy.budget import Budget, exponential_rate, on_sample


def one_of_many(cost: Budget, choices: int) -> Budget:
    """Return what each of ``choices`` questions may cost, so that all cost at most ``cost``.

    >>> from tametail.privacy.budget import pure
    >>> one_of_many(pure(1.0), 4)
    Pure(epsilon=0.25)
    """
    return type(cost)(*(round_down(Fraction(whole) / choices) for whole in cost.values()))


def choice_rate(cost: Budget, choices: int, halvings: int = 0) -> Fraction:
    """Return the exponent per unit of score of each of ``choices`` exponential mechanisms.

    Each looks at a secret sample of its own, of which a record is part with probability
    ``2**-halvings``; together they cost at most ``cost`` (docs/proofs/vectors.md).

    >>> from tametail.privacy.budget import zcdp
    >>> choice_rate(zcdp(0.5), 1), choice_rate(zcdp(2.0), 4)
    (Fraction(1, 1), Fraction(1, 1))
    """
    return exponential_rate(on_sample(one_of_many(cost, choices), halvings))
