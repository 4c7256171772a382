"""What follows from a recorded case of any kind: a release, a plan, a size, one of the paper's."""

from __future__ import annotations

from typing import Any

import adapters
import fields
import hostile

import tametail as tt


def conclude(case: dict[str, Any]) -> dict[str, Any]:
    """Run a case without noise, and return what came out and what was asked on the way."""
    if "function" not in case:
        with adapters.asked() as noted, adapters.narrowings() as narrowed:
            return fields.conclude(case) | {"asked": noted, "narrowed": narrowed}
    arguments = fields.request_from(case["request"])
    if "data" not in case:
        return {"result": fields.plain(getattr(tt, case["function"])(**arguments))}
    function = getattr(tt.paper, case["function"])
    with adapters.answered(fields.answers_from(case["answers"])), _asked() as noted:
        result = function(hostile.data_from(case["data"]), **arguments)
    return {"result": fields.plain(result), "asked": noted}


def _asked() -> Any:
    return adapters.asked(adapters.Data)
