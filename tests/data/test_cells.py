"""No cell raises, warns or is taken for a number that it is not."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tametail.data.cells import (
    array_to_floats,
    arrow_to_floats,
    cell_to_float,
    cells_to_floats,
    decoded,
)
from tametail.data.keys import kept_cells
from tametail.data.text import text_to_floats
from tametail.errors import ColumnError
from tametail.queries.column import Count

from ..opened import open_table  # noqa: TID252


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        (3, 3.0),
        (True, 1.0),
        (np.float32(0.1), float(np.float32(0.1))),
        (np.uint64(2**64 - 1), 2.0**64),
        (2**53 + 1, 2.0**53),
        (10**400, math.inf),
        (-(10**400), -math.inf),
        (np.longdouble("1e4000"), math.inf),
        (Decimal("1e400"), math.inf),
        (Decimal("-0.1"), -0.1),
        (Fraction(1, 3), 1 / 3),
        (Fraction(-(10**400)), -math.inf),
        (-math.inf, -math.inf),
    ],
)
def test_numbers(cell, number):
    assert cell_to_float(cell) == number


@pytest.mark.parametrize(
    "cell",
    [
        *(None, "3", b"3", "n/a", [1.0], (), {}, object(), 1j, np.complex128(1), math.nan),
        *(Decimal("nan"), Decimal("sNaN"), np.datetime64("2020-01-01"), np.timedelta64(3, "s")),
        *(datetime.timedelta(1), np.ma.masked, np.float32("nan"), np.array(1.0), np.str_("1")),
    ],
)
def test_what_is_not_a_number_is_missing(cell):
    assert math.isnan(cell_to_float(cell))
    assert open_table([1.0, cell]).answer(Count())[0] == 1  # a row comes first only among rows


def test_types_of_arrays():
    assert array_to_floats(np.array([2**53 + 1, -(2**63)])).tolist() == [2.0**53, -(2.0**63)]
    assert array_to_floats(np.array([1.5, -2.5], dtype=">f8")).tolist() == [1.5, -2.5]
    assert array_to_floats(np.array([True, False])).tolist() == [1.0, 0.0]
    masked = np.ma.masked_array([1.0, 2.0], mask=[True, False])
    assert np.isnan(array_to_floats(masked)).tolist() == [True, False]
    signalling = np.array([0x7F800001], dtype=np.uint32).view(np.float32)
    assert np.isnan(array_to_floats(signalling)).all()
    assert np.isnan(arrow_to_floats(pa.array(signalling))).all()
    assert array_to_floats(np.array([np.finfo(np.longdouble).max])).tolist() == [math.inf]


@pytest.mark.parametrize("dtype", ["U3", "S3", "M8[s]", "m8[Y]", "c16", "V4"])
def test_declared_types_that_hold_no_numbers(dtype):
    with pytest.raises(ColumnError, match=r"not numeric|are text|means of dates"):
        open_table(np.zeros(2, dtype=dtype))


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((), "0 dimensions. Pass"),
        ((7, 2, 3), "3 dimensions. Pass"),
        ((7, 0), "no column. Pass"),
    ],
)
def test_rows_and_columns(shape, message):
    with pytest.raises(ColumnError, match=message) as caught:
        open_table(np.zeros(shape))
    assert "7" not in str(caught.value)  # how many records there are is not public
    assert open_table(np.zeros((3, 1))).size == 3
    assert open_table(np.zeros((3, 2))).columns == ("0", "1")


@pytest.mark.parametrize(
    ("array", "floats"),
    [
        (pa.array([1, None, 2**63 - 1]), [1.0, None, 2.0**63]),
        (pa.array([2**64 - 1], pa.uint64()), [2.0**64]),
        (pa.array([True, None, False]), [1.0, None, 0.0]),
        (pa.array([Decimal("1.10"), None]), [1.1, None]),
        (pa.array([None, None]), [None, None]),
        (pa.array([1.5, 2.5, 1.5, None]).dictionary_encode(), [1.5, 2.5, 1.5, None]),
        (pa.array([np.float16(0.5), None]), [0.5, None]),
        (pa.array([0.1, None], pa.float32()), [float(np.float32(0.1)), None]),
        (pa.array([1, 2, 3, 4]).slice(1, 2), [2.0, 3.0]),
    ],
)
def test_arrow_types(array, floats):
    found = [None if math.isnan(x) else x for x in arrow_to_floats(array)]
    assert found == floats


TEXTS = st.text(alphabet="0123456789+-.eEinfatyINFx_ ,\t", max_size=12)


@settings(max_examples=500)
@given(cells=st.lists(st.one_of(TEXTS, st.floats().map(repr), st.none()), max_size=6))
def test_a_text_cell_does_not_depend_on_its_neighbors(cells):
    # A chunk whose cells are all numbers takes a fast path; the numbers must be the same.
    together = text_to_floats(pa.array(cells, pa.string()))
    alone = [text_to_floats(pa.array([cell], pa.string()))[0] for cell in cells]
    slowly = text_to_floats(pa.array([*cells, "not a number"], pa.string()))[:-1]
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(together, slowly)


@given(value=st.floats())
def test_text_is_correctly_rounded(value):
    found = text_to_floats(pa.array([repr(value), f" {value!r}\t"]))
    np.testing.assert_array_equal(found, [value, value])


@pytest.mark.parametrize(
    "text", ["1_000", "1,5", "0x1p3", "\u0661", "nan", "", " ", "e5", "--1", "1e", "."]
)
def test_text_that_is_not_a_number(text):
    assert np.isnan(text_to_floats(pa.array([text]))).all()


@pytest.mark.parametrize("text", ["9" * 100_000, "9" * 100_000 + "x", "1e999999999"])
def test_long_text_takes_no_long_time(text):
    assert text_to_floats(pa.array([text, "x"])).size == 2


def test_iterators_of_cells():
    assert cells_to_floats(iter([1, None])).size == 2


@pytest.mark.parametrize("wide", [pa.large_string(), pa.large_binary()])
def test_text_of_a_dictionary_gets_wide_offsets_before_it_is_repeated(wide):
    """A text of 17 kB in each of 2**17 rows is more than offsets of 32 bits can tell."""
    narrow = pa.string() if wide == pa.large_string() else pa.binary()
    words = pa.array(["a", None, "bc"]).cast(narrow)
    found = decoded(pa.DictionaryArray.from_arrays(pa.array([2, 1, None, 2, 0]), words))
    assert found.equals(pa.array(["bc", None, None, "bc", "a"]).cast(wide))
    assert kept_cells(found.dictionary_encode(), "text").type == pa.large_binary()
