"""How a plan divides its budget between the steps, by public numbers and a private count.

A median must stand out among all doubles by as many nats as its digits take: the center has what
that needs. The tail has a fixed part of the rest, and the sum what is left. What is told changes
that: a scale lets a range be found first, bounds move a part of the tail's share to the sum.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tametail.methods.known_scale import location
from tametail.methods.winsorized import constants as tuned
from tametail.methods.winsorized.column import ColumnPlan
from tametail.methods.winsorized.tail_histogram import min_detected
from tametail.notes import HELPS, Note, few_records, hint
from tametail.plans import REST, Step
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Budget, Zcdp, noise_for
from tametail.queries.column import MOST_HALVINGS
from tametail.tail import Bounded, Moment


def halvings(n: int) -> int:
    """Return how often to halve n records to get a sample for the center.

    >>> halvings(1_000), halvings(100_000)
    (0, 6)
    """
    return min(max(0, (n // tuned.CENTER_SAMPLE).bit_length() - 1), MOST_HALVINGS)


def sample_halvings(n: int, counted: float, doubt: float) -> int:
    """Return how often to halve the records, if n is a guess and a noisy count was asked for.

    The rate follows the larger of the guess and what the count says at least, and is low enough for
    what it says at most; ``doubt`` is how far the count may be off. No sample is cut at a size:
    that would depend on other records.

    >>> sample_halvings(1_000, 8e6, 3e3), sample_halvings(1_000, 900.0, 3e3)
    (12, 0)
    >>> sample_halvings(1_000, -4e8, 3e9)  # almost no budget: the count says nothing
    12
    """
    least = halvings(max(n, math.floor(counted - doubt)))
    most = math.ceil((counted + doubt) / tuned.LARGEST_SAMPLE)
    return min(max(least, (most - 1).bit_length() if most > 1 else 0), MOST_HALVINGS)


def shares(budget: Budget, adjacency: Adjacency, n: int) -> dict[str, float]:
    """Return the shares of center, tail and sum; they add up to 1.

    The center has what makes it stand out, as nothing else can be used without it. Of the rest the
    tail has a fixed part.

    >>> from tametail.privacy.budget import pure
    >>> found = shares(pure(1.0), Adjacency.ADD_REMOVE, 900)
    >>> {name: round(share, 2) for name, share in found.items()}
    {'center': 0.06, 'tail': 0.28, 'sum': 0.66}
    """
    center = share_of_nats(tuned.CENTER_NATS, budget, adjacency, n)
    center = min(max(center, tuned.LEAST_CENTER), tuned.MOST_CENTER)
    tail = tuned.TAIL_SHARE * (1 - center)
    return {"center": center, "tail": tail, "sum": 1.0 - center - tail}


def share_of_nats(nats: float, budget: Budget, adjacency: Adjacency, n: int) -> float:
    """Return the share at which a median stands out of all that is elsewhere by so many nats."""
    power, each = _evidence(isinstance(budget, Zcdp), n)
    strength = max(n, 1) * budget.strength * each * 2 / adjacency.changes
    return float((nats / strength) ** (1 / power))


def nats_of_share(share: float, budget: Budget, adjacency: Adjacency, n: int) -> float:
    """Undo :func:`share_of_nats`.

    >>> from tametail.privacy.budget import pure
    >>> nats_of_share(0.1, pure(1.0), Adjacency.REPLACE_ONE, 1000)
    25.0
    """
    power, each = _evidence(isinstance(budget, Zcdp), n)
    return float(max(n, 1) * budget.strength * each * 2 / adjacency.changes * share**power)


def _evidence(concentrated: bool, n: int) -> tuple[float, float]:
    """Return p and c: a median stands out by c n epsilon f^p nats, under replace-one.

    Under add-remove a score falls twice as fast.
    """
    # The exponential mechanism of range e costs e^2/8 in zCDP, on a sample e^2/2.
    return (0.5, 0.25 if halvings(n) else 0.5) if concentrated else (1.0, 0.25)


def count_share(budget: Budget, about: float) -> float:
    """Return the share of a budget that makes a count sharp, if there are ``about`` so many.

    Of a thousand records it must not be off by a thousand.

    >>> from tametail.privacy.budget import pure
    >>> [round(count_share(pure(0.03), n), 3) for n in (1_000, 2_000, 100_000)]
    [0.3, 0.167, 0.003]
    """
    sharp = tuned.SHARP_COUNT / (about * budget.strength)
    if isinstance(budget, Zcdp):  # noise falls with the root of a share
        sharp **= 2
    return min(sharp, tuned.TAIL_SHARE)


def is_undetectable(plan: ColumnPlan, budget: Budget, n: int, part: float) -> bool:
    """Say whether counts by octaves would show next to nothing of n records.

    If records stand out only where they are more than this ``part`` of all, the look is paid for
    in vain.
    """
    return min_detected(plan, budget.share(tuned.TAIL_SHARE)) > part * n


# --- the steps of a plan ---


def divide(plan: ColumnPlan, *, spread: bool = True) -> tuple[Step, ...]:
    """Divide the plan's budget between the steps, so that the predicted error is small.

    Without ``spread`` there is no step for a second moment, even if an interval needs it.
    """
    budget, n = plan.budget, plan.size
    parts = shares(budget, plan.adjacency, n)
    if (ranged := _parts_of_center(replace(plan, steps=()), parts["center"])) is not None:
        left = (1 - sum(ranged)) / (1 - parts["center"])
        parts = {name: left * share for name, share in parts.items()} | {"center": sum(ranged)}
    squares = tuned.SPREAD_SHARE if spread and plan.needs_spread else 0.0
    parts = {name: share * (1 - squares) for name, share in parts.items()}
    if isinstance(plan.tail, Bounded):
        parts = _between_bounds(parts)
    if squares:
        parts["spread"] = squares
    costs = budget.split(*parts.values())
    return tuple(Step(name, cost) for name, cost in zip(parts, costs, strict=True))


def _between_bounds(parts: dict[str, float]) -> dict[str, float]:
    """Move a part of the tail's share to the sum, if the records are bounded.

    A sum of all of them would have done. So that no more is lost against that than there is to be
    gained, the first look is a cheap one; a second follows if it shows that bounds are loose.
    """
    first = tuned.BOUNDED_TAIL * parts["tail"]
    return parts | {"tail": first, "sum": parts["sum"] + parts["tail"] - first}


def with_count(plan: ColumnPlan, noisy_count: int) -> ColumnPlan:
    """Return the plan for the other steps, once the private count is known.

    If their bounds or scale are told and they are too few to look at, what is left is for a
    method that does not look: one step.
    """
    left, n = plan.cost(REST), max(noisy_count, 1)
    given = replace(plan, n=n, budget=left)
    steps = (Step("sum", left),) if is_spread_undetectable(plan, left, n) else divide(given)
    return replace(given, steps=steps)


def is_spread_undetectable(plan: ColumnPlan, budget: Budget, n: int) -> bool:
    """Say whether a look at the spread would show next to nothing, and what is told says enough."""
    if isinstance(plan.tail, Bounded):
        return is_undetectable(plan, budget, n, tuned.WORTH_A_LOOK)
    known = isinstance(plan.tail, Moment) and plan.target == "population"
    return known and is_undetectable(plan, budget, n, tuned.WORTH_A_LOOK_BY_SCALE)


def counted_again(plan: ColumnPlan, answer: int, cost: Budget) -> tuple[ColumnPlan, Budget] | None:
    """Return what a second count may cost, and the plan without that; None if it is not needed.

    Shares follow from the number of records. Where the first count may be off by a large part
    of it, it is asked for once more, so well that the center is not paid for by a guess. Not
    between bounds, if a look would be in vain even with a scale more of them: nothing is to be
    divided there (decision 0118).
    """
    scale = noise_for(cost, 1, 1).scale
    if plan.n is not None or answer >= tuned.SHARP_COUNT * scale:
        return None
    left, most = plan.cost(REST), max(math.ceil(answer + scale), 1)
    hopeless = is_undetectable(plan, left, most, tuned.WORTH_A_LOOK)
    if hopeless and isinstance(plan.tail, Bounded):
        return None
    share = count_share(left, max(answer, scale))
    part, rest = left.split(share, 1 - share)
    return plan.with_costs(rest=rest), part


# --- a center whose range is found first ---

#: The shares of the budget that are tried.
_SHARES = np.geomspace(0.002, 0.4, 32)


class LocationShares(NamedTuple):
    """Shares of the budget: to find a range, and to find the median inside of it."""

    range: float
    median: float


@lru_cache(maxsize=256)
def _parts_of_center(plan: ColumnPlan, usual: float) -> LocationShares | None:
    """Divide the center's share, if a range by the scale makes a lost center rarer; else None.

    That is so if a scale was told, and the mean can be on more than 4 ``REACH`` scales, however
    many records there are. The share of the range makes a lost one harmless: it follows from how
    many candidates there are. The median has what that leaves of its ``usual`` share.
    """
    low, high = plan.possible
    if not isinstance(plan.tail, Moment) or high - low <= 4 * location.REACH * plan.tail.scale:
        return None
    n = plan.size
    found = _enough(plan, anywhere=True) or _enough(plan, anywhere=False) or float(_SHARES[-1])
    inner = min(
        share_of_nats(tuned.INNER_NATS, plan.budget, plan.adjacency, n), tuned.MOST_CENTER / 3
    )
    return LocationShares(found, max(usual - found, inner, tuned.LEAST_CENTER))


def _enough(plan: ColumnPlan, *, anywhere: bool) -> float | None:
    """Return the smallest share at which a lost range would be harmless; None if there is none."""
    most = tuned.HARMLESS / (plan.size * plan.budget.strength)
    most *= location.scale_of(plan).scale
    harmless = (most / location.loss(plan, anywhere=anywhere)) ** 2
    for share in _SHARES.tolist():
        if location.odds(plan, plan.budget.share(share), anywhere=anywhere) <= harmless:
            return float(share)
    return None


def center_costs(plan: ColumnPlan) -> tuple[Budget, Budget] | None:
    """Return what the range costs and what the median inside of it; None if there is no range."""
    usual = shares(plan.budget, plan.adjacency, plan.size)["center"]
    found = _parts_of_center(replace(plan, steps=()), usual)
    if found is None:
        return None
    part = found.range / (found.range + found.median)
    first, second = plan.cost("center").split(part, 1 - part)
    return first, second


def location_failure_probability(plan: ColumnPlan) -> float:
    """Return the chance that a winsorized mean loses its center, about, if a scale is told."""
    if (costs := center_costs(plan)) is not None:
        return location.chance(plan, costs[0])
    digits = location.digits(plan, anywhere=True)
    return _median_failure_probability(plan, plan.cost("center"), digits)


def location_failure_mse(plan: ColumnPlan) -> float:
    """Bound what a lost center adds to the mean squared error of a winsorized mean.

    A median is lost if it does not stand out by the nats of its digits, and of a prior that does
    not know where it is; inside of a range it cannot be farther than that is wide.
    """
    lost = location_failure_probability(plan) * location.loss(plan, anywhere=True) ** 2
    if (costs := center_costs(plan)) is None:
        return lost
    width = 2 * location.REACH * location.scale_of(plan).scale
    inside = _median_failure_probability(plan, costs[1], math.log(location.REACH)) * width**2 / 3
    return lost + inside


def _median_failure_probability(plan: ColumnPlan, cost: Budget, needed: float) -> float:
    share = cost.strength / plan.budget.strength
    if isinstance(cost, Zcdp):
        share **= 2
    n = plan.size
    nats = nats_of_share(min(share, 1.0), plan.budget, plan.adjacency, n)
    return math.exp(min(needed + tuned.PRIOR_NATS - nats, 0.0))


# --- whether the budget will do ---

#: What a caller may say that helps, and in which argument.
_KNOWLEDGE = {
    "within=": "a range for the mean (within=)",
    "tail=": "a tail assumption (tail=)",
}


#: Advice to take more times as many records than this helps nobody.
_MOST_FACTOR = 100


def missing_assumptions(plan: ColumnPlan) -> tuple[str, ...]:
    """Return the arguments that would help, and were not given."""
    given = {
        "within=": any(map(math.isfinite, plan.within)) or isinstance(plan.tail, Bounded),
        "tail=": plan.tail is not None or plan.half is not None,
    }
    return tuple(name for name in _KNOWLEDGE if not given[name])


def expected_notes(plan: ColumnPlan, *, columns: int = 1) -> tuple[Note, ...]:
    """Say what would help, if trouble is expected; of one of several columns."""
    if plan.n is not None and isinstance(plan.tail, Moment):
        return location.location_note(location_failure_probability(plan))
    if plan.n is None or plan.n * plan.budget.strength >= tuned.FEASIBLE:
        return ()
    factor = max(tuned.FEASIBLE / max(plan.n * plan.budget.strength, 1e-9), 1.1)
    more = "far more records or a far larger epsilon"
    if factor <= _MOST_FACTOR:
        more = f"about {factor:.2g} times as many records or {factor:.2g} times the epsilon"
    each = f" for each of {columns} columns" if columns > 1 else ""
    found = [
        few_records(
            f"Too few records for this budget: n x epsilon{each} is below {tuned.FEASIBLE:g}, so "
            f"the error may be large. You need {more}."
        )
    ]
    if "within=" in (missing := missing_assumptions(plan)):
        words = " or ".join(_KNOWLEDGE[name] for name in missing)
        found.append(hint(f"{HELPS}state {words}."))
    return tuple(found)
