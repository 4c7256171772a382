"""One estimate for all records, or for each group by itself: a record is in one group only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from tametail.methods.groups.keys import asked, chosen_keys, usual_size
from tametail.notes import Note
from tametail.plans import Prediction, PricedRequest

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.means import Estimate

Rows = tuple["Estimate", ...]

ONE_GROUP = Note(
    "info",
    "one-group",
    "Each person counts in one group only, that of most of their records. Their records in other "
    "groups were left out, and results are about the records that were kept.",
)


def in_each_group(
    plan: PricedRequest, ask: Ask, estimate: Callable[[Ask, float | None], Rows]
) -> Rows:
    """Return the estimates of all records or, by group, those of every group in turn.

    Every group may spend what the steps cost together. ``estimate`` is told the confidence of one
    interval, which is higher if all are to hold at once.
    """
    confidence = plan.confidence
    if plan.request.groups is None:
        return estimate(ask, confidence)
    groups, keys = chosen_keys(plan, ask)
    if not keys:
        return ()
    asks = groups.disjoint([groups.relation.of([place]) for place in range(len(keys))], plan.left)
    if confidence is not None and asked(plan.request).simultaneous is True:
        confidence = 1 - (1 - confidence) / len(keys)
    found = groups.for_each(asks, lambda _, about: estimate(about, confidence))
    said = () if asked(plan.request).groups_per_person is None else (ONE_GROUP,)
    return tuple(
        replace(row, group=key.label, notes=(*said, *row.notes))
        for key, rows in zip(keys, found, strict=True)
        for row in rows
    )


def of_a_group(
    predict: Callable[[PricedRequest], Prediction],
) -> Callable[[PricedRequest], Prediction]:
    """Return what promises the same of a group of average size, where there are groups."""

    def promised(plan: PricedRequest) -> Prediction:
        if plan.request.groups is None:
            return predict(plan)
        return predict(replace(plan, n=usual_size(plan)))

    return promised
