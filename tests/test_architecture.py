"""The picture of the house is as the imports are, and no module stands outside of its layers."""

import importlib.util
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]

#: Modules on the longest way of imports: from the command line, and from the planner above the
#: methods. Less is better: lower these when it is.
MOST_IMPORTS, MOST_IMPORTS_OF_THE_PLANNER = 28, 17


def tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def drawing():
    return tool("draw_architecture")


@lru_cache(maxsize=1)
def imports_of_modules():
    return tool("import_depth").imports_of_modules()


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


def test_imports_are_no_deeper_than_they_were():
    depths = tool("import_depth").depths(imports_of_modules())
    assert max(depths.values()) <= MOST_IMPORTS
    assert depths["tametail.planning"] <= MOST_IMPORTS_OF_THE_PLANNER
