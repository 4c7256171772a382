"""The one place where a release happens: plan and table, then ask, method, release."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from tametail.ask import Ask, Data, Replay
from tametail.errors import InternalError
from tametail.methods import REGISTRY
from tametail.planning import Plan
from tametail.privacy.budget import Guarantee, fits
from tametail.queries.rows import Rows
from tametail.release import Mean, Release

if TYPE_CHECKING:
    from tametail.engines import Engine


def run(plan: Plan, table: Engine) -> Release:
    """Release the means that were planned.

    ``table`` has been opened: its columns are known, and no record has been read. This is where a
    charge belongs, before the first one is.
    """
    if plan.unit.size_is_public:  # the size is public; a CSV file is read to know it
        plan = plan.with_size(table.size)
    return estimate(plan, Ask(Data(table), plan.budget, plan.unit))


def rerun(plan: Plan, answers: Iterable[Any]) -> Release:
    """Return the release that follows from recorded answers; no data are read."""
    return estimate(plan, Ask(Replay(answers), plan.budget, plan.unit))


@np.errstate(all="ignore")  # noisy answers may be anything
def estimate(plan: Plan, ask: Ask) -> Release:
    """Let the method ask, and join what it concludes with what was spent."""
    followed = plan
    if plan.n is None and plan.dim > 1:
        (count,) = ask(Rows(), plan.cost("count"))
        followed = plan.with_count(count)
    method = REGISTRY.find(followed.method)
    means = zip(plan.columns, method.estimate(followed, ask), strict=True)
    # Which questions were asked depends on answers; what is stated must hold for every way.
    stated = plan.spending
    if ask.spent is None or not (fits(ask.spent, stated) and fits(stated, plan.budget)):
        raise InternalError(f"the questions cost {ask.spent}, the plan {stated}.")
    return Release(
        means=tuple(Mean.of(column, one) for column, one in means),
        guarantee=Guarantee.from_budget(stated, plan.unit),
        plan=plan,
        method=followed.method,
        remarks=followed.advice if plan.dim > 1 else (),
        answers=ask.answers,
    )
