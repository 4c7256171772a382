"""The same records give the same integers in every kind of data in memory."""

from __future__ import annotations

import array
import math
import subprocess
import sys
from collections import deque
from contextlib import suppress
from decimal import Decimal

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tametail as tt
from tametail.data.sources.frames import is_frame
from tametail.data.sql.kinds import is_database
from tametail.errors import ColumnError, DataError, ParameterError
from tametail.queries.column import Count

from ..opened import open_table  # noqa: TID252


def _nan(records):
    return [math.nan if x is None else x for x in records]


def _masked(values):
    missing = np.isnan(values)
    return np.ma.masked_array(np.where(missing, 7.0, values), mask=missing)


#: Ways to hold floats with None and NaN: each gives the data and the column.
HOLDERS = {
    "list": lambda x: (x, None),
    "tuple": lambda x: (tuple(x), None),
    "deque": lambda x: (deque(x), None),
    "generator": lambda x: ((y for y in x), None),
    "array.array": lambda x: (array.array("d", _nan(x)), None),
    "numpy": lambda x: (np.array(_nan(x)), None),
    "numpy column": lambda x: (np.array(_nan(x))[:, np.newaxis], None),
    "numpy strided": lambda x: (np.repeat(_nan(x), 3)[::3], None),
    "numpy object": lambda x: (np.array(x, dtype=object), None),
    "numpy long double": lambda x: (np.array(_nan(x), dtype=np.longdouble), None),
    "numpy big-endian": lambda x: (np.array(_nan(x), dtype=">f8"), None),
    "masked": lambda x: (_masked(_nan(x)), None),
    "arrow array": lambda x: (pa.array(x), None),
    "arrow chunked": lambda x: (pa.chunked_array([x[:3], [], x[3:]], type=pa.float64()), None),
    "arrow table": lambda x: (pa.table({"v": x, "w": x[::-1]}), "v"),
    "pandas": lambda x: (pd.DataFrame({"v": x, "w": x[::-1]}), "v"),
    "pandas alone": lambda x: (pd.DataFrame({"v": x}), None),
    "pandas series": lambda x: (pd.Series(x), None),
    "pandas index": lambda x: (pd.Index(_nan(x)), None),
    "pandas object": lambda x: (pd.DataFrame({"v": pd.Series(x, dtype=object)}), "v"),
    "pandas nullable": lambda x: (pd.DataFrame({"v": pd.array(x, dtype="Float64")}), "v"),
    "pandas arrow": lambda x: (pd.DataFrame({"v": pd.array(x, dtype="float64[pyarrow]")}), "v"),
    "pandas category": lambda x: (pd.DataFrame({"v": pd.Categorical(_nan(x))}), "v"),
    "pandas integer names": lambda x: (pd.DataFrame({0: x, 1: x[::-1]}), 0),
    "polars": lambda x: (pl.DataFrame({"v": x, "w": x[::-1]}, strict=False), "v"),
    "polars series": lambda x: (pl.Series(x, strict=False), None),
    "polars lazy": lambda x: (pl.LazyFrame({"v": x, "w": x[::-1]}, strict=False), "v"),
    "narwhals": lambda x: (nw.from_native(pl.DataFrame({"v": x}, strict=False)), "v"),
    "duckdb": lambda x: (duckdb.from_arrow(pa.table({"v": x, "w": x[::-1]})), "v"),
}

INTEGERS = [2**53 + 1, 2**53 + 3, -(2**63), 2**63 - 1, 0, 5, -2, 63, 64]
INTEGER_HOLDERS = {
    "numpy": lambda x: (np.array(x), None),
    "pandas": lambda x: (pd.DataFrame({"v": x}), "v"),
    "pandas nullable": lambda x: (pd.DataFrame({"v": pd.array(x, dtype="Int64")}), "v"),
    "polars": lambda x: (pl.DataFrame({"v": x}), "v"),
    "arrow": lambda x: (pa.table({"v": x}), "v"),
    "duckdb": lambda x: (duckdb.from_arrow(pa.table({"v": x})), "v"),
    "decimals": lambda x: ([Decimal(y) for y in x], None),
    "arrow decimals": lambda x: (pa.array(map(Decimal, x), pa.decimal128(38, 2)), None),
    "polars decimals": lambda x: (pl.Series(map(Decimal, x), dtype=pl.Decimal(38, 2)), None),
    "duckdb decimals": lambda x: (
        duckdb.from_arrow(pa.table({"v": x})).project("v::decimal(38, 2) as v"),
        "v",
    ),
    "huge integers": lambda x: (
        duckdb.from_arrow(pa.table({"v": x})).project("v::hugeint as v"),
        "v",
    ),
}

