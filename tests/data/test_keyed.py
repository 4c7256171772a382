"""Groups: which key a row has, and the answers for each key, in every kind of table."""

import json
import random
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tametail as tt
from tametail.data.kernels import together
from tametail.data.kernels.passes import Passes
from tametail.data.kernels.together import answer_each
from tametail.data.keys import TEXT, WHOLE, KeyNumbers
from tametail.errors import ColumnError, ParameterError
from tametail.keys import Key, in_order, parse_keys
from tametail.privacy.adjacency import Adjacency
from tametail.queries.column import ClippedSum, ClippingGrid, Count
from tametail.queries.groups import Cells, KeyCounts, Keyed, ScaledSquares, ScaledSums
from tametail.queries.persons import GroupResiduals, GroupRows

from ..opened import open_groups  # noqa: TID252

EXACT = json.loads(Path(__file__).with_name("keyed.json").read_text(encoding="utf-8"))
KINDS = (
    "pandas", "categories", "polars", "lazy", "arrow", "dictionary", "csv", "parquet",
)  # fmt: skip


def table(kind, folder, columns=None):
    columns = columns or {name: EXACT[name] for name in ("x", "state", "year", "who")}
    types = {"x": pa.float64(), "state": pa.string(), "year": pa.int64(), "who": pa.string()}
    arrow = pa.table({name: pa.array(cells, types[name]) for name, cells in columns.items()})
    if kind in ("pandas", "categories"):
        frame = pd.DataFrame(
            {name: pd.Series(cells, dtype=object) for name, cells in columns.items()}
        )
        frame["x"] = frame["x"].astype(float)
        return frame.astype({"state": "category"}) if kind == "categories" else frame
    if kind in ("polars", "lazy"):
        frame = pl.from_arrow(arrow)
        return frame.lazy() if kind == "lazy" else frame
    if kind == "dictionary":
        return arrow.set_column(1, "state", arrow["state"].dictionary_encode())
    if kind == "arrow":
        return arrow
    path = folder / f"rows.{kind}"
    if kind == "csv":
        pd.DataFrame(columns).astype({"year": "Int64"}).to_csv(path, index=False)
    else:
        import pyarrow.parquet

        pyarrow.parquet.write_table(arrow, path, row_group_size=3)
    return path


