"""Planning: what a plan is (:mod:`tametail.plans`), together with the methods that make one.

Methods are written in terms of plans, and a plan asks its method by name. So neither imports the
other: here the methods are handed to the plans, and whoever makes or reads a plan comes by here.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable

from tametail.methods import REGISTRY
from tametail.plans import COUNT, Plan, Step, use_methods
from tametail.request import Request

__all__ = ["COUNT", "Plan", "Step"]


def _restored(
    request: Request, n: int | None, method: str, steps: tuple[Step, ...], reading: str | None
) -> Plan:
    return Plan(request, n, method, steps, reading)


def _taken_apart(
    plan: Plan,
) -> tuple[Callable[..., Plan], tuple[Request, int | None, str, tuple[Step, ...], str | None]]:
    return _restored, (plan.request, plan.n, plan.method, plan.steps, plan.reading)


use_methods(REGISTRY)
# A plan that another process unpickles brings the methods along.
copyreg.pickle(Plan, _taken_apart)
