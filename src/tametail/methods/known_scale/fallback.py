"""Too few records to look at their spread, as a private count has shown: what is told decides."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tametail.methods.bounded.estimate import NAME as BOUNDED
from tametail.methods.bounded.estimate import bounded_mean
from tametail.methods.known_scale import budget_split, predict
from tametail.methods.known_scale.estimate import NAME as KNOWN_SCALE
from tametail.methods.known_scale.estimate import known_scale_mean
from tametail.tail import Bounded

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.means import Estimate
    from tametail.methods.winsorized.column import ColumnPlan


def fallback_mean(plan: ColumnPlan, ask: Ask) -> Estimate:
    """Clamp to the bounds that were told, or around where the records are by their scale."""
    if isinstance(plan.tail, Bounded):
        return replace(bounded_mean(plan, ask), method=BOUNDED)
    plan = replace(plan, steps=budget_split.steps(plan))
    found = known_scale_mean(plan, ask)
    return replace(found, notes=(*predict.foresee(plan), *found.notes), method=KNOWN_SCALE)