def query_of(record, groups):
    if record["class"] == "Count":
        return Count()
    if record["class"] == "Cells":
        return Cells(tuple(record["cuts"]))
    return Keyed(tuple(query_of(record["parts"][0], 1) for _ in range(groups)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", EXACT["cases"], ids=lambda case: "-".join(case["by"]))
def test_every_table_gives_the_exact_answers(kind, case, tmp_path):
    def typed(cells):  # a CSV file holds text
        return tuple(str(cell) if kind == "csv" else cell for cell in cells)

    keys = parse_keys([typed(cells) for cells in case["keys"]], len(case["by"]))
    grouped = open_groups(table(kind, tmp_path), "x", case["by"], keys)
    engine = grouped.grouped(keys, other=True)
    for record in case["queries"]:
        if record["class"] == "KeyCounts":
            expected = {Key(typed(cells)): count for cells, count in record["answer"]}
            assert grouped.answer(KeyCounts()) == expected
        else:
            answer = engine.answer(query_of(record, len(keys) + 1))
            plain = [list(each) if isinstance(each, tuple) else each for each in answer]
            assert plain == record["answer"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("record", EXACT["persons"]["queries"], ids=lambda record: record["class"])
def test_every_table_gives_the_exact_answers_about_persons(kind, record, tmp_path):
    case = EXACT["persons"]
    keys = parse_keys([tuple(cells) for cells in case["keys"]], 1)
    grouped = open_groups(table(kind, tmp_path), "x", case["by"], keys, person="who")
    vector = GroupRows() if "rows" in record["vector"] else GroupResiduals(**record["vector"])
    query = ScaledSums(vector, record["order"], record["exponent"], record["limit"], len(keys) + 1)
    if record["class"] == "ScaledSquares":
        query = ScaledSquares(query)
    assert list(grouped.grouped(keys, other=True).answer(query)) == record["answer"]


CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.sampled_from(["", "a", "A", "é", "e\u0301", "1"]),
)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_no_border_of_a_block_shows(rows, tmp_path, monkeypatch):
    monkeypatch.setattr("tametail.data.sources.CONVERTED", 1)  # a row is a block
    monkeypatch.setattr("tametail.data.coded._ROWS", rows)  # so many are kept together
    for case in EXACT["cases"]:
        test_every_table_gives_the_exact_answers("arrow", case, tmp_path)
    for record in EXACT["persons"]["queries"]:
        test_every_table_gives_the_exact_answers_about_persons("pandas", record, tmp_path)


@given(st.lists(st.tuples(st.floats(), CELLS, CELLS), max_size=30), st.data())
def test_one_record_moves_the_answers_of_one_key(rows, data):
    """A worse neighbor is looked for: any row goes, and only its own key may notice."""
    keys = [Key((a, b)) for a in ("a", 1, True) for b in ("é", "e\u0301", "1", 1)]
    query = Keyed((ClippedSum(ClippingGrid(0, -8, 0, 8), 2),) * (len(keys) + 1))
    bound = query.sensitivities(Adjacency.ADD_REMOVE)[0].l1

    def answers(rows):
        values = np.array([row[0] for row in rows], dtype=float)
        columns = {"ab"[place]: pd.Series([row[place + 1] for row in rows], dtype=object)
                   for place in (0, 1)}  # fmt: skip
        groups = open_groups(pd.DataFrame({"x": values} | columns), "x", ["a", "b"], keys)
        return groups.grouped(keys, other=True).answer(query)

    if not rows:
        return
    gone = data.draw(st.integers(0, len(rows) - 1))
    before, after = answers(rows), answers(rows[:gone] + rows[gone + 1 :])
    moved = [
        sum(abs(x - y) for x, y in zip(one, other, strict=True))
        for one, other in zip(before, after, strict=True)
    ]
    assert sum(size > 0 for size in moved) <= 1
    assert sum(moved) <= bound


def test_the_order_of_rows_and_batches_does_not_show():
    rows = [(float(i % 7), "abcé"[i % 4]) for i in range(500)]
    keys = parse_keys(["é", "b", "a"], 1)
    found = []
    for seed in (None, 1, 2):
        if seed is not None:
            random.Random(seed).shuffle(rows)
        x, key = (
            pa.chunked_array([part[:123], part[123:]])
            for part in map(list, zip(*rows, strict=True))
        )
        engine = open_groups(pa.table({"x": x, "key": key}), "x", ["key"]).grouped(keys, other=True)
        found.append(engine.answer(Keyed((Cells((1.0, 3.0)),) * 4)))
    assert found[0] == found[1] == found[2]


def test_numbers_beyond_doubles_are_different_keys(tmp_path):
    big = 2**53
    data = table("arrow", tmp_path, {"x": [1.0, 2.0, 3.0], "year": [big, big + 1, big]})
    keys = parse_keys([big, big + 1, 2**70], 1)
    assert open_groups(data, "x", ["year"]).grouped(keys, other=False).answer(
        Keyed((Count(),) * 3)
    ) == [(2, 0, 0), (1, 0, 0), (0, 0, 0)]


def test_columns_of_a_key_are_not_joined(tmp_path):
    """A joined text would make one key of ('a,b', 'c') and ('a', 'b,c')."""
    data = pa.table({"x": [1.0, 2.0], "a": ["a,b", "a"], "b": ["c", "b,c"]})
    found = open_groups(data, "x", ["a", "b"]).answer(KeyCounts())
    assert found == {Key(("a,b", "c")): 1, Key(("a", "b,c")): 1}


def test_csv_keys_are_bytes(tmp_path):
    path = tmp_path / "latin.csv"
    path.write_bytes(b"x,name\n1,M\xfcller\n2,M\xf6ller\n3,\n")
    found = open_groups(path, "x", ["name"]).answer(KeyCounts())
    assert sorted(found.values()) == [1, 1]
    keys = tuple(in_order(list(found)))
    engine = open_groups(path, "x", ["name"]).grouped(keys, other=True)
    assert engine.answer(Keyed((Count(),) * 3)) == [(1, 0, 0), (1, 0, 0), (1, 0, 0)]


@pytest.mark.parametrize("kind", ["pandas", "arrow"])
def test_declared_types_that_are_not_exact_are_refused(kind, tmp_path):
    data = table(kind, tmp_path)
    with pytest.raises(ColumnError, match="Convert it to text"):
        open_groups(data, "x", ["x"])


def test_a_lazy_frame_is_computed_by_the_first_question_and_once():
    computed = []

    def note(rows):
        computed.append(len(rows))
        return rows

    lazy = pl.LazyFrame({"x": [1.0, 2.0], "key": ["a", "b"]}).map_batches(note)
    keys = parse_keys(["b", "a"], 1)
    grouped = open_groups(lazy, "x", ["key"], keys)
    assert computed == []
    assert grouped.answer(KeyCounts()) == {Key(("a",)): 1, Key(("b",)): 1}
    assert grouped.grouped(keys, other=False).answer(Keyed((Count(),) * 2)) == [
        (1, 0, 0),
        (1, 0, 0),
    ]
    assert computed == [2]


@pytest.mark.parametrize("kind", ["csv", "parquet", "polars", "pandas", "lazy"])
def test_records_are_computed_and_filtered_row_by_row(kind, tmp_path):
    """A record for which the condition is not true is missing, and so is its key's count."""
    grouped = open_groups(table(kind, tmp_path), "x * 2", ["state"], where="x > 1")
    assert grouped.answer(KeyCounts()) == {
        Key((state,)): 1 for state in ("CA", "NY", "M\u00fcller", "M\u00f6ller", "Mu\u0308ller")
    }
    engine = grouped.grouped(parse_keys(["NY", "CA"], 1), other=True)
    assert engine.answer(Keyed((Cells((5.0, 6.0)),) * 3)) == [(0, 1, 0), (0, 0, 1), (0, 0, 3)]


def test_cells_that_arrow_would_refuse_are_keys_or_missing(tmp_path):
    """Whether pandas' objects can be converted depends on them: no error may."""
    durations = [np.timedelta64(5, "D"), np.timedelta64(7, "ns"), np.timedelta64("NaT", "s")]
    cells = ["a\ud800", "b", 1, None, ("b",), *durations]
    keys = parse_keys(["a\ud800", "b", 1], 1)
    for kind in (object, "category"):
        frame = pd.DataFrame({"x": 1.0, "key": pd.Series(cells, dtype=object).astype(kind)})
        engine = open_groups(frame, "x", ["key"], keys).grouped(keys, other=True)
        assert engine.answer(Keyed((Count(),) * 4)) == [(1, 0, 0), (1, 0, 0), (1, 0, 0), (5, 0, 0)]
    frame = pd.DataFrame({"x": 1.0, "key": pd.Series(cells[:2], dtype="string[python]")})
    engine = open_groups(frame, "x", ["key"], keys).grouped(keys, other=False)
    assert engine.answer(Keyed((Count(),) * 3)) == [(1, 0, 0), (1, 0, 0), (0, 0, 0)]


@pytest.mark.parametrize("kind", ["arrow", "lazy"])
def test_public_keys_must_be_of_the_declared_type(kind, tmp_path):
    data = table(kind, tmp_path)
    with pytest.raises(ParameterError, match="has type text"):
        open_groups(data, "x", ["state"], parse_keys([1], 1))
    with pytest.raises(ParameterError, match="twice"):
        open_groups(data, "x", ["year"], parse_keys(["1", 1], 1))
    engine = open_groups(data, "x", ["year"]).grouped(parse_keys(["1"], 1), other=False)
    assert engine.answer(Keyed((Count(),))) == [(3, 1, 0)]


def test_names_that_nobody_holds_are_no_keys(tmp_path):
    """Categories, dictionaries and the names of folders are no records."""
    values, held = [1.0] * 40, ["CA"] * 40
    codes = pa.DictionaryArray.from_arrays(pa.array([0] * 40), ["CA", "ghost"])
    frames = [
        pd.DataFrame({"x": values, "s": pd.Categorical(held, categories=["CA", "ghost"])}),
        pl.DataFrame({"x": values, "s": pl.Series(held, dtype=pl.Enum(["CA", "ghost"]))}),
        pa.table({"x": values, "s": codes}),
    ]
    pq.write_table(frames[-1], tmp_path / "dictionary.parquet")
    for frame in (*frames, tmp_path / "dictionary.parquet"):
        found = tt.mean(frame, "x", by="s", epsilon=500, delta=0.4)
        assert [row.group for row in found] == ["CA"]
    folder, numbers = tmp_path / "parts", frames[-1].select(["x"])
    for state, rows in (("CA", numbers), ("ghost", numbers.slice(0, 0))):
        (folder / f"s={state}").mkdir(parents=True)
        pq.write_table(rows, folder / f"s={state}" / "rows.parquet")
    found = tt.mean(folder, "x", by="s", epsilon=500, delta=0.4)
    assert [row.group for row in found] == ["CA"]


def test_a_hundred_thousand_keys():
    size = 100_000
    numbers, cells = KeyNumbers([WHOLE, WHOLE]), pa.array(np.arange(size))
    for part in (cells[: size // 2], cells[size // 3 :]):
        assert numbers.add([part, part]).tolist() == part.to_pylist()
    backwards = range(size)[::-1]
    assert numbers.find([backwards, backwards]).tolist() == list(backwards)
    assert numbers.find([[2**70, size, 1], [1, 1, 2]]).max() < 0
    assert [key.label for key in numbers.occurring] == [(each, each) for each in range(size)]
    assert KeyNumbers([TEXT]).find([[b"a"]]).max() < 0


VALUES = st.floats() | st.sampled_from([0.0, -0.0, 5e-324, 1e308, 7.0, 7.5, -(2.0**40)])
CUTS = st.lists(st.floats(allow_nan=False), min_size=2, max_size=2).map(sorted).map(tuple)
LATTICES = st.builds(
    lambda exponent, ends: ClippingGrid(exponent, *sorted(ends)),
    st.integers(-40, 40),
    st.lists(st.integers(-(2**34), 2**34), min_size=3, max_size=3),
)


class TestTogether:
    """Small groups are answered together, with the integers of each alone."""

    @given(st.data())
    def test_groups_together_have_the_answers_of_each_alone(self, data):
        cells, sums = st.builds(Cells, CUTS), st.builds(ClippedSum, LATTICES, st.integers(0, 9))
        queries = data.draw(st.lists(cells) | st.lists(sums) | st.lists(cells | sums))
        parts = [np.array(data.draw(st.lists(VALUES, max_size=9)), dtype=float) for _ in queries]
        found = answer_each(queries, parts, alone)
        assert found == [alone(query, part) for query, part in zip(queries, parts, strict=True)]

    def test_large_groups_and_many_small_ones(self, monkeypatch):
        monkeypatch.setattr(together, "TOGETHER", 40)
        rng = np.random.default_rng(8)
        parts = [rng.normal(size=size) for size in [*rng.integers(0, 20, 50), 600, 3, 0, 700, 1]]
        asked = []
        for query in (Cells((-0.5, 0.5)), ClippedSum(ClippingGrid(-30, -(2**30), 7, 2**31), 3)):
            queries = [query] * len(parts)

            def alone_too(query, part):
                asked.append(len(part))
                return alone(query, part)

            expected = [alone(query, part) for part in parts]
            assert answer_each(queries, parts, alone_too) == expected
        assert {600, 700} <= set(asked)
        assert len(asked) < 20


def alone(query, part):
    return Passes().answer(query, lambda most: [part])
