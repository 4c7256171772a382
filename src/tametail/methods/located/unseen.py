"""Too few records to look at their spread, as a private count has shown: what is told decides."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tametail.methods.located import predict, shares
from tametail.methods.located.estimate import NAME as LOCATED
from tametail.methods.located.estimate import located_mean
from tametail.methods.textbook.estimate import NAME as TEXTBOOK
from tametail.methods.textbook.estimate import textbook_mean
from tametail.tail import Bounded

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.means import Estimate
    from tametail.methods.winsorized.column import ColumnPlan


def unseen_mean(plan: ColumnPlan, ask: Ask) -> Estimate:
    """Clamp to the bounds that were told, or around where the records are by their scale."""
    if isinstance(plan.tail, Bounded):
        return replace(textbook_mean(plan, ask), method=TEXTBOOK)
    plan = replace(plan, steps=shares.steps(plan))
    found = located_mean(plan, ask)
    return replace(found, notes=(*predict.foresee(plan), *found.notes), method=LOCATED)
