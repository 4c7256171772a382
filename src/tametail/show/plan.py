"""A plan on a terminal and in a notebook: expected accuracy, the budget split, warnings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tametail.plans import REFERENCE, Prediction, PricedRequest
from tametail.privacy.budget import Guarantee
from tametail.privacy.odds import weak_budget
from tametail.show import numbers
from tametail.show.intervals import assumption
from tametail.show.warnings import one_per_cause
from tametail.tail import Bounded, Moment

#: What a plan says if it expects no trouble, and if it cannot tell.
NO_PROBLEMS = "No problems expected."
NO_PREDICTION = "No prediction of the accuracy for this statistic."

_REFERENCE = "lognormal data, sigma = 1"


def describe_plan(plan: PricedRequest, promised: Prediction, reasons: Sequence[str]) -> str:
    """Return the plan: for what, how accurate, how the budget is divided, and what is expected."""
    notes = one_per_cause((*weak_budget(plan.budget, plan.adjacency), *promised.notes))
    found = [headline(plan), ""]
    warnings = [f"warning    {note}" for note in notes if note.kind == "warning"]
    found += [*warnings, ""] if warnings else []
    predicted = list(predictions(plan, promised))
    if predicted:
        found.append(f"Expected accuracy{_condition(plan)}")
        found += [f"  {name:<17}{words}" for name, words in predicted]
        found.append("")
    found.append("Budget split")
    width = max(len(name) for name, _, _ in plan.shares())
    for name, part, purpose in plan.shares():
        found.append(f"  {name:<{width}}  {part:4.1f}%   {purpose}")
    found += ["", f"method     {plan.method}", *(f"           {reason}" for reason in reasons)]
    found += [f"note       {note}" for note in notes if note.kind != "warning"]
    if not predicted:
        found.append(NO_PREDICTION)
    elif not notes:
        found.append(NO_PROBLEMS)
    return "\n".join(found)


def headline(plan: PricedRequest) -> str:
    """Return what a plan is for, in one line."""
    people = plan.adjacency.person is not None
    size = f"{plan.n:,}" if plan.n is not None else "an unknown number of"
    columns = f" and {plan.n_columns} columns" if plan.n_columns > 1 else ""
    fake = "FAKE: " if plan.request.fake else ""
    things = "people" if people else "records"
    budget = f"{Guarantee.from_budget(plan.budget, plan.adjacency).short}, {plan.adjacency.change}"
    return f"{fake}Plan for {size} {things}{columns}, {budget}"


def _condition(plan: PricedRequest) -> str:
    """Say under which assumption the accuracy is expected."""
    tails = set(plan.tails)
    only = tails.pop() if len(tails) == 1 else None
    groups = plan.request.groups
    of_groups = "" if groups is None else " of a group of average size, if groups are alike"
    return of_groups + (f", if {assumption(only)}" if only is not None else "")


def predictions(plan: PricedRequest, promised: Prediction) -> Iterator[tuple[str, str]]:
    """Yield what a plan predicts, as names and words."""
    if promised.scale is not None:
        yield from _in_own_scale(plan, promised, promised.scale)
        return
    yield from _half_widths(plan, promised)
    rmse, relative = promised.rmse, promised.relative_rmse
    if isinstance(rmse, float):
        yield "RMSE", f"at most {numbers.significant(rmse)} (worst case{_supposed(plan)})"
    if relative is not None:
        where = " in every column" if plan.n_columns > 1 else ""
        shown = numbers.significant(relative, 2)
        yield "typical error", f"{shown} standard deviations{where} (for {_REFERENCE})"


def _in_own_scale(
    plan: PricedRequest, promised: Prediction, scale: str
) -> Iterator[tuple[str, str]]:
    """Yield what is predicted of another statistic than a mean."""
    confidence = plan.request.confidence
    width = None if confidence is None else promised.half_width(confidence)
    if confidence is not None and width is not None:
        about = f"about ±{numbers.significant(width, 2)} {scale}"
        yield f"{numbers.percent(confidence)} CI", about
    rmse = promised.rmse if promised.relative_rmse is None else promised.relative_rmse
    if isinstance(rmse, float):
        yield "typical error", f"{numbers.significant(rmse, 2)} {scale}"


def _supposed(plan: PricedRequest) -> str:
    """Say where a bound of the error supposes the mean to be, if no range was given."""
    (column,) = plan.request.columns
    if not isinstance(column.tail, Moment) or all(map(math.isfinite, column.possible)):
        return ""
    return "; assumes the mean is within a few thousand standard deviations of 0"


def _half_widths(plan: PricedRequest, promised: Prediction) -> Iterator[tuple[str, str]]:
    """Yield how wide the interval is expected to be, and for which data."""
    confidence = plan.request.confidence
    width = None if confidence is None else promised.half_width(confidence)
    if confidence is None or width is None:
        return
    name = f"{numbers.percent(confidence)} CI"
    if math.isinf(width):
        yield name, "unbounded (too few records for this budget)"
        return
    about = f"about ±{numbers.significant(width, 2)}"
    if not promised.in_units:
        yield name, f"{about} standard deviations (for {_REFERENCE})"
    elif plan.n_columns == 1 and isinstance(plan.tails[0], Bounded):
        usual = promised.half_width(confidence, REFERENCE) or 0.0
        others = f"; ±{numbers.significant(usual, 2)} for uniform data" if usual < width else ""
        yield name, f"{about} (worst case within the bounds{others})"
    else:
        yield name, about
