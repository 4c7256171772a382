"""The compiled loops and NumPy give the same integers, and the package works without the former.

Every library that was built is tested, whether or not it is the one that this processor takes, and
before it has been compared with NumPy by the package itself.
"""

from __future__ import annotations

import ast
import ctypes
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tametail.data.kernels import accumulator, counts, native, plain, profile
from tametail.data.kernels.accumulator import CHUNK
from tametail.privacy.adjacency import Adjacency
from tametail.queries.column import (
    ClippedSum,
    ClippingGrid,
    Count,
    DistanceSum,
    LogHistogram,
    Median,
    Squares,
)
from tametail.queries.rows import Ball, BallLevels, BallSquares, BallSum

from ..opened import open_table  # noqa: TID252

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tametail" / "data" / "kernels" / "_native.c"
SPECIAL = [0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, 1.0, -1.0, 2.0**53 + 2, 1e308, -1e308, 0.1]
SPECIAL += [float("inf"), float("-inf"), float("nan"), 1.7976931348623157e308, 1e-300]

#: The words of a round of the profile's tables.
FULL = 1 << 17

needs_compiler = pytest.mark.skipif(
    shutil.which("cc") is None or os.name != "posix", reason="no C compiler"
)


def _built():
    base = native.opened(SOURCE.with_name("_native.so"))
    if base is None:
        return {}
    fast = native.opened(SOURCE.with_name("_native_v3.so")) if base.runs_level_3() else None
    return {"any processor": base} | ({"level 3": fast} if fast else {})


BUILT = _built()


#: Where there is none, one test of nothing that says so.
NONE = pytest.param(None, marks=pytest.mark.skip(reason="no loops are compiled here"))


@pytest.fixture(scope="module", params=BUILT.values() or [NONE], ids=list(BUILT) or ["none"])
def compiled(request):
    return request.param


@pytest.fixture(autouse=True, params=[0, 1 << 12], ids=["tables", "few"])
def few(request, monkeypatch):
    """Few records need no tables; here they go there, too."""
    monkeypatch.setattr(profile, "_FEW", request.param)


