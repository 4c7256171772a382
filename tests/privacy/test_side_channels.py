"""Nothing leaves but noisy answers: no warning, log, field or type tells neighbors apart."""

import inspect
import json
import math
import pickle
import types
from dataclasses import replace
from decimal import Decimal
from importlib import import_module

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tametail as tt
from tametail import cli
from tametail.notes import Note

from .observing import numbers_in, observe

INF, NAN = math.inf, math.nan
UNITS = ["add-remove", "replace-one"]
BASE = [3.0, 4.0, 5.5] * 30

#: One record replaced by another, or, under add-remove, there or not.
HOSTILE = {
    "outlier": (1e308, -1e308),
    "infinity": (INF, 4.0),
    "NaN": (NAN, 4.0),
    "None": (None, -INF),
    "a word": ("secret 17", 4.0),
    "an object": ({"secret": 17}, 4.0),
    "a list": ([1, 2], NAN),
    "a huge integer": (10**400, 4),
    "a signalling NaN": (Decimal("sNaN"), Decimal("1e999999")),
    "a complex number": (1j, -0.0),
    "a subnormal": (5e-324, 4.0),
    "a truth": (True, "True"),
}
REQUESTS = [
    {"epsilon": 1},
    # With rho = 0.5 and add-remove, the noisy count decides between two methods.
    {"rho": 1, "tail": tt.Moment(2, 3.0)},
    {"epsilon": 1, "delta": 1e-6, "tail": tt.Bounded(0, 10), "confidence": None},
    {"epsilon": 1, "within": (0, INF), "target": "data", "missing": "none"},
    {"rho": 0.1, "tail": tt.Moment(2, 3.0)},  # too little for a look at the spread
]


def neighbors(name, adjacency, base=BASE):
    old, new = HOSTILE[name]
    return [*base, old], list(base) if adjacency == "add-remove" else [*base, new]


def assert_all_alike(calls, capfd):
    """Nothing is said at all, and outputs have one shape."""
    seen = [observe(call, capfd) for call in calls]
    assert seen[0].raised is None, seen[0].raised
    assert (seen[0].warned, seen[0].logged, seen[0].printed) == ((), (), ("", ""))
    for one in seen[1:]:
        assert one == seen[0]


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("settings", ["warn", "raise"])
def test_what_the_caller_tells_numpy_about_rounding_changes_nothing(settings, adjacency, capfd):
    """Under these settings an overflow or an underflow on the way would speak of the records."""
    spread = np.exp(30 * np.random.default_rng(5).normal(size=500))
    data = [spread, np.append(spread[1:], 1e308), np.append(spread[1:], 5e-324)]
    with np.errstate(all=settings):
        for request in (*REQUESTS, {"epsilon": 1000}):
            tables = [np.stack([x, x], axis=1) for x in data]
            calls = [
                lambda x=x, r=request: tt.mean(x, neighbors=adjacency, **r)
                for x in (*data, *tables)
            ]
            for seen in (observe(call, capfd) for call in calls):
                assert (seen.raised, seen.warned) == (None, ())


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("number", range(len(REQUESTS)))
def test_lists_look_alike(number, adjacency, capfd):
    request = REQUESTS[number]
    data = [neighbor for name in HOSTILE for neighbor in neighbors(name, adjacency)]
    if adjacency == "replace-one":
        assert len({len(records) for records in data}) == 1
    assert_all_alike([lambda x=x: tt.mean(x, neighbors=adjacency, **request) for x in data], capfd)


def _sources(tmp_path, name, adjacency):
    """The neighbors as arrays, frames and files that can hold them."""
    for side, records in enumerate(neighbors(name, adjacency)):
        words = ["" if cell is None else str(cell) for cell in records]
        text = tmp_path / f"{name}{side}.csv"
        pd.DataFrame({"id": range(len(words)), "x": words}).to_csv(text, index=False)
        yield "objects", np.array([*records, None], dtype=object)[:-1], None
        yield "pandas", pd.DataFrame({"x": pd.Series(records, dtype=object)}), "x"
        yield "csv", text, "x"
        numbers = [cell if isinstance(cell, float) else NAN for cell in records]
        yield "polars", pl.DataFrame({"x": numbers}), "x"
        file = tmp_path / f"{name}{side}.parquet"
        pq.write_table(pa.table({"x": numbers}), file)
        yield "parquet", file, "x"
        yield "arrow", pa.table({"x": numbers}), "x"


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("name", ["outlier", "NaN", "None", "a word", "a huge integer"])
def test_frames_and_files_look_alike(name, adjacency, tmp_path, capfd):
    for kind in ("objects", "pandas", "csv", "polars", "parquet", "arrow"):
        calls = [
            lambda data=data, column=column: tt.mean(data, column, epsilon=1, neighbors=adjacency)
            for each, data, column in _sources(tmp_path, name, adjacency)
            if each == kind
        ]
        assert_all_alike(calls, capfd)


