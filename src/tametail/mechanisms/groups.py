"""Mechanisms for groups: noise on the answers for all keys, and a private choice of keys."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from tametail.errors import InternalError
from tametail.keys import Key, in_order
from tametail.mechanisms.noise import add_gaussian, add_laplace, laplace_scale
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Approx, Budget, Zcdp
from tametail.queries.groups import KeyCounts, Keyed
from tametail.queries.query import Sensitivity

#: How much more the threshold's logarithm is than computed: it is good to a few units in the last
#: place, and so are the operations around it.
_ROUNDING = Fraction(1, 1 << 40)


def add_keyed_noise(
    exact: Sequence[Sequence[int]], query: Keyed, cost: Budget, adjacency: Adjacency
) -> tuple[int, ...]:
    """Add to each answer the noise of its own sensitivity; keys of one sensitivity share a call.

    **Formal guarantee**: costs ``cost`` under add-remove. A record moves the answer for its own key
    only; see ``docs/proofs/groups.md``.

    >>> from tametail.privacy.budget import pure
    >>> from tametail.queries.groups import Cells
    >>> query = Keyed((Cells((0.0, 1.0)), Cells((0.0, 2.0))))
    >>> add_keyed_noise([(1, 2, 3), (4, 5, 6)], query, pure(1000.0), Adjacency.ADD_REMOVE)
    (1, 2, 3, 4, 5, 6)
    """
    alike: dict[Sensitivity, list[int]] = {}
    for place, sensitivity in enumerate(query.sensitivities(adjacency)):
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


def choose_keys(
    exact: Mapping[Key, int], query: KeyCounts, cost: Budget, adjacency: Adjacency
) -> tuple[tuple[Key, int], ...]:
    """Return the keys whose noisy weights reach :func:`key_threshold`, sorted, with these.

    **Formal guarantee**: (epsilon, delta)-DP under add-remove. See ``docs/proofs/groups.md``.

    >>> from tametail.privacy.budget import approx
    >>> counts = {Key(("b",)): 10**6, Key(("a",)): 10**6, Key(("c",)): 0}
    >>> shown = choose_keys(counts, KeyCounts(), approx(1.0, 1e-9), Adjacency.ADD_REMOVE)
    >>> [key.label for key, _ in shown]
    ['a', 'b']
    """
    if adjacency.size_is_public or not isinstance(cost, Approx):
        raise InternalError("keys are chosen under add-remove, at a cost with a delta.")
    keys = in_order([key for key, count in exact.items() if count > 0])
    noisy = add_laplace([exact[key] for key in keys], query.whole, cost.epsilon)
    least = key_threshold(cost, query)
    return tuple((key, count) for key, count in zip(keys, noisy, strict=True) if count >= least)


def key_threshold(cost: Approx, query: KeyCounts) -> int:
    r"""Return the least noisy weight with which a key is shown.

    The noise Z is discrete Laplace of the scale b that is drawn, so with p = exp(-1/b)
    P(Z >= j) = p^j / (1 + p). Somebody with m keys adds w = floor(whole / m) to each. That one of
    them is shown, if nobody else holds any, has the probability 1 - (1 - P(w + Z >= t))^m. It is
    at most delta if t - w >= b ln(1 / (d (1 + p))) with d = 1 - (1 - delta)^(1/m), rounded up; t
    is the largest over m = 1, 2, ..., ``most``.

    >>> from tametail.privacy.budget import approx
    >>> key_threshold(approx(1.0, 1e-6), KeyCounts())
    15
    """
    scale = laplace_scale(query.whole, cost.epsilon)
    return max(_threshold(scale, cost.delta, query.whole, m) for m in range(1, query.most + 1))


def _threshold(scale: float, delta: float, whole: int, keys: int) -> int:
    each = -math.expm1(math.log1p(-delta) / keys) if keys > 1 else delta
    level = Fraction(math.log(1 / each) - math.log1p(math.exp(-1 / scale)))
    margin = math.ceil(Fraction(scale) * (level + _ROUNDING * (1 + abs(level))))
    return whole // keys + max(margin, 0)
