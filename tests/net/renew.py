"""Record anew what a decision changes of recorded releases, and nothing else.

    python tests/net/renew.py .plan.half_width .release.low .release.high
    python tests/net/renew.py --tag Moment .plan .release .asked

The arguments are the fields that may differ, as deliberate.json has them; with ``--tag`` in cases
of that tag. Requests and answers stay. If anything else differs, nothing is written. For a change
of many releases: few belong in deliberate.json. The decision that explains it names the fields.
"""

from __future__ import annotations

import argparse
import re
from typing import Any

import fields
import outcome

RECORDED = ("plan", "release", "asked", "narrowed", "result")


def renewed(recorded: Any, found: Any, allowed: tuple[str, ...], path: str = "") -> Any:
    """Return what was recorded, with what was found in its place where that is allowed."""
    if path.startswith(allowed):
        return found
    if isinstance(recorded, dict) and isinstance(found, dict):
        return {
            key: renewed(value, found[key], allowed, f"{path}.{key}") if key in found else value
            for key, value in recorded.items()
        }
    if isinstance(recorded, list) and isinstance(found, list) and len(recorded) == len(found):
        pairs = zip(recorded, found, strict=True)
        return [renewed(one, other, allowed, path) for one, other in pairs]
    return recorded


def renew(case: dict[str, Any], allowed: tuple[str, ...]) -> list[str]:
    """Renew a case where it may differ; return where it still differs."""
    recorded = {name: case[name] for name in RECORDED if name in case}
    found = outcome.conclude(case)
    differing = fields.differences(recorded, found)
    if not any(_field(where).startswith(allowed) for where in differing):
        return differing
    case |= renewed(recorded, found, allowed)
    return fields.differences({name: case[name] for name in recorded}, found)


def _field(where: str) -> str:
    return re.sub(r"\[\d+\]", "", where)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("fields", nargs="+")
    parser.add_argument("--tag", help="only cases of this tag")
    arguments = parser.parse_args()
    allowed, others = tuple(arguments.fields), []
    for path in (fields.RELEASES, fields.STRUCTURED):
        cases, before = fields.load(path), fields.load(path)
        for case in cases:
            if arguments.tag is None or arguments.tag in case["tags"]:
                others += [(case["id"], where) for where in renew(case, allowed)]
        changed = sum(one != other for one, other in zip(cases, before, strict=True))
        print(path.name, changed, "of", len(cases), "cases")
        if not others:
            fields.save(path, cases)
    for case in others[:40]:
        print("still differs:", *case)


if __name__ == "__main__":
    main()
