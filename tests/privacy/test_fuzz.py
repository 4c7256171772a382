"""Any data give a release, any wrong parameter a typed error, and the guarantee is what was paid.

``tests/test_bad_input.py`` tries lists under all requests; here data come through every engine,
parameters are right and wrong, and what is stated is compared with what was asked for.
"""

import datetime
import math
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tametail as tt
from tametail.ask import Ask, Data
from tametail.errors import TametailError
from tametail.privacy.budget import Approx, Pure, Zcdp, compose, fits
from tametail.run import run

from ..opened import open_table  # noqa: TID252

INF = math.inf
quick = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
UNITS = ["add-remove", "replace-one"]

junk = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=5),
        st.binary(max_size=5),
        st.decimals(),
        st.fractions(),
        st.complex_numbers(),
        st.datetimes(),
        st.timedeltas(),
        st.sampled_from(
            [10**400, -(10**400), 5e-324, -0.0, object(), len, np.float32("nan"), np.nan]
        ),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)
cells = st.lists(junk, max_size=25)
floats = st.lists(st.floats(), max_size=40)

budgets = st.one_of(
    st.floats(1e-3, 1e3).map(tt.pure),
    st.floats(1e-6, 1e3).map(tt.zcdp),
    st.builds(tt.approx, st.floats(1e-3, 1e3), st.floats(1e-12, 0.1)),
)
requests = st.fixed_dictionaries(
    {"budget": budgets},
    optional={
        "neighbors": st.sampled_from(UNITS),
        "missing": st.sampled_from(["skip", "none"]),
        "n": st.none() | st.integers(0, 10**6),
        "confidence": st.none() | st.floats(0.05, 0.999),
        "target": st.sampled_from(["population", "data"]),
        "tail": st.none()
        | st.builds(tt.Moment, st.floats(1.1, 20), st.floats(1e-20, 1e20))
        | st.just(tt.Bounded(-3, 1e6)),
        "within": st.none() | st.floats(0.1, 1e9) | st.just((-2.0, INF)),
    },
)


@contextmanager
def may_refuse(*exit_codes):
    """Let typed errors of these kinds pass, and nothing else."""
    try:
        yield
    except TametailError as error:
        if error.exit_code not in exit_codes:
            raise


def check(release):
    assert np.isfinite(release.value).all()  # a list of rows has several
    assert tt.replay(release.plan, release.answers) == release


@quick
@given(cells, requests)
def test_lists_and_object_arrays_of_anything(records, request):
    held = np.empty(len(records), dtype=object)
    for place, cell in enumerate(records):
        held[place] = cell
    for data in (records, tuple(records), held, pd.Series(held, dtype=object)):
        check(tt.mean(data, **request))
    check(tt.mean(pd.DataFrame({"x": pd.Series(held, dtype=object)}), "x", **request))


TYPES = ["float64", "float32", "float16", "int8", "uint64", "int64", "bool", "longdouble"]


@quick
@given(floats, st.sampled_from(TYPES), requests)
def test_arrays_of_every_number_type(records, kind, request):
    with np.errstate(all="ignore"):
        check(tt.mean(np.nan_to_num(np.array(records)).astype(kind), **request))
        check(tt.mean(np.ma.masked_invalid(records), **request))


@quick
@given(floats, requests)
def test_frames_and_parquet_files(tmp_path, records, request):
    pq.write_table(pa.table({"x": records}), tmp_path / "x.parquet", row_group_size=7)
    frame = pl.DataFrame({"x": records}, schema={"x": pl.Float64})
    sources = [frame, frame.lazy(), pa.table({"x": pa.array(records, pa.float64())})]
    for data in (*sources, tmp_path / "x.parquet", str(tmp_path / "x.parquet")):
        check(tt.mean(data, "x", **request))


@quick
@given(floats, requests)
def test_duckdb_relations(records, request):
    duckdb = pytest.importorskip("duckdb")
    table = pa.table({"x": pa.array(records, pa.float64())})
    check(tt.mean(duckdb.from_arrow(table), "x", **request))


@quick
@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=200)
    | st.lists(st.sampled_from(['"', ",", "\n", "1", "2.5", "nan", "-", "x", " "])).map("".join),
    requests,
)
def test_csv_files_of_any_text(tmp_path, text, request):
    file = tmp_path / "x.csv"
    file.write_bytes(b"x,y\n1,2\n" + text.encode())
    check(tt.mean(file, "x", **request))


