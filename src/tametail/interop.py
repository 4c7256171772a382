"""A release as a measurement of OpenDP, which composes there with everything else."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from tametail._shown import shown
from tametail.api.arguments import Columns, Others
from tametail.api.means import mean
from tametail.charged_calls import payment_of
from tametail.errors import ParameterError
from tametail.planning import Plan
from tametail.privacy.accounting import round_up
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Approx, Budget, Zcdp
from tametail.privacy.opendp import features

if TYPE_CHECKING:
    from opendp.mod import Measure, Measurement, Metric

    from tametail.ledger import Ledger
    from tametail.release import Release

#: All measurements share one domain, so that they compose: it is any data, of any columns.
_DOMAIN = "tametail.records"


def as_opendp(
    plan: Plan,
    column: Columns = None,
    *,
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    release_id: str | None = None,
) -> Measurement:
    r"""Return the release that ``plan`` describes as a measurement of OpenDP.

    It takes the data that :func:`tametail.mean` takes, gives out a release, and can be used
    wherever OpenDP takes a measurement: in compositions, odometers and filters, beside OpenDP's
    own. ``docs/how-to/use-in-opendp.md`` has an example.

    Parameters
    ----------
    plan
        From :func:`tametail.plan`. Its ``statistic`` is what is released: the mean, or "sum",
        "count", "quantile" with levels ``q``, "describe" or "regression" (y comes first).
    column
        The column of a frame or a file, or a list of columns.
    ledger, dataset, release_id
        As in :func:`tametail.mean`: every time the measurement is invoked the ledger is charged
        first, whatever OpenDP's own odometers count.

    Returns
    -------
    opendp.mod.Measurement
        Its input metric counts records: ``symmetric_distance()`` for add-remove,
        ``change_one_distance()`` for replace-one. If the plan protects persons it counts persons,
        by a ``user_distance`` that names their column, so that OpenDP composes it with measurements
        of the same persons only. Its output measure follows the budget:
        ``max_divergence()``, ``zero_concentrated_divergence()`` or, with a delta,
        ``approximate(max_divergence())``.

    Notes
    -----
    **Formal guarantee**: data that differ in k records (persons) give releases that are
    ``map(k)``-close, with map(k) = k epsilon; k\ :sup:`2` rho; or (k epsilon,
    delta (1 + e^epsilon + ... +
    e^((k-1) epsilon))), each rounded up. A k for which delta would reach 1 is refused. See
    ``docs/proofs/interop.md``.

    OpenDP's set of enabled features is left as it was found.

    Examples
    --------
    >>> import tametail as tt
    >>> measurement = tt.as_opendp(tt.plan(n=3_000, epsilon=0.5))
    >>> measurement.map(1), measurement.map(2)
    (0.5, 1.0)
    >>> type(measurement([1.0, 2.0, 4.0] * 1_000)).__name__
    'Release'
    """
    from opendp.domains import user_domain
    from opendp.measurements import make_user_measurement

    payment: Others = {"ledger": ledger, "dataset": dataset, "release_id": release_id}
    payment_of(
        ledger, dataset, release_id
    )  # a mistake is told now, not when the measurement is invoked
    release = _release_of(plan, column, payment)
    with features("contrib", "honest-but-curious"):
        return make_user_measurement(
            user_domain(_DOMAIN, _can_be_read_again),
            _metric(plan.adjacency),
            _measure(plan.budget),
            release,
            _privacy_map(plan.budget),
        )


def _release_of(plan: object, column: Columns, payment: Others) -> Callable[[object], Release]:
    """Return the function that releases along the plan."""
    if not isinstance(plan, Plan):
        raise ParameterError(f"Invalid plan={shown(plan)}. Use as_opendp(tametail.plan(...)).")
    named = len(column) if isinstance(column, list | tuple) else 1
    if column is not None and named != plan.n_columns:
        raise ParameterError(
            f"column={shown(column)} does not match the plan, which is for {plan.n_columns} "
            f"column{'s' * (plan.n_columns != 1)}."
        )
    several = plan.n_columns > 1
    return lambda data: mean(_with_schema(data, several=several), column, plan=plan, **payment)


def _can_be_read_again(data: object) -> bool:
    """Say whether data are in the domain; an iterator is not, for it is empty the next time."""
    return not isinstance(data, Iterator)


def _checked(data: object) -> object:
    if not _can_be_read_again(data):
        raise ParameterError("An iterator can be read only once. Pass list(data).")
    return data


def _with_schema(data: object, *, several: bool) -> object:
    """Refuse rows in a plain sequence: how many columns they have, only records could say."""
    if (isinstance(data, Sequence) and not isinstance(data, str)) and (
        several or (len(data) and isinstance(data[0], list | tuple | np.ndarray))
    ):
        raise ParameterError("A list of rows has no columns. Pass a matrix, numpy.array(data).")
    return _checked(data)


def _metric(adjacency: Adjacency) -> Metric:
    """Return what counts the protected things in which data differ."""
    from opendp.metrics import change_one_distance, symmetric_distance, user_distance

    if adjacency.person is not None:  # a record costs twice what its person does
        return user_distance(f"tametail: {adjacency}")
    return change_one_distance() if adjacency.size_is_public else symmetric_distance()


def _measure(budget: Budget) -> Measure:
    from opendp.measures import approximate, max_divergence, zero_concentrated_divergence

    if isinstance(budget, Zcdp):
        return zero_concentrated_divergence()
    return approximate(max_divergence()) if isinstance(budget, Approx) else max_divergence()


def _privacy_map(budget: Budget) -> Callable[[int], float | tuple[float, float]]:
    """Return the map in the form of the measure: a pair for an approximate budget."""

    def privacy_map(records: int) -> float | tuple[float, float]:
        first, *rest = group_cost(budget, records)
        return (first, rest[0] if rest else 0.0) if isinstance(budget, Approx) else first

    return privacy_map


def group_cost(cost: Budget, records: int) -> tuple[float, ...]:
    """Return the numbers of ``cost`` for a group of so many records, rounded up.

    Formal guarantee: a mechanism that costs ``cost`` for one record costs at most this for any
    ``records`` of them, one after the other.

    >>> from tametail.privacy.budget import Pure
    >>> group_cost(Pure(0.5), 3), group_cost(Zcdp(0.5), 3)
    ((1.5,), (4.5,))
    >>> epsilon, delta = group_cost(Approx(1.0, 1e-6), 2)  # delta (1 + e)
    >>> epsilon, round(delta * 1e6, 4)
    (2.0, 3.7183)
    """
    if isinstance(cost, Zcdp):
        return (round_up(records**2 * Fraction(cost.rho)),)
    if not isinstance(cost, Approx):
        return (round_up(records * Fraction(cost.strength)),)
    epsilon = round_up(records * Fraction(cost.epsilon))
    try:
        delta = round_up(Fraction(cost.delta) * _geometric_sum(cost.epsilon, records))
    except OverflowError:
        delta = math.inf
    if delta >= 1:
        raise ParameterError(
            f"{cost} gives no guarantee for {records} records together. Use fewer records, or a "
            "plan with a smaller delta."
        )
    return epsilon, delta


def _geometric_sum(epsilon: float, terms: int) -> Fraction:
    """Return at least 1 + e^epsilon + ... + e^((terms - 1) epsilon)."""
    if terms <= 1:
        return Fraction(terms)
    # math.exp is good to an ulp, and 2^-51 of a double is two of its ulps or more.
    growth = Fraction(math.exp(epsilon)) * (1 + Fraction(1, 2**51))
    total, power = Fraction(0), Fraction(1)  # of m terms, and e^(m epsilon), for m = 0
    for bit in bin(terms)[2:]:
        total, power = total * (1 + power), power**2  # twice as many
        if bit == "1":
            total, power = total + power, power * growth  # one more
        total, power = Fraction(round_up(total)), Fraction(round_up(power))
    return total