SINGLES = [0.1, -0.0, 1e-45, 3.4e38, math.inf, -math.inf, math.nan, 5.0, 2.0**-126]
SINGLE_HOLDERS = {
    "numpy": lambda x: (x, None),
    "pandas": lambda x: (pd.DataFrame({"v": x}), "v"),
    "polars": lambda x: (pl.DataFrame({"v": x}), "v"),
    "arrow": lambda x: (pa.table({"v": x}), "v"),
    "duckdb": lambda x: (duckdb.from_arrow(pa.table({"v": x})), "v"),
}


@pytest.mark.parametrize("holder", HOLDERS.values(), ids=HOLDERS)
def test_floats(holder, queries, records, reference, comparable):
    for query in queries:
        data, column = holder(records)
        engine = open_table(data, column)
        assert engine.size == len(records)
        assert comparable(engine.answer(query)) == reference(query, records), query
        if not is_database(data):  # rows of a database have no positions
            part = engine.rows(2, 20).answer(query)
            assert comparable(part) == reference(query, records[2:20]), query


@pytest.mark.parametrize("holder", INTEGER_HOLDERS.values(), ids=INTEGER_HOLDERS)
def test_integers_beyond_the_doubles(holder, queries, reference, comparable):
    for query in queries:
        answer = open_table(*holder(INTEGERS)).answer(query)
        assert comparable(answer) == reference(query, list(map(float, INTEGERS))), query


@pytest.mark.parametrize("holder", SINGLE_HOLDERS.values(), ids=SINGLE_HOLDERS)
def test_single_precision(holder, queries, reference, comparable):
    singles = np.array(SINGLES, dtype=np.float32)
    for query in queries:
        answer = open_table(*holder(singles)).answer(query)
        assert comparable(answer) == reference(query, singles.astype(float).tolist()), query


def test_the_input_is_not_modified(query, records):
    column = np.array(_nan(records))
    before = column.copy()
    frame = pd.DataFrame({"v": column.copy()})
    open_table(column).answer(query)
    open_table(frame, "v").answer(query)
    np.testing.assert_array_equal(column.view(np.int64), before.view(np.int64))
    np.testing.assert_array_equal(frame["v"].to_numpy(), before)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
class TestColumns:
    def test_a_close_name_is_proposed(self, frame):
        with pytest.raises(ColumnError, match=r"No column 'amout'\. Did you mean 'amount'"):
            open_table(frame({"amount": [1.0], "day": [2.0]}), "amout")

    def test_no_close_name(self, frame):
        with pytest.raises(ColumnError, match=r"No column 'zzz'. Columns: amount, day"):
            open_table(frame({"amount": [1.0], "day": [2.0]}), "zzz")

    def test_no_name(self, frame):
        with pytest.raises(ColumnError, match="column="):
            open_table(frame({"amount": [1.0], "day": [2.0]}), None)

    def test_a_type_that_is_not_numeric(self, frame):
        # pandas 2 does not declare what holds text unless it is told to.
        names = pd.array(["SECRET"], dtype="string") if frame is pd.DataFrame else ["SECRET"]
        with pytest.raises(ColumnError, match="numeric"):
            open_table(frame({"name": names}), "name")

    def test_no_rows(self, frame):
        empty = frame({"v": np.empty(0)})
        assert open_table(empty, "v").answer(Count())[0] == 0


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]),
        pa.table([[1.0], [2.0]], names=["a", "a"]),
        pd.DataFrame({"a": pd.arrays.SparseArray([1.0])}),
        pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}),
        pl.DataFrame({"a": [1]}, schema={"a": pl.Int128}),
        pl.DataFrame({"a": [[1.0]]}),
    ],
)
def test_frames_that_are_refused(data):
    with pytest.raises(ColumnError):
        open_table(data, "a")