@quick
@given(st.binary(max_size=200), requests)
def test_csv_files_of_any_bytes(tmp_path, body, request):
    file = tmp_path / "x.csv"
    file.write_bytes(b"x,y\n1,2\n" + body)
    with may_refuse(4):  # not text: unreadable, which is public
        check(tt.mean(file, "x", **request))


@quick
@given(st.lists(st.lists(junk, min_size=2, max_size=2), max_size=15), requests)
def test_vector_means_of_anything(rows, request):
    matrix = np.empty((len(rows), 2), dtype=object)
    for place, (left, right) in enumerate(rows):
        matrix[place, 0], matrix[place, 1] = left, right
    release = tt.mean(matrix, **request)
    assert np.isfinite(release.value).all()
    assert tt.replay(release.plan, release.answers) == release


wrong = st.one_of(
    st.sampled_from([0, -1, math.nan, INF, -INF, "1", "x", "", b"", [], {}, (), object(), True]),
    st.sampled_from([1j, (1, 2, 3), (2, 1), 10**400, Decimal("NaN"), Fraction(-1, 3), print]),
    st.just(datetime.date(2020, 1, 1)),
    junk,
)
NAMES = [
    "epsilon", "delta", "rho", "budget", "tail", "within", "neighbors", "missing", "n",
    "confidence", "target", "plan",
]  # fmt: skip


@settings(max_examples=150)
@given(st.sampled_from(NAMES), wrong, st.booleans())
def test_a_parameter_of_any_kind_is_taken_or_refused_with_a_typed_error(name, value, planned):
    request = {"epsilon": 1.0} | {name: value}
    if name in ("rho", "budget"):
        del request["epsilon"]
    with may_refuse(2, 3):
        if planned and name != "plan":
            tt.plan(**{"n": 100} | request)
        else:
            check(tt.mean([1.0, 2.0], **request))


@settings(max_examples=60)
@given(st.sampled_from(["k", "scale", "low", "high"]), wrong)
def test_tails_are_taken_or_refused_with_a_typed_error(name, value):
    kind, good = (tt.Moment, {"k": 2, "scale": 1.0})
    if name in ("low", "high"):
        kind, good = tt.Bounded, {"low": 0.0, "high": 1.0}
    with may_refuse(2):
        check(tt.mean([1.0, 2.0], epsilon=1, tail=kind(**good | {name: value})))


@settings(max_examples=80)
@given(st.sampled_from(["budget", "alpha", "beta", "k", "R", "scale", "constants"]), wrong)
def test_the_papers_parameters_are_taken_or_refused_with_a_typed_error(name, value):
    request = {"budget": tt.pure(1.0), "alpha": 0.5, "beta": 0.1, "k": 2, "R": 10.0} | {name: value}
    with may_refuse(2):
        assert math.isfinite(tt.paper.mean_1d([1.0, 2.0] * 9, **request))


@settings(max_examples=60)
@given(wrong)
def test_data_and_columns_are_taken_or_refused_with_a_typed_error(value):
    for call in (
        lambda: tt.mean(value, epsilon=1),
        lambda: tt.mean(pd.DataFrame({"x": [1.0]}), value, epsilon=1),
        lambda: tt.replay(value, ()),
    ):
        with may_refuse(2, 4):
            call()


def number(budget):
    return budget.values()[0]


@settings(max_examples=60)
@given(floats, requests)
def test_the_guarantee_is_at_least_what_was_paid_and_at_most_what_was_asked_for(records, request):
    plan = tt.plan(**{"n": 50} | request)
    costs = []

    class Paying(Data):
        def prepare(self, query, cost, adjacency):
            costs.append(cost)
            return super().prepare(query, cost, adjacency)

    engine = open_table(records)
    if plan.adjacency == "replace-one":
        plan = plan.with_size(engine.size)
    ask = Ask(Paying(engine), plan.budget, plan.adjacency)
    guarantee = run(plan, ask).guarantee
    if isinstance(plan.budget, Zcdp):
        stated, paid = Zcdp(guarantee.rho), compose(costs, Zcdp)
    else:
        stated, paid = Pure(guarantee.epsilon), compose(costs, Pure)
        assert guarantee.delta <= (plan.budget.delta if isinstance(plan.budget, Approx) else 0)
    assert fits(paid, stated)
    assert fits(stated, plan.budget)
    assert number(stated) >= 0.99 * number(plan.budget)
    assert ask.spent == paid
