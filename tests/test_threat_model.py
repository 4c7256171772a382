"""The threat model names real tests, and what attackers found before stays mended."""

import ast
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import tametail as tt
from tametail.data.cells import cell_to_float
from tametail.privacy.adjacency import RECORD_ADJACENCIES, Adjacency
from tametail.queries.rows import Ball, BallSquares

from .opened import open_table

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "explanation" / "threat-model.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)))
ROWS = [
    line.strip("| \n").split(" | ")
    for line in PAGE.splitlines()
    if line.startswith("|") and not line.startswith(("| attack", "|---"))
]


@cache
def functions_in(path):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(("path", "name"), NAMED, ids="::".join)
def test_every_named_test_exists(path, name):
    assert name.startswith("test_")
    assert name in functions_in(path)


def test_every_attack_names_a_test_or_says_that_there_is_none():
    assert len(ROWS) >= 10
    for cells in ROWS:
        assert len(cells) == 4, cells[0]
        *_, stops, tests = cells
        assert "::test_" in tests or (tests == "not covered" and "**nothing**" in stops), cells[0]


@pytest.mark.parametrize(
    "attack", ["Mironov 2012", "Haney et al. 2022", "Casacuberta et al. 2022", "Jin et al. 2022"]
)
def test_the_attacks_that_everybody_knows_are_there(attack):
    assert any(attack in cells[0] for cells in ROWS)


@pytest.mark.parametrize("adjacency", RECORD_ADJACENCIES)
def test_sums_of_squares_do_not_wrap(adjacency):
    """2^21 rows of 2^42 each are 2^63: one row more or less once moved the sum by 2^64."""
    radius = 1 << 21
    query = BallSquares(Ball((0.0, 0.0), (1.0, 1.0), (radius,), order=2), 0)
    rows = np.zeros((1 << 21, 2))
    rows[:, 0] = radius
    full = open_table(rows).answer(query)
    if adjacency is Adjacency.ADD_REMOVE:
        rows = rows[:-1]
    else:
        rows[-1] = 0.0
    less = open_table(rows).answer(query)
    moved = sum(abs(a - b) for a, b in zip(full, less, strict=True))
    assert 0 < moved <= query.sensitivity(adjacency).l1
    assert full[0] << query.shift == 1 << 63


class Wilful(float):
    """A number that refuses to be one."""

    def __float__(self):
        raise RuntimeError("this cell holds 42")


class WilfulInteger(int):
    """Likewise for integers."""

    def __float__(self):
        raise KeyError("this cell holds 42")


@pytest.mark.parametrize("cell", [Wilful(42.0), WilfulInteger(42)])
def test_a_cell_with_a_will_of_its_own_is_what_it_holds(cell):
    assert cell_to_float(cell) == 42.0  # and none of its own code runs
    assert tt.mean([1.0, cell], epsilon=1).guarantee.epsilon <= 1
