"""Mechanisms for groups: noise on the answers for all keys, and a private choice of keys."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from tametail.errors import InternalError
from tametail.keys import Key, in_order
from tametail.mechanisms.noise import add_gaussian, add_laplace, laplace_scale
from tametail.privacy.budget import Approx, Budget, Zcdp
from tametail.privacy.unit import Unit
from tametail.queries.groups import Keyed
from tametail.queries.query import Sensitivity

#: How much more the threshold's logarithm is than computed: it is good to a few units in the last
#: place, and so are the operations around it.
_ROUNDING = Fraction(1, 1 << 40)


def add_keyed_noise(
    exact: Sequence[Sequence[int]], query: Keyed, cost: Budget, unit: Unit
) -> tuple[int, ...]:
    """Add to each answer the noise of its own sensitivity; keys of one sensitivity share a call.

    Notes
    -----
    **Formal guarantee**: costs ``cost`` under add-remove. A record moves the answer for its own key
    only; see ``docs/proofs/groups.md``.

    Examples
    --------
    >>> from tametail.privacy.budget import pure
    >>> from tametail.queries.groups import Cells
    >>> query = Keyed((Cells(0.0, 1.0), Cells(0.0, 2.0)))
    >>> add_keyed_noise([(1, 2, 3), (4, 5, 6)], query, pure(1000.0), Unit.ADD_REMOVE)
    (1, 2, 3, 4, 5, 6)
    """
    alike: dict[Sensitivity, list[int]] = {}
    for place, sensitivity in enumerate(query.sensitivities(unit)):
        alike.setdefault(sensitivity, []).append(place)
    noisy: list[Sequence[int]] = [()] * len(exact)
    for sensitivity, places in alike.items():
        numbers = iter(_add([x for place in places for x in exact[place]], sensitivity, cost))
        for place in places:
            noisy[place] = [next(numbers) for _ in exact[place]]
    return tuple(x for answer in noisy for x in answer)


def _add(values: list[int], sensitivity: Sensitivity, cost: Budget) -> tuple[int, ...]:
    if isinstance(cost, Zcdp):
        return add_gaussian(values, sensitivity.l2_squared, cost.rho)
    return add_laplace(values, sensitivity.l1, cost.strength)


def choose_keys(exact: Mapping[Key, int], cost: Budget, unit: Unit) -> tuple[tuple[Key, int], ...]:
    """Return the keys whose noisy counts reach :func:`key_threshold`, sorted, with these counts.

    Notes
    -----
    **Formal guarantee**: (epsilon, delta)-DP under add-remove. See ``docs/proofs/groups.md``.

    Examples
    --------
    >>> from tametail.privacy.budget import approx
    >>> counts = {Key(("b",)): 10**6, Key(("a",)): 10**6, Key(("c",)): 0}
    >>> [key.label for key, _ in choose_keys(counts, approx(1.0, 1e-9), Unit.ADD_REMOVE)]
    ['a', 'b']
    """
    if unit.size_is_public or not isinstance(cost, Approx):
        raise InternalError("keys are chosen under add-remove, at a cost with a delta.")
    keys = in_order([key for key, count in exact.items() if count > 0])
    noisy = add_laplace([exact[key] for key in keys], 1, cost.epsilon)
    least = key_threshold(cost)
    return tuple((key, count) for key, count in zip(keys, noisy, strict=True) if count >= least)


def key_threshold(cost: Approx) -> int:
    r"""Return the least noisy count with which a key is shown.

    The noise Z is discrete Laplace of the scale b that is drawn, so with p = exp(-1/b)
    P(Z >= m) = p^m / (1 + p). A key that a single record holds is shown with probability at most
    delta if the threshold is 1 + m with m >= b ln(1 / (delta (1 + p))); m is rounded up.

    >>> from tametail.privacy.budget import approx
    >>> key_threshold(approx(1.0, 1e-6))
    15
    """
    scale = laplace_scale(1, cost.epsilon)
    level = Fraction(math.log(1 / cost.delta) - math.log1p(math.exp(-1 / scale)))
    return 1 + max(math.ceil(Fraction(scale) * (level + _ROUNDING * (1 + abs(level)))), 0)
