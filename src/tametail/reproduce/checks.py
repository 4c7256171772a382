"""Statements that several experiments make about their measurements."""

from __future__ import annotations

from collections.abc import Iterable

from tametail.reproduce.report import Check
from tametail.reproduce.trials import SLACK, Measured

#: How far a fitted power may be from that of the theory.
TOLERANCE = 0.05


def not_below(who: str, points: Iterable[Measured], bounds: Iterable[float]) -> Check:
    """Say whether errors are at least their lower bounds, and how close they come to them.

    >>> str(not_below("no mean", [Measured(3.0, 0.1)], [2.0]))
    'holds: no mean is below the lower bound, give or take 2 standard errors (closest: 1.5 ± 0.05)'
    """
    ratios = [point / bound for point, bound in zip(points, bounds, strict=True)]
    closest = min(ratios, key=lambda ratio: ratio.value)
    return Check(
        f"{who} is below the lower bound, give or take {SLACK:g} standard errors "
        f"(closest: {closest})",
        all(ratio.may_be_at_least(1.0) for ratio in ratios),
    )


def has_power(what: str, fitted: Measured, theory: float, *, tolerance: float = TOLERANCE) -> Check:
    """Say whether a fitted power is that of the theory.

    >>> str(has_power("the slope", Measured(-0.52, 0.01), -0.5))
    'holds: the slope is -0.52 ± 0.01, theory -0.500 (within 0.05, give or take 2 standard errors)'
    """
    return Check(
        f"{what} is {fitted}, theory {theory:.3f} (within {tolerance}, give or take {SLACK:g} "
        "standard errors)",
        abs(fitted.value - theory) <= tolerance + SLACK * fitted.deviation,
    )