@pytest.mark.parametrize("adjacency", UNITS)
def test_vector_means_look_alike(adjacency, capfd):
    calls = []
    for name in HOSTILE:
        for records in neighbors(name, adjacency, BASE[:30]):
            rows = [[cell, 1.0] for cell in records]
            # Without n the advice would follow from the noisy count, and so from an answer.
            calls.append(
                lambda rows=rows: tt.mean(_matrix(rows), rho=0.5, neighbors=adjacency, n=31)
            )
    assert_all_alike(calls, capfd)


def _matrix(rows):
    matrix = np.empty((len(rows), 2), dtype=object)
    for place, row in enumerate(rows):
        matrix[place, 0], matrix[place, 1] = row
    return matrix


@pytest.mark.parametrize("budget", [tt.pure(1), tt.zcdp(0.5), tt.approx(1, 1e-6)], ids=str)
def test_the_papers_functions_and_histograms_look_alike(budget, capfd):
    numbers = {"alpha": 0.5, "k": 2, "R": 100.0}
    data = [neighbor for name in HOSTILE for neighbor in neighbors(name, "replace-one")]
    assert_all_alike(
        [lambda x=x: tt.paper.range_estimate(x, budget, **numbers) for x in data], capfd
    )
    assert_all_alike(
        [lambda x=x: tt.paper.mean_1d(x, budget, beta=0.1, **numbers) for x in data], capfd
    )
    universe = None if isinstance(budget, type(tt.approx(1, 0.1))) else (-5, 5)
    names = {"counts"}  # which buckets stand out is the answer
    for x in data:
        seen = observe(lambda x=x: tt.mechanisms.histogram(x, budget, universe=universe), capfd)
        assert (seen.raised, seen.warned, seen.logged, seen.printed) == (None, (), (), ("", ""))
        assert names < set(seen.shape[1])


#: What noisy answers decide to be there, on the terminal and in JSON.
FROM_ANSWERS = ("interval", "clipping", "warning", "note")
JSON_FROM_ANSWERS = (
    "assumption_contradicted", "intervals", "interval_target", "notes", "error_components",
    "shared_notes", "share_used",
    "shape", "survival",
)  # fmt: skip


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("options", [(), ("--json",), ("--json", "--moment", "2:3")])
def test_the_command_line_looks_alike(options, adjacency, tmp_path, capfd):
    seen = set()
    for name in ("outlier", "infinity", "NaN", "a word", "a list", "a huge integer"):
        for kind, file, column in _sources(tmp_path, name, adjacency):
            if kind in ("csv", "parquet"):
                code = cli.main(
                    [
                        "mean",
                        str(file),
                        "--column",
                        column,
                        "--epsilon",
                        "1",
                        "--neighbors",
                        adjacency,
                        *options,
                    ]
                )
                out, err = capfd.readouterr()
                words = [line.split()[0] for line in out.splitlines()] if not options else []
                # How many intervals and notes there are is a noisy answer.
                lines = [word for word in dict.fromkeys(words) if word not in FROM_ANSWERS]
                shape = _json_shape(json.loads(out)) if options else ()
                seen.add((code, err, repr(lines), repr(shape)))
    if not options:  # that the records contradict what was assumed is a noisy answer
        assert {code for code, *_ in seen} == {0}
    assert len(seen) == 1
    assert next(iter(seen))[:2] == (0, "")


def _json_shape(record):
    """Infinite ends are words in JSON, and whether an end is infinite is a noisy answer.

    So are notes, doubts, and what intervals there are.
    """
    if isinstance(record, dict):
        kept = {key: value for key, value in record.items() if key not in JSON_FROM_ANSWERS}
        return {key: _json_shape(value) for key, value in kept.items()}
    if isinstance(record, list):
        return [_json_shape(value) for value in record]
    return "number" if isinstance(record, float) or record in ("inf", "-inf") else type(record)


