"""Pin every proof to the code that it proves.

A proof in ``docs/proofs`` begins with lines ``proves: module.function @ hash``. The hash is that
of the function's syntax tree without docstrings, so comments and layout may change, arithmetic
may not. ``tests/test_proofs.py`` fails when a hash is stale.

    python tools/pin_proofs.py           says which proofs are stale
    python tools/pin_proofs.py --write   pins them anew: only after reading the proof again
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

PROOFS = Path(__file__).parents[1] / "docs" / "proofs"
# Whatever stands where a hash should is one that no code has, so that it is stale and not skipped.
LINE = re.compile(r"^proves: (?P<name>[\w.]+)(?: @ (?P<hash>\S*))? *$", re.MULTILINE)


def code_hash(name: str) -> str:
    """Return the hash of the code called ``name``."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(find(name))))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_docstring(body[0]):
            del body[0]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:12]


def find(name: str) -> Any:
    """Return the object with this dotted name; its module is the longest part that imports."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return inspect.unwrap(found)
    raise ModuleNotFoundError(name)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def stale() -> list[tuple[Path, str]]:
    """Return the proofs whose code has moved."""
    return [
        (path, match["name"])
        for path in sorted(PROOFS.glob("*.md"))
        for match in LINE.finditer(path.read_text(encoding="utf-8"))
        if match["hash"] != code_hash(match["name"])
    ]


def write() -> None:
    """Pin every proof to the code as it is."""
    for path in sorted(PROOFS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        pinned = LINE.sub(
            lambda match: f"proves: {match['name']} @ {code_hash(match['name'])}", text
        )
        path.write_text(pinned, encoding="utf-8")


if __name__ == "__main__":
    if "--write" in sys.argv:
        write()
    for path, name in stale():
        print(f"{path.name}: {name} has moved")
