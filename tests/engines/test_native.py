"""The compiled loops and NumPy give the same integers, and the package works without the former."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tametail.engines.kernels import column as kernel
from tametail.engines.kernels import native
from tametail.engines.tables.memory import MemoryEngine
from tametail.queries.column import (
    ClippedSum,
    Count,
    DistanceSum,
    Lattice,
    Median,
    Squares,
    TailNodes,
)

ROOT = Path(__file__).parents[2]
SPECIAL = [0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, 1.0, -1.0, 2.0**53 + 2, 1e308, -1e308, 0.1]
SPECIAL += [float("inf"), float("-inf"), float("nan"), 1.7976931348623157e308, 1e-300]

needs_loops = pytest.mark.skipif(native.library() is None, reason="no C compiler at installation")


def both(monkeypatch, query, data):
    compiled = MemoryEngine(data).answer(query)
    with monkeypatch.context() as patch:
        patch.setattr(native, "library", lambda: None)
        return compiled, MemoryEngine(data).answer(query)


def queries(centre, exponent):
    yield ClippedSum(Lattice.around(centre, 2.0**exponent, 3.0 * 2.0**exponent), 3)
    yield ClippedSum(Lattice.around(centre, 0.0, 2.0**exponent, bits=4), 1)
    yield DistanceSum(centre, Lattice(max(exponent - 20, -1022), -(3 << 19), 17, 1 << 20), 2)
    yield TailNodes(centre, -128, 127, counted=True)
    yield Squares(centre, exponent, 5)
    yield Count()


@needs_loops
@pytest.mark.parametrize("size", [0, 1, 2, 15, 16, 17, 65_535, 65_536, 65_537, 200_001])
def test_sizes_around_blocks_and_chunks(monkeypatch, size):
    data = np.random.default_rng(size).standard_t(2, size) * 1e3
    data[::7] = np.nan
    for query in queries(12.5, 8):
        one, other = both(monkeypatch, query, data)
        assert one == other


@needs_loops
@given(
    data=st.lists(st.floats() | st.sampled_from(SPECIAL), max_size=60),
    centre=st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(SPECIAL[:11]),
    exponent=st.integers(-900, 900),
)
def test_same_integers_for_any_values(data, centre, exponent):
    for query in queries(centre, exponent):
        with pytest.MonkeyPatch.context() as patch:
            one, other = both(patch, query, np.array(data, dtype=np.float64))
        assert one == other


@needs_loops
def test_long_chunks_change_nothing(monkeypatch):
    data = np.random.default_rng(1).standard_t(2, kernel.LONG_CHUNK + 12_345)
    data[::7] = np.nan
    asked = [*queries(0.5, 3), Median(0, -1.0, 1.0)]
    long = [MemoryEngine(data).answer(query) for query in asked]
    monkeypatch.setattr(kernel, "LONG_CHUNK", kernel.CHUNK)
    short = [MemoryEngine(data).answer(query) for query in asked]
    for one, other in zip(long, short, strict=True):
        assert np.array_equal(one, other)


def test_without_the_loops_only_samples_come_in_long_chunks(monkeypatch):
    monkeypatch.setattr(native, "library", lambda: None)
    sizes = {type(query): kernel.longest_chunk(query) for query in queries(0.5, 3)}
    assert set(sizes.values()) == {kernel.CHUNK}
    assert kernel.longest_chunk(Median(0, -1.0, 1.0)) == kernel.LONG_CHUNK


@needs_loops
def test_strided_and_swapped_arrays(monkeypatch):
    values = np.random.default_rng(0).lognormal(size=(1000, 3))
    for data in (values[:, 1], values[::-1, 0], values[:, 2].astype(">f8")):
        for query in queries(1.0, 2):
            one, other = both(monkeypatch, query, data)
            assert one == other


@needs_loops
def test_the_exact_edge_of_what_a_sum_may_hold(monkeypatch):
    """Terms of 2^36 ticks, a full chunk of them on either side."""
    lattice = Lattice(exponent=0, low=-(1 << 36), centre=0, high=1 << 36)
    for sign in (-1.0, 1.0):
        data = np.full(kernel.LONG_CHUNK + 3, sign * 1e300)
        one, other = both(monkeypatch, ClippedSum(lattice, 1), data)
        assert one == other == (int(sign) * (1 << 36) * data.size, data.size)


def test_without_compiled_loops_numpy_does_the_work(monkeypatch, tmp_path):
    monkeypatch.setattr(native, "_LIBRARY", tmp_path / "missing.so")
    assert native.library.__wrapped__() is None
    monkeypatch.setattr(native, "library", lambda: None)
    engine = MemoryEngine([1.0, 2.0, None, 50.0])
    lattice = Lattice(exponent=0, low=0, centre=1, high=10)
    assert engine.answer(ClippedSum(lattice, 1)) == (10, 3)


@pytest.mark.skipif(shutil.which("cc") is None or os.name != "posix", reason="no C compiler")
def test_the_source_compiles_without_a_warning(tmp_path):
    flags = (ROOT / "hatch_build.py").read_text().split("FLAGS = (")[1].split(")")[0]
    options = [part.strip().strip('"') for part in flags.split(",") if part.strip()]
    source = ROOT / "src" / "tametail" / "engines" / "kernels" / "_native.c"
    command = ["cc", *options, "-Wall", "-Wextra", "-Werror", str(source)]
    subprocess.run([*command, "-o", str(tmp_path / "loops.so"), "-lm"], check=True)


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("cc") is None, reason="not built here")
def test_a_machine_with_a_compiler_has_the_loops():
    assert native.library() is not None