@pytest.mark.parametrize("strings", [["SECRET"], ["SECRET", 1.0], [None]])
def test_an_object_column_never_fails(strings):
    # pandas does not declare what an object column holds, so its cells must not decide.
    frame = pd.DataFrame({"v": pd.Series(strings, dtype=object)})
    assert open_table(frame, "v").answer(Count())[0] == strings.count(1.0)


@pytest.mark.parametrize(
    "lazy",
    [
        lambda: pl.LazyFrame({"v": ["SECRET"]}).select(pl.col("v").cast(pl.Float64)),
        lambda: duckdb.sql("select cast(x as double) as v from (values ('SECRET')) t(x)"),
    ],
)
def test_a_lazy_frame_that_fails_quotes_nothing(lazy):
    # Names and types are schema; records are computed when the first question is asked.
    engine = open_table(lazy(), "v")
    with pytest.raises(DataError, match="cannot be computed") as caught:
        engine.answer(Count())
    assert caught.value.__context__ is None
    assert "SECRET" not in str(caught.value)
    if hasattr(engine, "close"):
        engine.close()
        with suppress(duckdb.TransactionException):  # only DuckDB's own frame begins one
            duckdb.rollback()


@pytest.mark.parametrize(
    "data", [None, 3, 2.5, np.float64(1), True, {1.0}, frozenset(), b"12", object()]
)
def test_what_is_no_data(data):
    with pytest.raises(ParameterError, match="Pass a list or an array"):
        open_table(data)


@pytest.mark.parametrize("data", [np.ones(2), pd.Series([1.0]), pa.array([1.0])])
def test_columns_belong_to_frames_and_files(data):
    with pytest.raises(ParameterError, match="is not available for data of type"):
        open_table(data, "v")


def test_what_a_frame_is():
    assert is_frame(pd.DataFrame())
    assert not is_frame([1.0])
    assert not is_frame(np.ones(3))


def test_nothing_is_imported_that_the_user_does_not_have():
    code = (
        "import sys, tametail.data.open as opening\n"
        "heavy = {'pandas', 'polars', 'duckdb', 'pyspark', 'matplotlib'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "import polars\n"
        "assert opening.open_data(polars.DataFrame({'v': [1.0]}), 'v').size == 1\n"
        "assert not {'pandas', 'duckdb', 'pyspark'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("cells", [[1, 3, None], [1, "a", None]])
def test_categories_of_any_type_are_refused_whatever_they_hold(cells):
    series = pd.Series(cells, dtype=object).astype("category")
    series = series.cat.set_categories(pd.Index(series.cat.categories, dtype=object))
    with pytest.raises(ColumnError, match=r"categories of mixed types\. Convert it to float64"):
        open_table(series)


def test_columns_that_pandas_numbers_can_be_chosen():
    frame = pd.DataFrame(np.tile([[1.0, 20.0], [3.0, 40.0]], (5_000, 1)))
    for column in (1, "1"):
        assert abs(float(tt.mean(frame, column, epsilon=10)) - 30.0) < 1.0
    release = tt.mean(frame, [np.int64(0), "1"], epsilon=10)
    assert release.columns == ("0", "1")
    assert np.abs(release.value - [2.0, 30.0]).max() < 1.0
    with pytest.raises(ColumnError, match=r"No column '7'. Columns: 0, 1"):
        tt.mean(frame, 7, epsilon=1)
    with pytest.raises(ParameterError, match="names a column twice"):
        tt.mean(frame, [0, "0"], epsilon=1)
    frame.columns = [1, "1"]
    for column in (1, "1", [1]):
        with pytest.raises(ColumnError, match="Several columns are called '1'"):
            tt.mean(frame, column, epsilon=1)
