"""How deep imports go: for types alone and by name count as well.

    python tools/import_depth.py
    python tools/import_depth.py tametail.planning

Prints the longest way of imports from a module (from the deepest one, if none is named) down to one
that imports nothing.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "tametail"

Graph = dict[str, set[str]]


def imports_of_modules() -> Graph:
    """Return which modules every module names: in imports, those for types alone too, or as text.

    The package itself is left out, which loads its public names when they are first used.
    """
    files = {module_of(path): path for path in SOURCE.rglob("*.py")}
    del files["tametail"]
    return {name: set(named_modules(path, files)) - {name} for name, path in files.items()}


def module_of(path: Path) -> str:
    """Return the name of the module in a file."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def named_modules(path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """Yield the modules that a file names, as often as it does."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        found: list[str | None] = []
        if isinstance(node, ast.ImportFrom):
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            found = [name if name in known else node.module for name in whole]
        elif isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = [node.value.partition(":")[0]]  # for import_module: an import all the same
        yield from (name for name in found if name in known)


def depths(graph: Graph) -> dict[str, int]:
    """Return how many modules are on the longest way from each, itself included."""
    found: dict[str, int] = {}
    for name in TopologicalSorter(graph).static_order():
        found[name] = 1 + max((found[end] for end in graph[name]), default=0)
    return found


def longest_way(graph: Graph, start: str | None = None) -> list[str]:
    """Return the modules on the longest way from a module, or from the deepest one."""
    depth = depths(graph)
    way = [start or max(sorted(depth), key=depth.__getitem__)]
    while ends := graph[way[-1]]:
        way.append(max(sorted(ends), key=depth.__getitem__))
    return way


if __name__ == "__main__":
    found = longest_way(imports_of_modules(), *sys.argv[1:2])
    print("\n".join(f"{len(found) - place:3d}  {name}" for place, name in enumerate(found)))
