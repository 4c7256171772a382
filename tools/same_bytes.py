"""Compare two versions of the sources on the recorded cases of the net, bit for bit.

    python tools/same_bytes.py OLD/src NEW/src

Each version runs in a process of its own, on this machine, with the net of this checkout: every
plan, every release that is replayed, every query that is asked on the way, and every exact answer
of an engine. Floats are compared as hexadecimal text. Differences are printed, with what
``tests/net/deliberate.json`` says of them, and the exit code is 1 if one is not explained there.

``tests/net/adapters.py`` knows the inner names of both versions; a query that was renamed between
them goes by the name of the recording.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

NET = Path(__file__).parents[1] / "tests" / "net"


def main() -> int:
    """Run both versions and print where they differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("old", type=Path, help="the folder src of the old checkout")
    parser.add_argument("new", type=Path, help="the folder src of the new checkout")
    chosen = parser.parse_args()
    old, new = _run(chosen.old), _run(chosen.new)
    tags = {case["id"]: case["tags"] for case in old["tags"]}
    changes = json.loads((NET / "deliberate.json").read_text(encoding="utf-8"))
    unexplained = 0
    for name, before in old["cases"].items():
        for where, one, other in _different(before, new["cases"][name]):
            reasons = _reasons(changes, name, tags, where)
            unexplained += not reasons
            print(f"{name}{where}: {one} -> {other} ({', '.join(reasons) or 'UNEXPLAINED'})")
    print(f"{len(old['cases'])} cases, {unexplained} unexplained differences")
    return 1 if unexplained else 0


def _run(source: Path) -> dict[str, Any]:
    """Return what these sources give, from a process that imports nothing else."""
    if not (source / "tametail").is_dir():
        raise SystemExit(f"there is no package tametail in {str(source)!r}")
    environment = os.environ | {"PYTHONPATH": str(source.resolve())}
    command = [sys.executable, __file__, "--child", str(source.resolve())]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)  # noqa: S603
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _child(source: str) -> None:
    sys.path.insert(0, str(NET))
    import fields
    import hostile
    import outcome

    import tametail

    if not Path(tametail.__file__).resolve().is_relative_to(source):
        raise SystemExit("another tametail was imported than the one to be compared")
    found: dict[str, Any] = {}
    cases = fields.load(fields.RELEASES)
    for case in cases:
        found[f"release {case['id']}"] = fields.exact(_outcome(outcome, case))
    for case in fields.load(fields.ENGINES):
        found[f"engine {case['id']}"] = hostile.answer(case)
    tags = [{"id": f"release {case['id']}", "tags": case["tags"]} for case in cases]
    json.dump({"cases": found, "tags": tags}, sys.stdout)


def _outcome(outcome: Any, case: dict[str, Any]) -> Any:
    """Return the result of a case; an error is a result, too."""
    try:
        return outcome.conclude(case)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def _different(one: Any, other: Any, path: str = "") -> list[tuple[str, Any, Any]]:
    """Return where two values differ, and the two sides."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = [*one, *(key for key in other if key not in one)]
        pairs = [(f"{path}.{key}", one.get(key), other.get(key)) for key in keys]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        sides = enumerate(zip(one, other, strict=True))
        pairs = [(f"{path}[{index}]", left, right) for index, (left, right) in sides]
    else:
        return [] if one == other else [(path, one, other)]
    return [found for where, left, right in pairs for found in _different(left, right, where)]


def _reasons(
    changes: list[dict[str, Any]], name: str, tags: dict[str, list[str]], where: str
) -> list[str]:
    """Return the deliberate changes that explain a difference; of engines there are none."""
    return [
        change["name"]
        for change in changes
        if name in tags
        and where.startswith(tuple(change["fields"]))
        and (
            name in [f"release {number}" for number in change["ids"]]
            if "ids" in change
            else set(change["tags"]) <= set(tags[name])
        )
    ]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        _child(sys.argv[2])
    else:
        sys.exit(main())
