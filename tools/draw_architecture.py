"""Draw the floor plan of the package from its imports: ``docs/pictures/architecture.svg``.

Rows are the layers of the import contract in ``pyproject.toml``, boxes are its packages and
modules, and an arrow says that the upper one imports the lower one. An arrow that follows from two
others is left out. ``tests/test_architecture.py`` fails when the picture is not what this draws.

    python tools/draw_architecture.py           says whether the picture is as the imports are
    python tools/draw_architecture.py --write   draws it again
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tametail"
PICTURE = ROOT / "docs" / "pictures" / "architecture.svg"

BOX_HEIGHT, ROW_HEIGHT, MARGIN, LETTER = 44, 92, 24, 8.2

STYLE = """
  svg { background: #ffffff } text { font: 14px sans-serif; fill: #1c2733; text-anchor: middle }
  .small { font-size: 11px; fill: #55636f } rect { fill: #eef4f8; stroke: #3d6d8f; rx: 6 }
  path { fill: none; stroke: #9fb3c1; stroke-width: 1.2 } .head { fill: #9fb3c1 }
  @media (prefers-color-scheme: dark) {
    svg { background: #14191e } text { fill: #e8eef2 } .small { fill: #a9b7c2 }
    rect { fill: #1f2b35; stroke: #6fa5c8 } path { stroke: #56697a } .head { fill: #56697a }
  }
"""


def layers() -> list[list[str]]:
    """Return the packages of every layer, from the top, as the import contract lists them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (contract,) = (contract for contract in contracts if contract["type"] == "layers")
    rows = (layer.replace(":", "|").split("|") for layer in contract["layers"])
    return [[package.strip().removeprefix("tametail.") for package in row] for row in rows]


def imports() -> dict[str, set[str]]:
    """Return which packages every package imports when it is loaded or run, not for types alone."""
    packages = {package for row in layers() for package in row}
    found: dict[str, set[str]] = {package: set() for package in packages}
    for path in SOURCE.rglob("*.py"):
        package = _room(path.relative_to(SOURCE).with_suffix("").parts)
        if package in packages:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found[package] |= {name for name in _imported(tree) if name in packages} - {package}
    return found


def _room(parts: tuple[str, ...]) -> str:
    return parts[0]


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            head, *rest = node.module.split(".")
            if head == "tametail":
                yield from ([rest[0]] if rest else [alias.name for alias in node.names])
        yield from _imported(node)


def reduced(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Leave out every arrow that follows from others."""

    def reach(package: str) -> set[str]:
        return set().union(*({next_room} | reach(next_room) for next_room in graph[package]))

    return {
        package: {end for end in ends if not any(end in reach(way) for way in ends - {end})}
        for package, ends in graph.items()
    }


def size_of(package: str) -> str:
    """Return how much there is in a package, in words."""
    folder = SOURCE / package
    if not folder.is_dir():
        return "module"
    count = len([path for path in folder.rglob("*.py") if path.name != "__init__.py"])
    return f"{count} modules"


def draw() -> str:
    """Return the picture."""
    rows = layers()
    widths = {package: max(len(package) * LETTER + 28, 96.0) for row in rows for package in row}
    span = max(sum(widths[package] + MARGIN for package in row) for row in rows) + MARGIN
    places: dict[str, tuple[float, float]] = {}
    for number, row in enumerate(rows):
        left = (span - sum(widths[package] + MARGIN for package in row) + MARGIN) / 2
        for package in row:
            places[package] = left + widths[package] / 2, MARGIN + number * ROW_HEIGHT
            left += widths[package] + MARGIN
    height = MARGIN * 2 + (len(rows) - 1) * ROW_HEIGHT + BOX_HEIGHT
    arrows = (
        _arrow(places[package], places[end])
        for package, ends in sorted(reduced(imports()).items())
        for end in sorted(ends)
    )
    boxes = (_box(package, places[package], widths[package]) for row in rows for package in row)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {span:.0f} {height}" '
        f'width="{span:.0f}" height="{height}" role="img">\n'
        "<title>The packages of tametail by layer; arrows are imports</title>\n"
        f"<style>{STYLE}</style>\n"
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path class="head" d="M0 0 L8 4 L0 8 z"/></marker></defs>'
    )
    return "\n".join([head, *arrows, *boxes, "</svg>", ""])


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    (x1, y1), (x2, y2) = start, end
    y1, y2 = y1 + BOX_HEIGHT, y2 - 3
    bend = (y2 - y1) / 2
    return (
        f'<path marker-end="url(#head)" d="M{x1:.0f} {y1} C{x1:.0f} {y1 + bend:.0f} '
        f'{x2:.0f} {y2 - bend:.0f} {x2:.0f} {y2}"/>'
    )


def _box(package: str, place: tuple[float, float], width: float) -> str:
    x, y = place
    return (
        f'<rect x="{x - width / 2:.0f}" y="{y}" width="{width:.0f}" height="{BOX_HEIGHT}"/>'
        f'<text x="{x:.0f}" y="{y + 19}">{escape(package)}</text>'
        f'<text class="small" x="{x:.0f}" y="{y + 35}">{escape(size_of(package))}</text>'
    )


def main() -> int:
    """Draw, or compare."""
    picture = draw()
    if "--write" in sys.argv[1:]:
        PICTURE.write_text(picture, encoding="utf-8")
        return 0
    same = PICTURE.exists() and PICTURE.read_text(encoding="utf-8") == picture
    print("the picture is as the imports are" if same else "draw it again: --write")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
