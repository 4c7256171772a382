"""Many private choices at one cost: what each of them may spend."""

from __future__ import annotations

from fractions import Fraction

from tametail.privacy.accounting import approx_to_zcdp, round_down, square_root_down
from tametail.privacy.budget import Approx, Budget, exponential_rate, on_sample


def one_of_many(cost: Budget, choices: int) -> Budget:
    """Return what each of ``choices`` questions may cost, so that all cost at most ``cost``.

    >>> from tametail.privacy.budget import pure
    >>> one_of_many(pure(1.0), 4)
    Pure(epsilon=0.25)
    """
    return cost.trusted(*(round_down(Fraction(whole) / choices) for whole in cost.values()))


def choice_rate(cost: Budget, choices: int, halvings: int = 0) -> Fraction:
    """Return the exponent per unit of score of each of ``choices`` exponential mechanisms.

    Each looks at a secret sample of its own, of which a record is part with probability
    ``2**-halvings``; together they cost at most ``cost`` (docs/proofs/vectors.md).

    >>> from tametail.privacy.budget import zcdp
    >>> choice_rate(zcdp(0.5), 1), choice_rate(zcdp(2.0), 4)
    (Fraction(1, 1), Fraction(1, 1))
    """
    return exponential_rate(on_sample(one_of_many(cost, choices), halvings))


def coordinate_costs(budget: Budget, n_columns: int) -> list[Budget]:
    """Return what each of ``n_columns`` calls on the same records may cost.

    Pure and zCDP costs are shared out. For approximate DP (P13) a call is (eps0, delta0)-DP with
    ``delta0 = delta/(2d)``, hence delta0-approximate eps0^2/2-zCDP, and all of them together are
    converted at the other half of delta; or both numbers are shared out, if that gives more.

    >>> from tametail.privacy.budget import zcdp
    >>> coordinate_costs(zcdp(0.5), 2)
    [Zcdp(rho=0.25), Zcdp(rho=0.25)]
    """
    equal: list[Budget] = list(budget.split(*[1 / n_columns] * n_columns))
    if not isinstance(budget, Approx):
        return equal
    rho = approx_to_zcdp(budget.epsilon, budget.delta / 2)
    # A little less, since the account converts at a delta that is rounded otherwise.
    epsilon = square_root_down(2 * Fraction(rho) / n_columns) * (1 - 1e-12)
    concentrated = Approx(epsilon, budget.delta / (2 * n_columns) * (1 - 1e-12))
    return equal if budget.epsilon / n_columns >= epsilon else [concentrated] * n_columns