@pytest.mark.parametrize("mistake", [{"epsilon": -1}, {"epsilon": 1, "neighbors": "person"}, {}])
def test_a_mistake_is_told_in_the_same_words_whatever_the_data(mistake, capfd):
    data = [neighbor for name in HOSTILE for neighbor in neighbors(name, "add-remove")]
    seen = [observe(lambda x=x: tt.mean(x, **mistake), capfd) for x in data]
    assert seen[0].raised.startswith("ParameterError")
    for one in seen[1:]:
        assert one == seen[0]


def secret_records():
    return np.random.default_rng(5).lognormal(7, 1, 4219)


def aggregates(records):
    """What must not leave: exact aggregates, and the records themselves."""
    made = [records.sum(), records.min(), records.max(), records.mean(), np.median(records)]
    return {float(number) for number in [*made, records.std(), records.var(), *records[:50]]}


@pytest.mark.parametrize("request_", [{"epsilon": 1}, {"rho": 0.5}, {"epsilon": 1e-4}], ids=str)
def test_a_release_holds_no_exact_aggregate(request_):
    records = secret_records()
    release = tt.mean(records, **request_)
    found = numbers_in(release) | numbers_in(release.plan)
    assert not found & aggregates(records)
    if request_["epsilon" if "epsilon" in request_ else "rho"] < 0.01:
        # The noisy count could be right by chance: with this budget, once in a million times.
        assert float(records.size) not in found


def test_a_vector_release_holds_no_exact_aggregate():
    records = secret_records()
    release = tt.mean(np.column_stack([records, records**2]), rho=1e-8)
    found = numbers_in(release) | numbers_in(release.plan)
    assert not found & (aggregates(records) | aggregates(records**2) | {float(records.size)})


def test_the_search_notices_an_aggregate():
    records = secret_records()
    release = tt.mean(records, epsilon=1)
    for planted in (
        replace(release, shared_notes=(Note("info", "x", f"{records.size} records"),)),
        replace(release, means=(replace(release[0], value=float(records.mean())),)),
        replace(release, answers=(*release.answers, float(records.max()))),
        replace(release, plan=replace(release.plan, n=records.size)),
    ):
        assert numbers_in(planted) & (aggregates(records) | {float(records.size)})


def test_under_replace_one_n_is_public_and_shown():
    release = tt.mean(secret_records(), epsilon=1, neighbors="replace-one")
    assert 4219.0 in numbers_in(release.plan)


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("name", HOSTILE)
def test_replay_gives_the_same_bits(name, adjacency):
    for request in REQUESTS:
        for records in neighbors(name, adjacency):
            release = tt.mean(records, neighbors=adjacency, **request)
            again = tt.replay(release.plan, release.answers)
            assert again == release
            assert pickle.dumps(again.to_json()) == pickle.dumps(
                replace(release, issued=None).to_json()
            )
            assert again.value.hex() == release.value.hex()
    vector = tt.mean(_matrix([[cell, 1.0] for cell in records]), rho=0.5, neighbors=adjacency)
    assert tt.replay(vector.plan, vector.answers) == vector


#: Modules that users call; what else there is serves these.
PUBLIC = (
    "",
    ".api",
    ".paper",
    ".mechanisms",
    ".theory",
    ".interop",
    ".cli",
    ".plots",
)
RANDOMNESS = {"seed", "rng", "random_state", "generator", "ask", "bits", "noise", "responder"}


def _callables():
    for name in PUBLIC:
        module = import_module(f"tametail{name}")
        names = getattr(module, "__all__", [inner for inner in vars(module) if inner[0] != "_"])
        for inner in names:
            thing = getattr(module, inner)
            if isinstance(thing, types.ModuleType):
                continue
            if not getattr(thing, "__module__", "").startswith(f"tametail{name}"):
                continue
            yield f"{module.__name__}.{inner}", thing
            if inspect.isclass(thing):
                for method, function in inspect.getmembers(thing, inspect.isroutine):
                    if not method.startswith("_"):
                        yield f"{module.__name__}.{inner}.{method}", function


def test_no_public_callable_takes_randomness_or_an_ask():
    takers, walked = set(), set()
    for name, thing in _callables():
        walked.add(name)
        try:
            parameters = set(inspect.signature(thing).parameters)
        except (TypeError, ValueError):  # what Python itself provides
            continue
        if parameters & RANDOMNESS:
            takers.add(name)
    assert {
        "tametail.api.mean",
        "tametail.paper.mean_1d",
    } <= walked
    # The samplers of laws are simulations: they draw no record and no noise of a release.
    assert all(name.startswith("tametail.theory") for name in takers), takers
