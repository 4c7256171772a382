"""Noise, choices, samples and whole releases never repeat in threads or in other processes."""

import math
import multiprocessing
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from .draws import BITS, SOURCES, draw_everything

ROOT = str(Path(__file__).resolve().parents[2])
CHILDREN = {"fork": 4, "forkserver": 4, "spawn": 2}  # a spawned child imports everything anew
MOST_DRAWS = 16

# Any two draws of a source agree with probability at most 2^-BITS.
pytestmark = pytest.mark.real_noise(fails=math.comb(MOST_DRAWS, 2) * len(SOURCES) * 2.0**-BITS)


def assert_all_differ(draws):
    for name in SOURCES:
        drawn = [draw[name] for draw in draws]
        assert len(set(drawn)) == len(drawn), f"{name} was drawn twice"


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.parametrize("method", CHILDREN)
def test_children_repeat_neither_their_parent_nor_each_other(method, monkeypatch):
    monkeypatch.syspath_prepend(ROOT)  # children import the sources by their name
    from tests.privacy.draws import draw_everything as importable

    before = draw_everything()  # whatever state there is exists before the fork
    context = multiprocessing.get_context(method)
    if method == "forkserver":
        context.set_forkserver_preload(["tests.privacy.draws", "opendp.measurements"])
    with context.Pool(2, maxtasksperchild=1) as pool:
        children = pool.map(importable, range(CHILDREN[method]), chunksize=1)
    everything = [before, *children, draw_everything()]
    assert len({process for process, _ in everything}) == CHILDREN[method] + 1
    assert_all_differ([draws for _, draws in everything])


def test_threads_repeat_nothing():
    with ThreadPoolExecutor(8) as pool:
        drawn = list(pool.map(draw_everything, range(MOST_DRAWS)))
    assert_all_differ([draws for _, draws in drawn])


def test_generators_of_python_and_numpy_neither_decide_nor_move():
    drawn = []
    for _ in range(2):
        random.seed(1)
        np.random.seed(1)
        before = random.getstate(), np.random.get_state()[1].tolist()
        drawn.append(draw_everything()[1])
        after = random.getstate(), np.random.get_state()[1].tolist()
        assert before == after
    assert_all_differ(drawn)


def test_the_check_notices_a_repeated_draw():
    _, draws = draw_everything()
    with pytest.raises(AssertionError, match="drawn twice"):
        assert_all_differ([draws, dict(draws)])
