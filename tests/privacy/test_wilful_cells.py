"""Cells that end the program, raise or lie when they are touched, in every place of a record.

A cell is data. Whatever code its class brings, a release is made and nothing of that code runs:
not in the column itself, nor in those of persons, of groups and of a condition.
"""

import datetime
import traceback
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tametail as tt
from tametail.queries.column import Count

from ..opened import open_table  # noqa: TID252


def stop(*arguments, **named):
    """Stand for any code of a cell's own."""
    raise SystemExit("zebrafish")


def wilful(base, *names):
    """Return a class whose methods of these names stop the program."""
    return type("Wilful", (base,), dict.fromkeys(names, stop))


COMPARED = ("__eq__", "__ne__", "__lt__", "__gt__", "__le__", "__ge__", "__hash__")
NUMBER = ("__float__", "__int__", "__index__", "__abs__", "__bool__", "is_integer", "__format__")
SPOKEN = ("__str__", "__repr__", "__format__", "__len__", "__iter__", "encode")


class Zone(datetime.tzinfo):
    """A time zone that nobody may ask."""

    utcoffset = dst = tzname = stop


class Masked:
    """An object that gives no guarantee for itself, not even its class."""

    __class__ = property(stop)
    __getattribute__ = stop


#: Lengths of time without a unit, which NumPy no longer likes to make.
GENERIC = [] if np.__version__ >= "2.5" else [np.timedelta64(1), np.timedelta64("NaT")]

CELLS = [
    wilful(object, *COMPARED, *NUMBER, *SPOKEN, "__array__", "__getitem__")(),
    wilful(int, *COMPARED, *NUMBER)(3),
    wilful(float, *COMPARED, *NUMBER)(3.5),
    wilful(str, *COMPARED, *SPOKEN)("a"),
    wilful(bytes, *COMPARED, *SPOKEN)(b"a"),
    wilful(Decimal, *COMPARED, *NUMBER, *SPOKEN)("3"),
    wilful(Fraction, *COMPARED, *NUMBER, *SPOKEN)(1, 3),
    wilful(np.float32, *COMPARED, *NUMBER)(3),
    wilful(datetime.datetime, *COMPARED, *SPOKEN, "isoformat", "utcoffset")(2025, 1, 1),
    wilful(datetime.date, *COMPARED, *SPOKEN, "isoformat")(2025, 1, 1),
    datetime.datetime(2025, 1, 1, tzinfo=Zone()),
    Masked(),
    "\ud800", "a\0b", 10**5000, -(10**5000), Decimal("sNaN"), Decimal("1e999999"), 1j, pd.NA,
    pd.NaT, np.datetime64("NaT"), np.timedelta64(1, "s"), np.timedelta64(5, "D"),
    np.timedelta64("NaT", "s"),
    *GENERIC, np.array([1.0, 2.0]), [1, [2]], {}, {1}, None, object, np.longdouble(1),
    np.void(b"1"),
]  # fmt: skip

ROWS = 80


def survive(call, *arguments, **named):
    """Call; a failure shows the line that touched a cell, and no cell: these cannot be printed."""
    try:
        return call(*arguments, **named)
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [f"{frame.filename}:{frame.lineno} {frame.line}" for frame in frames[1:]]
        failure = f"{type(error).__name__} in\n" + "\n".join(lines)
    pytest.fail(failure, pytrace=False)


def objects(cells):
    """Return an array of these very objects."""
    array = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        array[place] = cell
    return array


def frames(planted):
    """Yield frames with all of these cells in one column."""
    columns = {
        "x": [float(i % 7) for i in range(ROWS)],
        "who": [f"p{i % 20}" for i in range(ROWS)],
        "state": ["ab"[i % 2] for i in range(ROWS)],
        "age": [i % 3 for i in range(ROWS)],
    }
    columns[planted][: len(CELLS)] = CELLS
    plain = {name: cells for name, cells in columns.items() if name != planted}
    series = pd.Series(objects(columns[planted]), dtype=object)
    yield "pandas", pd.DataFrame({**plain, planted: series})
    yield (
        "polars",
        pl.DataFrame({**plain, planted: pl.Series(planted, columns[planted], dtype=pl.Object)}),
    )


CALLS = {
    "plain": {},
    "several": {"column": ["x", "age"], "epsilon": None, "rho": 1},
    "computed": {"column": "x / age"},
    "where": {"where": "state == 'a' and age >= 1 and x > 0"},
    "where not": {"where": "not (who in ('p1', 'p2')) or state is missing"},
    "persons": {"person": "who"},
    "persons of two columns": {"person": ["who", "state"], "each": "person"},
    "groups": {"by": "state", "keys": ["a", "b"], "other": "rest"},
    "groups of two columns": {"by": ["state", "age"], "keys": [("a", 0), ("b", 1)]},
    "groups that are private": {"by": "state", "delta": 1e-3},
    "persons in groups": {"by": "state", "keys": ["a", "b"], "person": "who"},
    "persons in private groups": {"by": ["state", "age"], "delta": 1e-3, "person": "who"},
}


@pytest.mark.parametrize("planted", ["x", "who", "state", "age"])
@pytest.mark.parametrize("call", CALLS)
def test_no_cell_of_a_frame_runs_or_raises(call, planted):
    request = {"column": "x", "epsilon": 1} | CALLS[call]
    for _, frame in frames(planted):
        release = survive(tt.mean, frame, **request)
        assert tt.replay(release.plan, release.answers) == release


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_no_cell_of_a_list_or_a_matrix_runs_or_raises(adjacency):
    survive(tt.mean, [1.0, *CELLS], epsilon=1, neighbors=adjacency)
    survive(tt.mean, objects(CELLS), epsilon=1, neighbors=adjacency)
    survive(tt.mean, np.column_stack([objects(CELLS)] * 2), rho=1, neighbors=adjacency)
    survive(
        tt.mean, [[1.0, 2.0], *([cell, 1.0] for cell in CELLS), *CELLS], rho=1, neighbors=adjacency
    )


def test_no_cell_stops_the_papers_functions_or_a_histogram():
    setting = {"alpha": 0.5, "k": 2, "R": 100.0}
    survive(tt.paper.range_estimate, [1.0, *CELLS], tt.pure(1), **setting)
    survive(tt.paper.mean_1d, [1.0, *CELLS], tt.pure(1), beta=0.1, **setting)
    survive(tt.paper.related.karwa_vadhan, [1.0, *CELLS], tt.pure(1), R=100.0, deviation=1.0)
    survive(tt.paper.related.coinpress, [1.0, *CELLS], tt.zcdp(1), R=100.0, deviation=1.0)
    rows = [[1.0, 2.0], *([cell, 1.0] for cell in CELLS), *CELLS]
    survive(tt.paper.mean_ball, rows, tt.zcdp(1), **setting)
    survive(tt.paper.mean_tournament, rows, tt.pure(1), beta=0.1, **setting)
    survive(tt.mechanisms.histogram, [1, *CELLS], tt.pure(1), universe=(0, 5))
    survive(tt.mechanisms.histogram, objects(CELLS), tt.approx(1, 1e-6))


def test_what_a_class_keeps_of_a_number_counts():
    """So that nothing runs and yet nothing is lost."""
    count, _, _ = survive(open_table(objects(CELLS)).answer, Count())
    assert count == 9  # 3, 3.5, 3, 1/3, 3, infinity thrice, and 1
