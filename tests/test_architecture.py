"""The picture of the house is as the imports are, and no module stands outside of its layers."""

import ast
import importlib.util
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tametail"


def drawing():
    path = ROOT / "tools" / "draw_architecture.py"
    spec = importlib.util.spec_from_file_location("draw_architecture", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_is_drawn_from_the_imports():
    drawn = drawing()
    assert drawn.PICTURE.read_text(encoding="utf-8") == drawn.draw(), (
        "python tools/draw_architecture.py --write draws it again"
    )


def test_every_module_has_a_layer():
    listed = [package for row in drawing().layers() for package in row]
    there = {
        path.stem if path.is_file() else path.name
        for path in (ROOT / "src" / "tametail").iterdir()
        if path.suffix == ".py" or (path.is_dir() and (path / "__init__.py").exists())
    }
    assert len(listed) == len(set(listed))
    assert there - {"__init__", "__main__"} == set(listed)


def test_arrows_lead_downwards():
    drawn = drawing()
    level = {package: number for number, row in enumerate(drawn.layers()) for package in row}
    upwards = [
        (package, end)
        for package, ends in drawn.imports().items()
        for end in ends
        if level[end] <= level[package]
    ]
    assert not upwards


def imports_of_modules():
    """Return which modules every module names: in imports, those for types alone too, or as text.

    The package itself is left out, which loads its public names when they are first used.
    """
    files = {module_of(path): path for path in SOURCE.rglob("*.py")}
    del files["tametail"]
    return {name: set(named_modules(path, files)) - {name} for name, path in files.items()}


def module_of(path):
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def named_modules(path, known):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        found = []
        if isinstance(node, ast.ImportFrom):
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            found = [name if name in known else node.module for name in whole]
        elif isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = [node.value.partition(":")[0]]  # for import_module: an import all the same
        yield from (name for name in found if name in known)


def cycles(graph):
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        return error.args[1]
    return []


def test_no_modules_import_each_other_not_even_for_types():
    graph = imports_of_modules()
    assert "tametail.cli.mean" in graph["tametail.cli.shell"]  # by its name alone
    assert "tametail.ask" in graph["tametail.methods.winsorized.estimate"]  # for types alone
    assert cycles(graph) == []


def test_no_rooms_import_each_other_not_even_for_types():
    packages = {}
    for name, ends in imports_of_modules().items():
        package = name.split(".")[1]
        packages.setdefault(package, set()).update({end.split(".")[1] for end in ends} - {package})
    assert cycles(packages) == []


def test_a_cycle_is_found():
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}})
