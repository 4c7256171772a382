"""Record anew what a decision changes of recorded releases, and nothing else.

    python tests/net/renew.py .plan.half_width .release.low .release.high
    python tests/net/renew.py --tag Moment .plan .release .asked

The arguments are the fields that may differ, as deliberate.json has them; with ``--tag`` in cases
of that tag. Requests and answers stay, and so does what deliberate.json excuses. A case in which
anything else differs stays as it is, and is shown. For a change of many releases: few belong in
deliberate.json. The decision that explains it names the fields.
"""

from __future__ import annotations

import argparse
import re
from typing import Any

import fields
import outcome
from test_net import DELIBERATE, RECORDED, concerns

from tametail.errors import TametailError


def renewed(recorded: Any, found: Any, allowed: Any, path: str = "") -> Any:
    """Return what was recorded, with what was found in its place where that is allowed."""
    if allowed(path):
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


def renew(case: dict[str, Any], named: tuple[str, ...]) -> list[str]:
    """Renew a case where it may differ; return where it differs elsewhere, and is left alone."""
    changes = [change for change in DELIBERATE if concerns(change, case)]
    excused = tuple(field for change in changes for field in change["fields"])

    def allowed(path: str) -> bool:
        return path.startswith(named) and not (excused and path.startswith(excused))

    recorded = {name: case[name] for name in RECORDED if name in case}
    try:
        found = outcome.conclude(case)
    except TametailError as error:
        return [f".error: {error}"]
    differing = [re.sub(r"\[\d+\]", "", where) for where in fields.differences(recorded, found)]
    others = [where for where in differing if not where.startswith((*named, *excused))]
    if not others and any(map(allowed, differing)):
        case |= renewed(recorded, found, allowed)
    return others


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("fields", nargs="+")
    parser.add_argument("--tag", help="only cases of this tag")
    arguments = parser.parse_args()
    named, others = tuple(arguments.fields), []
    for path in (fields.RELEASES, fields.STRUCTURED):
        cases, before = fields.load(path), fields.load(path)
        for case in cases:
            if arguments.tag is None or arguments.tag in case["tags"]:
                others += [(case["id"], where) for where in renew(case, named)]
        changed = sum(one != other for one, other in zip(cases, before, strict=True))
        print(path.name, changed, "of", len(cases), "cases")
        if changed:
            fields.save(path, cases)
    for case in others:
        print("differs elsewhere:", *case)


if __name__ == "__main__":
    main()
