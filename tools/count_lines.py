"""Count the lines of the source by package, and what they are: code, documentation, blank.

    python tools/count_lines.py            this tree
    python tools/count_lines.py FOLDER     another one, such as an older commit's

Packages that came with later features are counted apart, so that the rest can be compared with the
time before them (decision 0101).
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path

#: Parts of the source that were written for features which the older tree lacks.
FEATURES = {
    "persons": ("engines/persons", "methods/persons", "queries/persons"),
    "groups": (
        "methods/groups", "queries/groups", "mechanisms/groups", "engines/keyed", "engines/keys",
        "grouping", "keys",
    ),
    "ledger": ("ledger", "charged_calls"),
    "expressions": (
        "expressions", "engines/evaluation", "engines/tables/computed", "engines/tables/raw",
    ),
    "numbers as written": ("parse", "engines/text", "cli/written"),
    "never worse than the textbook": ("methods/bounded",),
    "columns apart": ("methods/separate", "methods/joint_sum"),
    "two intervals and notes": ("notes", "methods/winsorized/approximate_interval"),
    "related work": ("paper/related",),
    "reports and pictures": ("report", "pictures", "drawing", "markup", "issued", "cli/replay"),
    "databases": ("engines/database", "engines/sql", "engines/databases"),
    "the page": ("page",),
}  # fmt: skip


def feature_of(name: str) -> str | None:
    """Return the feature that a module came with; None if it is older."""
    for feature, parts in FEATURES.items():
        if any(name == part or name.startswith(f"{part}/") for part in parts):
            return feature
    return None


def kinds_of(path: Path) -> Counter[str]:
    """Return how many lines are blank, documentation (docstrings and comments) and code."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    told: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        for one in body if isinstance(body, list) else []:
            value = getattr(one, "value", None)
            if isinstance(one, ast.Expr) and isinstance(getattr(value, "value", None), str):
                told |= set(range(one.lineno, (one.end_lineno or one.lineno) + 1))
    found: Counter[str] = Counter()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            found["blank"] += 1
        elif number in told or line.lstrip().startswith("#"):
            found["documentation"] += 1
        else:
            found["code"] += 1
    return found


def main() -> None:
    """Print a table."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1]
    source = root / "src" / "tametail"
    packages: dict[str, Counter[str]] = {}
    for path in sorted(source.rglob("*.py")):
        name = path.relative_to(source).with_suffix("").as_posix().removesuffix("/__init__")
        package = feature_of(name) or name.split("/")[0]
        packages.setdefault(package, Counter()).update(kinds_of(path))
    order = sorted(packages, key=lambda package: (package in FEATURES, -packages[package].total()))
    print("| package | lines | code | documentation | blank |\n|---|---|---|---|---|")
    for package in order:
        _row(package, packages[package])
    old = [packages[package] for package in packages if package not in FEATURES]
    _row("**without the features**", sum(old, Counter()))
    _row("**all**", sum(packages.values(), Counter()))


def _row(name: str, found: Counter[str]) -> None:
    kinds = " | ".join(f"{found[kind]:,}" for kind in ("code", "documentation", "blank"))
    print(f"| {name} | {found.total():,} | {kinds} |")


if __name__ == "__main__":
    main()