def both(compiled, query, data, open_data=open_table):
    answers = []
    for loops in (compiled, None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(native, "library", lambda loops=loops: loops)
            answers.append(open_table(data).answer(query))
    return answers


def queries(center, exponent):
    yield ClippedSum(ClippingGrid.around(center, 2.0**exponent, 3.0 * 2.0**exponent), 3)
    yield ClippedSum(ClippingGrid.around(center, 0.0, 2.0**exponent, bits=4), 1)
    yield DistanceSum(center, ClippingGrid(max(exponent - 20, -1022), -(3 << 19), 17, 1 << 20), 2)
    yield LogHistogram(center, -128, 127, counted=True)
    yield Squares(center, exponent, 5)
    yield Count()


@pytest.mark.parametrize("size", [0, 1, 2, 15, 16, 17, 65_535, 65_536, 65_537, 200_001])
def test_sizes_around_blocks_and_chunks(compiled, size):
    data = np.random.default_rng(size).standard_t(2, size) * 1e3
    data[::7] = np.nan
    for query in queries(12.5, 8):
        one, other = both(compiled, query, data)
        assert one == other


@given(
    data=st.lists(st.floats() | st.sampled_from(SPECIAL), max_size=60),
    center=st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(SPECIAL[:11]),
    exponent=st.integers(-900, 900),
)
def test_same_integers_for_any_values(compiled, data, center, exponent):
    for query in queries(center, exponent):
        one, other = both(compiled, query, np.array(data, dtype=np.float64))
        assert one == other


def profile_tables(loops, values, center=0.0):
    tables = np.zeros((plain.BINS, 2), dtype=np.int64)
    loops.binning(center).add(values, tables)
    return tables


def with_bits(*words):
    return np.array(words, dtype=np.uint64).view(np.float64)


@pytest.mark.parametrize("size", [FULL // 2 + 1, FULL - 1, FULL, FULL + 1, 3 * FULL + 5])
@pytest.mark.parametrize("bits", [0x3FFFFFFFFFFFFFFF, 0xBFF0000000000000, 0x7FF0000000000000])
def test_all_records_in_one_bin_fill_the_tables_and_no_more(compiled, size, bits):
    """Rests of 28 ones, or of none: their sum and the count share a word, up to 2^16 of them."""
    tables = profile_tables(compiled, np.full(size, with_bits(bits)[0]))
    expected = np.zeros_like(tables)
    expected[bits >> 48] = size, size * (bits >> 20 & 0xFFFFFFF)
    np.testing.assert_array_equal(tables, expected)


def test_every_band_of_bins_is_emptied(compiled):
    """Bands where nobody looks first, each with some records; then all of them, over and over."""
    bands = np.arange(64, dtype=np.uint64) << np.uint64(58)
    values = (bands | np.uint64(0x00FF_FFFF_FFFF_FFFF)).view(np.float64)
    values = values[~np.isnan(values)]
    for value in values:
        part = np.append(np.full(7, value), [1.0, -3.0])
        np.testing.assert_array_equal(*(profile_tables(x, part) for x in (compiled, plain)))
    many = np.tile(values, 3 * FULL // values.size)
    np.testing.assert_array_equal(*(profile_tables(x, many) for x in (compiled, plain)))


def test_tables_are_empty_for_the_next_chunk(compiled):
    binning, tables = compiled.binning(0.5), np.zeros((plain.BINS, 2), dtype=np.int64)
    parts = np.array_split(np.random.default_rng(2).standard_cauchy(1000) * 1e200, 7)
    for part in parts:
        binning.add(part, tables)
    assert not binning.scratch.any()
    np.testing.assert_array_equal(tables, profile_tables(plain, np.concatenate(parts), 0.5))


CELLS = st.floats(-30, 30) | st.sampled_from([*SPECIAL, 0.5, -1.5, 2.5, 2.0**51, -(2.0**52) - 1])


@settings(max_examples=200)
@given(
    data=st.data(),
    n_columns=st.integers(1, 9),
    order=st.sampled_from([1, 2]),
    limits=st.sampled_from([None, 3, 40]),
)
def test_rows_are_mapped_alike(compiled, data, n_columns, order, limits):
    size = data.draw(st.integers(0, 9))
    cells = data.draw(st.lists(CELLS, min_size=size * n_columns, max_size=size * n_columns))
    rows = np.array(cells, dtype=np.float64).reshape(size, n_columns)
    inverse = tuple((1.0, 8.0, 0.0, 3.7)[j % 4] for j in range(n_columns))
    limited = None if limits is None else (limits,) * n_columns
    geometry = Ball((0.5,) * n_columns, inverse, (5, 20, 60), order, limited)
    asked = [
        BallLevels(geometry, 1, (1,) * 4),
        BallSum(geometry, 1, 3, 2),
        BallSquares(geometry, 2),
    ]
    for query in asked:
        np.testing.assert_equal(*both(compiled, query, rows, open_table))


HALVES = np.array([2.0 ** (step / 2) for step in range(-256, 256)])


@pytest.mark.parametrize(
    "steps", [HALVES, np.array([0.3]), np.array([1.01, 1.02, 5.0]), np.array([0.0, 1.0, 1e308])]
)
def test_distances_reach_the_same_steps(compiled, steps):
    near = np.concatenate([np.nextafter(steps, 0), steps, np.nextafter(steps, np.inf), SPECIAL])
    rows = np.resize(np.concatenate([near, -near]), (len(near), 2))
    seen = np.zeros((2, 2, len(steps) + 1), dtype=np.int64)
    for loops, counts_of in zip((compiled, plain), seen, strict=True):
        loops.count_beyond(rows, np.array([0.0, -0.25]), steps, counts_of)
    np.testing.assert_array_equal(*seen[:, :, 1:])


@pytest.mark.parametrize(("size", "n_columns"), [(5000, 7), (2049, 64), (37, 5001)])
def test_chunks_of_rows_are_mapped_alike(compiled, size, n_columns):
    rows = np.random.default_rng(4).standard_t(2, (size, n_columns)) * 50
    rows[::11, ::3] = np.nan
    geometry = Ball((0.0,) * n_columns, (2.0**9,) * n_columns, (2**14, 2**18, 2**21), 2)
    for query in (BallLevels(geometry, 1, (1,) * 4), BallSum(geometry, 1, 3, 2)):
        np.testing.assert_equal(*both(compiled, query, rows, open_table))


def test_the_widest_ball_adds_up_exactly(compiled):
    """A chunk of rows, each as far out as a ball reaches: squares add up to 2^53."""
    geometry = Ball((0.0, 0.0), (1.0, 1.0), (1 << 21,), 2)
    rows = np.tile([2.0**21, 0.0], (3 * 2048 + 1, 1))
    for query in (BallSum(geometry, 0, 1), BallSquares(geometry, 0)):
        one, other = both(compiled, query, rows, open_table)
        assert one == other
    assert one[0] << BallSquares(geometry, 0).shift == len(rows) << 42


def test_long_chunks_change_nothing(compiled, monkeypatch):
    data = np.random.default_rng(1).standard_t(2, accumulator.LONG_CHUNK + 12_345)
    data[::7] = np.nan
    asked = [*queries(0.5, 3), Median(0, -1.0, 1.0)]
    monkeypatch.setattr(native, "library", lambda: compiled)
    long = [open_table(data).answer(query) for query in asked]
    monkeypatch.setattr(type(compiled), "longest", CHUNK)
    monkeypatch.setattr(counts, "LONG_CHUNK", CHUNK)
    short = [open_table(data).answer(query) for query in asked]
    for one, other in zip(long, short, strict=True):
        assert np.array_equal(one, other)


def test_strided_and_swapped_arrays(compiled):
    values = np.random.default_rng(0).lognormal(size=(1000, 3))
    for data in (values[:, 1], values[::-1, 0], values[:, 2].astype(">f8")):
        for query in queries(1.0, 2):
            one, other = both(compiled, query, data)
            assert one == other


def test_the_exact_edge_of_what_a_sum_may_hold(compiled):
    """Terms of 2^36 ticks, a full chunk of them on either side."""
    lattice = ClippingGrid(exponent=0, low=-(1 << 36), center=0, high=1 << 36)
    for sign in (-1.0, 1.0):
        data = np.full(accumulator.LONG_CHUNK + 3, sign * 1e300)
        one, other = both(compiled, ClippedSum(lattice, 1), data)
        assert one == other == (int(sign) * (1 << 36) * data.size, data.size)


# --- which library is believed


def build(source, target, *options):
    """Compile in two steps, since a linker that is told of fast math changes this process."""
    parts = target.with_suffix(".o")
    subprocess.run(["cc", *flags(), *options, "-c", str(source), "-o", str(parts)], check=True)
    subprocess.run(["cc", "-shared", str(parts), "-o", str(target), "-lm"], check=True)
    return target


def flags():
    tree = ast.parse((ROOT / "hatch_build.py").read_text(encoding="utf-8"))
    values = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    return [flag for flag in ast.literal_eval(values["FLAGS"]) if flag != "-shared"]


def test_the_libraries_agree_with_numpy(compiled):
    assert native.agrees(compiled)


@needs_compiler
@pytest.mark.parametrize("options", [["-ffinite-math-only"], ["-ffast-math"]])
def test_a_library_that_takes_liberties_is_refused(tmp_path, monkeypatch, options):
    wrong = native.opened(build(SOURCE, tmp_path / "_native.so", *options))
    assert not native.agrees(wrong)
    monkeypatch.setattr(native, "_FOLDER", tmp_path)
    assert native.library.__wrapped__() is None


@needs_compiler
def test_a_library_of_another_version_is_refused(tmp_path):
    changed = SOURCE.read_text(encoding="utf-8").replace(
        f"VERSION = {native.VERSION}", "VERSION = 99"
    )
    (tmp_path / "other.c").write_text(changed, encoding="utf-8")
    assert native.opened(build(tmp_path / "other.c", tmp_path / "other.so")) is None
    assert native.opened(build(SOURCE, tmp_path / "same.so")) is not None


@needs_compiler
def test_a_library_without_the_loops_is_refused(tmp_path):
    (tmp_path / "empty.c").write_text("int nothing;", encoding="utf-8")
    assert native.opened(build(tmp_path / "empty.c", tmp_path / "empty.so")) is None


@pytest.mark.skipif(len(BUILT) < 2, reason="one library alone")
def test_the_fastest_library_that_is_right_is_taken(monkeypatch, tmp_path):
    for name in ("_native.so", "_native_v3.so"):
        shutil.copy(SOURCE.with_name(name), tmp_path / name)
    monkeypatch.setattr(native, "_FOLDER", tmp_path)
    opened = []
    monkeypatch.setattr(native, "agrees", lambda found: opened.append(found) or len(opened) == 2)
    assert native.library.__wrapped__() is opened[1] is not opened[0]
    (tmp_path / "_native.so").unlink()
    assert native.library.__wrapped__() is None


def test_without_compiled_loops_numpy_does_the_work(monkeypatch, tmp_path):
    monkeypatch.setattr(native, "_FOLDER", tmp_path)
    assert native.library.__wrapped__() is None
    monkeypatch.setattr(native, "library", lambda: None)
    assert native.loops() is plain
    engine = open_table([1.0, 2.0, None, 50.0])
    lattice = ClippingGrid(exponent=0, low=0, center=1, high=10)
    assert engine.answer(ClippedSum(lattice, 1)) == (10, 3)


@needs_compiler
def test_the_source_compiles_without_a_warning(tmp_path):
    build(SOURCE, tmp_path / "loops.so", "-Wall", "-Wextra", "-Werror", "-Wconversion")


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("cc") is None, reason="not built here")
def test_a_machine_with_a_compiler_has_the_loops():
    assert native.library() is not None


def test_ids_get_codes_of_their_own(compiled):
    """The library is asked itself: one that errs is not taken, and NumPy would answer."""
    assert native._numbers_exactly(compiled)


def test_texts_get_codes_of_their_own(compiled):
    """As above; two of the texts are alike in all that a table knows of them but their bytes."""
    one, other = compiled.hash_texts(native.texts_of(native._ALIKE), native._SIP_KEY).tolist()
    assert (one ^ other) & 0xFF000000FFFFFFFF == 0 != one ^ other
    assert native._numbers_texts(compiled)


def test_a_keyed_hash_is_that_of_the_key(compiled):
    texts = native.texts_of([b"Ann", b"Ann", b""])
    keys = [np.array([1, last], dtype=np.uint64) for last in (2, 3)]
    (one, again, empty), (other, *_) = (compiled.hash_texts(texts, key).tolist() for key in keys)
    assert one == again
    assert len({one, empty, other}) == 3


# --- a processor that another library has told to flush subnormal numbers

MODES = """
unsigned int modes(void) { return __builtin_ia32_stmxcsr(); }
void set_modes(unsigned int value) { __builtin_ia32_ldmxcsr(value); }
"""


@pytest.fixture
def flushing(tmp_path):
    """Subnormal results and operands become 0, and rounding is upwards."""
    if platform.machine() != "x86_64" or shutil.which("cc") is None:
        pytest.skip("needs x86-64 and a C compiler")
    (tmp_path / "modes.c").write_text(MODES, encoding="utf-8")
    library = ctypes.CDLL(str(build(tmp_path / "modes.c", tmp_path / "modes.so")))
    before = library.modes()
    yield lambda rounding=0: library.set_modes(before | 0x8040 | rounding)
    library.set_modes(before)


SMALL = np.array([5e-324, -5e-324, 2.0**-1022, -1e-310, 0.0, -(2.0**-1022), 1.0, -0.1, 1e300])


def test_a_pass_has_the_modes_of_ieee_754(compiled, flushing, monkeypatch):
    monkeypatch.setattr(native, "library", lambda: compiled)
    tiny = ClippedSum(ClippingGrid(-1022, -(1 << 36), 0, 1 << 36), 1)
    asked = [tiny, *queries(2.0**-1022, -900), *queries(0.1, 3)]
    expected = [open_table(SMALL).answer(query) for query in asked]
    upwards = 0x4000
    flushing(upwards)
    found = [open_table(SMALL).answer(query) for query in asked]
    flushing()
    assert found == expected


def test_no_record_moves_numpy_further_in_any_mode(flushing, monkeypatch):
    """What is flushed is another number, and every number moves a query within its bound."""
    monkeypatch.setattr(native, "library", lambda: None)
    flushing()
    tiny = ClippedSum(ClippingGrid(-1022, -(1 << 36), 0, 1 << 36), 1)
    for query in [tiny, *queries(2.0**-1022, -900)]:
        bound = query.sensitivity(Adjacency.ADD_REMOVE).l1
        without = open_table(SMALL).answer(query)
        for value in SMALL:
            answer = open_table(np.append(SMALL, value)).answer(query)
            moved = sum(abs(a - b) for a, b in zip(answer, without, strict=True))
            assert moved <= bound
