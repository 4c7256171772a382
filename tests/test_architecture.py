"""The picture of the house is as the imports are, and no module stands outside of its layers."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[1]


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
    listed = [room for row in drawing().layers() for room in row]
    there = {
        path.stem if path.is_file() else path.name
        for path in (ROOT / "src" / "tametail").iterdir()
        if path.suffix == ".py" or (path.is_dir() and (path / "__init__.py").exists())
    }
    assert len(listed) == len(set(listed))
    assert there - {"__init__", "__main__"} == set(listed)


def test_arrows_lead_downwards():
    drawn = drawing()
    level = {room: number for number, row in enumerate(drawn.layers()) for room in row}
    upwards = [
        (room, end)
        for room, ends in drawn.imports().items()
        for end in ends
        if level[end] <= level[room]
    ]
    assert not upwards
