"""Files give the integers of the same records in memory; only what is public can fail."""

from __future__ import annotations

import gzip
import math
import os
import tracemalloc
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
from pyarrow import dataset

import tametail as tt
from tametail.data import local
from tametail.data.kernels.accumulator import CHUNK
from tametail.data.sources import DECODED, blocks
from tametail.data.sources.parquet import ParquetSource, memory_kept
from tametail.errors import ColumnError, DataError
from tametail.queries.column import Count, Median

from ..opened import open_table  # noqa: TID252


def _csv_text(records, delimiter=","):
    cells = ["" if x is None else repr(x) for x in records]
    rows = [f'{delimiter}{cell}{delimiter}"a{delimiter}""b""\nc"' for cell in cells]
    return "\r\n".join([delimiter.join(["id", "v", "note"]), *rows]).encode()


def _parquet(path, records, **options):
    column = pa.array(records, pa.float64())
    pq.write_table(pa.table({"v": column, "w": column}), path, **options)


def _write(kind, folder, records):
    """Write the records as one kind of file and return the path to give to an engine."""
    path = folder / kind
    if kind == "folder":
        (path / "year=2020").mkdir(parents=True)
        (path / "_temporary").mkdir()
        _parquet(path / "b.parquet", records[5:])
        _parquet(path / "a.parquet", records[:5])
        _parquet(path / "year=2020" / "c.parquet", [])
        _parquet(path / "_temporary" / "d.parquet", [1.0])
    elif kind == "glob":
        _parquet(folder / "part-1.parquet", records[:7])
        _parquet(folder / "part-2.parquet", records[7:])
        return folder / "part-*.parquet"
    elif kind == "tiny groups.parquet":
        _parquet(path, records, row_group_size=2)
    elif kind == "dictionary.parquet":
        pq.write_table(pa.table({"v": pa.array(records).dictionary_encode()}), path)
    elif kind.endswith(".parquet"):
        _parquet(path, records)
    else:
        text = _csv_text(records, "\t" if ".tsv" in kind else ",")
        path.write_bytes(gzip.compress(text) if kind.endswith(".gz") else text)
    return path


KINDS = [
    *("data.parquet", "DATA.PARQUET.parquet", "tiny groups.parquet", "dictionary.parquet"),
    *("folder", "glob", "data.csv", "data.tsv", "data.CSV.gz", "data.tsv.gz"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_floats(kind, tmp_path, queries, records, reference, comparable):
    path = _write(kind, tmp_path, records)
    for query in queries:
        engine = open_table(str(path), "v")
        assert engine.size == len(records)
        assert comparable(engine.answer(query)) == reference(query, records), query
        part = engine.rows(2, 20)
        assert part.size == 18
        assert comparable(part.answer(query)) == reference(query, records[2:20]), query
        assert comparable(part.rows(3, 99).answer(query)) == reference(query, records[5:20]), query
        assert comparable(engine.answer(query)) == reference(query, records), query


@pytest.mark.parametrize(
    "column",
    [
        pa.array([2**53 + 1, -(2**63), 2**63 - 1, 5]),
        pa.array([2**64 - 1, 2**63 + 1], pa.uint64()),
        pa.array([0.1, 1e-45, math.inf, math.nan], pa.float32()),
        pa.array([Decimal("0.10"), Decimal("-7.50"), None]),
        pa.array([True, False, None]),
        pa.array([None, None]),
    ],
    ids=lambda column: str(column.type),
)
def test_declared_types(tmp_path, queries, comparable, column):
    pq.write_table(pa.table({"v": column}), tmp_path / "x.parquet")
    places = [(tmp_path / "x.parquet", None)]
    # Text has no single precision, and "true" is not a number.
    if not (pa.types.is_floating(column.type) or pa.types.is_boolean(column.type)):
        lines = ["v,w", *("," if cell is None else f"{cell}," for cell in column.to_pylist())]
        (tmp_path / "x.csv").write_text("\n".join(lines))
        places.append((tmp_path / "x.csv", "v"))
    for query in queries:
        expected = comparable(open_table(column).answer(query))
        for place in places:
            assert comparable(open_table(*place).answer(query)) == expected, (place, query)


@pytest.mark.parametrize("size", [65535, 65536, 65537])
@pytest.mark.parametrize("kind", ["data.parquet", "data.csv.gz"])
def test_chunk_borders(tmp_path, queries, comparable, monkeypatch, kind, size):
    monkeypatch.setattr(blocks, "_CSV_BLOCK", 100_003)
    column = np.resize([1.0, -2.5, math.nan, 1e9], size)
    path = _write(kind, tmp_path, column.tolist())
    for query in {type(query): query for query in queries}.values():  # one of a kind
        engine = open_table(path, "v")
        assert engine.size == size
        expected = comparable(open_table(column).answer(query))
        assert comparable(engine.answer(query)) == expected, query


def _values(path, column="v"):
    chunks = list(open_table(path, column).chunks(CHUNK))
    assert all(len(chunk) <= CHUNK for chunk in chunks)
    return [None if math.isnan(x) else x for chunk in chunks for x in chunk[:, 0].tolist()]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (b"v,w\n1,x\n2,y\n", [1.0, 2.0]),
        (b"v,w\n1,x\n2,y", [1.0, 2.0]),
        (b"v,w\r\n1,x\r\n", [1.0]),
        (b"\xef\xbb\xbfv,w\n1,x\n", [1.0]),
        (b'\xef\xbb\xbf"v","w,w"\n1,x\n', [1.0]),
        (b'v,"w\nw"\n1,x\n', [1.0]),
        (b"\n\nv,w\n\n1,x\n\n2,y\n\n", [None, 1.0, None, 2.0, None]),
        (b"v,w\n", []),
        (b"v,w", []),
        (b"v\n1\n\n2\n", [1.0, None, 2.0]),
        (b"v,w\n1\n1,2,3\n4,x\n", [None, None, 4.0]),
        (b"v,w\n\xff\n\xff,\xfe\n\xff,x,\xff\n4,\xff\xff\n", [None, None, None, 4.0]),
        (b'v,w\n"1,5",x\n"2",y\n"a\nb",z\n', [None, 2.0, None]),
        (
            b"v,w\n, \n 7 ,x\nN/A,\nnan,\n1e400,\n-Infinity,\n",
            [None, 7, None, None, math.inf, -math.inf],
        ),
        (b"v,w\n1\x00,x\n2,y\n", [None, 2.0]),
        (b'v,w\n1,5" pipe\n2,y\n', [1.0, 2.0]),
        (b'v,w\n1,x\n"2,y\n3,z\n', [1.0, None]),
        (b'v,w\n5,x\n6,"x\n7,9"', [5.0, 6.0]),
        (b"v\n5\n7\r7\r7\n8\n", [5.0, None, 8.0]),
        (b"v,w\n" + b"9" * 3_000 + b",x\n5,y\n", [math.inf, 5.0]),
    ],
)
@pytest.mark.parametrize("block", [11, 1 << 22])
def test_csv_rows(tmp_path, monkeypatch, text, values, block):
    monkeypatch.setattr(blocks, "_CSV_BLOCK", block)
    (tmp_path / "x.csv").write_bytes(text)
    assert _values(tmp_path / "x.csv") == values


def test_blocks_end_where_rows_end(tmp_path, monkeypatch):
    records = [float(i) for i in range(500)]
    text = b"id,v,note\n" + b"".join(b'1,%d,"a\n""b""\n,%d,"\n' % (i, i) for i in range(500))
    (tmp_path / "x.csv").write_bytes(text)
    for block in (97, 1000, 4096):
        monkeypatch.setattr(blocks, "_CSV_BLOCK", block)
        assert _values(tmp_path / "x.csv") == records


def test_a_stray_quote_does_not_stop_the_reader(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "_CSV_BLOCK", 64)
    rows = [f"{i},{'5' + chr(34) + ' pipe' if i == 50 else 'x'}" for i in range(100)]
    (tmp_path / "x.csv").write_text("\n".join(["v,w", *rows]))
    assert _values(tmp_path / "x.csv") == [float(i) for i in range(100)]


def _refused(path, column, error, match):
    with pytest.raises(error, match=match) as caught:
        open_table(path, column).answer(Count())
    assert caught.value.exit_code == 4
    return caught.value


class TestErrors:
    def test_no_file(self, tmp_path):
        _refused(tmp_path / "none.csv", "v", DataError, "No file")
        _refused(tmp_path / "*.parquet", "v", DataError, "No file")
        with pytest.raises(DataError, match="No file 'hello'"):
            open_table("hello", "v")

    def test_unknown_kind(self, tmp_path):
        (tmp_path / "x.xls").touch()
        _refused(tmp_path / "x.xls", "v", DataError, r"Supported: \.parquet, \.pq, \.csv")

    def test_a_folder_without_data(self, tmp_path):
        (tmp_path / "x.md").write_text("v\n1\n")
        _refused(tmp_path, "v", DataError, r"No data file in folder .* Supported: \.parquet")

    def test_a_glob_of_two_kinds(self, tmp_path):
        (tmp_path / "x.csv").write_text("v\n1\n")
        _parquet(tmp_path / "x.parquet", [1.0])
        _refused(tmp_path / "x.*", "v", DataError, "files of one type")

    @pytest.mark.parametrize("content", [b"", b"PAR1", b"SECRET" * 100])
    def test_no_parquet(self, tmp_path, content):
        (tmp_path / "x.parquet").write_bytes(content)
        error = _refused(tmp_path / "x.parquet", "v", DataError, "cannot be read as Parquet")
        assert "SECRET" not in str(error)

    def test_truncated_parquet(self, tmp_path):
        _parquet(tmp_path / "x.parquet", list(range(1000)))
        whole = (tmp_path / "x.parquet").read_bytes()
        (tmp_path / "x.parquet").write_bytes(whole[: len(whole) // 2])
        _refused(tmp_path / "x.parquet", "v", DataError, "cannot be read as Parquet")

    def test_parquet_that_is_corrupt_half_way(self, tmp_path):
        path = tmp_path / "x.parquet"
        _parquet(path, np.random.default_rng(1).normal(size=200_000), row_group_size=100_000)
        whole = bytearray(path.read_bytes())
        whole[len(whole) // 2 : len(whole) // 2 + 400_000] = b"\xff" * 400_000
        path.write_bytes(whole)
        assert open_table(path, "v").size == 200_000
        error = _refused(path, "v", DataError, "cannot be read as Parquet")
        assert error.__context__ is None
        assert error.__cause__ is None

    def test_truncated_gzip(self, tmp_path):
        text = gzip.compress(b"v\n" + b"".join(b"%d\n" % (i * i) for i in range(100_000)))
        (tmp_path / "x.csv.gz").write_bytes(text[: len(text) // 2])
        error = _refused(tmp_path / "x.csv.gz", "v", DataError, "cannot be read as CSV")
        assert error.__context__ is None
        (tmp_path / "y.csv.gz").write_bytes(b"not compressed")
        _refused(tmp_path / "y.csv.gz", "v", DataError, "cannot be read as CSV")

    @pytest.mark.parametrize("text", [b"", b"\n\n"])
    def test_csv_without_a_header(self, tmp_path, text):
        (tmp_path / "x.csv").write_bytes(text)
        _refused(tmp_path / "x.csv", "v", DataError, "starts with the names of its columns")

    def test_a_file_that_goes_away(self, tmp_path):
        (tmp_path / "x.csv").write_text("v\n1\n")
        _parquet(tmp_path / "x.parquet", [1.0])
        engines = [open_table(tmp_path / name, "v") for name in ("x.csv", "x.parquet")]
        for path in list(tmp_path.iterdir()):
            path.unlink()
        for engine in engines:
            with pytest.raises(DataError, match="cannot be read"):
                engine.answer(Count())

    @pytest.mark.parametrize("kind", ["data.parquet", "data.csv"])
    def test_columns(self, tmp_path, kind):
        path = tmp_path / kind
        if kind.endswith("csv"):
            path.write_text("amount,day,day\n1,2,3\n")
        else:
            table = pa.table([pa.array([1.0])] * 3, names=["amount", "day", "day"])
            pq.write_table(table, path)
        # A CSV header with a cell twice may be a record: it is not shown.
        hint = "header=False" if kind.endswith("csv") else "Did you mean 'amount'"
        _refused(path, "amout", ColumnError, hint)
        _refused(path, None, ColumnError, "header=False" if "csv" in kind else "column=")
        _refused(path, "day", ColumnError, "Several columns are called 'day'")
        assert open_table(path, "amount").answer(Count())[0] == 1

    def test_types_that_are_not_numeric(self, tmp_path):
        nested = pa.StructArray.from_arrays([pa.array([1.0])], ["b"])
        table = pa.table({"a": nested, "a.b": [2.0], "name": ["SECRET"], "list": [[1.0]]})
        pq.write_table(table, tmp_path / "x.parquet")
        for column in ("a", "name", "list"):
            _refused(tmp_path / "x.parquet", column, ColumnError, "numeric")
        _refused(tmp_path / "x.parquet", "a.c", ColumnError, "No column 'a.c'")
        assert _values(tmp_path / "x.parquet", "a.b") == [2.0]

    def test_files_of_different_schemas(self, tmp_path):
        _parquet(tmp_path / "a.parquet", [1.0])
        pq.write_table(pa.table({"v": [1]}), tmp_path / "b.parquet")
        _refused(tmp_path, "v", DataError, "the same schema")
        pq.write_table(pa.table({"u": [1.0]}), tmp_path / "b.parquet")
        _refused(tmp_path, "v", DataError, "the same schema")
        (tmp_path / "a.csv").write_text("v,w\n1,2\n")
        (tmp_path / "b.csv").write_text("w,v\n1,2\n")
        _refused(tmp_path / "*.csv", "v", DataError, "the same header")

    def test_a_schema_that_changes_between_passes(self, tmp_path):
        _parquet(tmp_path / "x.parquet", [1.0])
        engine = open_table(tmp_path / "x.parquet", "v")
        pq.write_table(pa.table({"v": ["SECRET"]}), tmp_path / "x.parquet")
        with pytest.raises(DataError, match="the same schema"):
            engine.answer(Count())


@pytest.mark.parametrize("kind", [*KINDS])
def test_no_rows(tmp_path, kind):
    path = _write(kind, tmp_path, [])
    engine = open_table(path, "v")
    assert engine.size == 0
    assert engine.answer(Count())[0] == 0


@pytest.mark.parametrize("kind", ["folder", "tiny groups.parquet", "data.csv", "data.csv.gz"])
def test_progress_is_a_growing_fraction(tmp_path, monkeypatch, records, kind):
    monkeypatch.setattr(blocks, "_CSV_BLOCK", 200)
    monkeypatch.setattr(local, "_SECONDS", 0.0)
    told = []
    engine = open_table(_write(kind, tmp_path, records * 5), "v", progress=told.append)
    assert told == []
    engine.answer(Count())
    assert told == sorted(set(told))
    assert 0 < told[0] <= told[-1] == 1.0
    assert len(told) > 1 or kind not in ("folder", "data.csv")
    assert all((20 * fraction).is_integer() for fraction in told)
    engine.rows(0, 3).answer(Count())
    assert told[-1] == 1.0


@pytest.mark.parametrize("groups", [1, 8])
def test_memory_does_not_grow_with_the_rows(tmp_path, queries, groups):
    size = 1 << 21
    _parquet(tmp_path / "x.parquet", np.arange(size) % 97.0, row_group_size=size // groups)
    for query in {type(query): query for query in queries}.values():  # one of a kind
        if isinstance(query, Median):
            continue  # the sample is kept: its size is the plan's choice
        engine = open_table(tmp_path / "x.parquet", "v")
        engine.rows(0, 9).answer(query)
        before = held_by_arrow()
        tracemalloc.start()
        engine.answer(query)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 9 << 20, query  # the column alone is 16 MB
        assert held_by_arrow() - before < 1 << 20, query


@pytest.mark.parametrize("groups", [1, 8])
def test_arrow_holds_few_batches_at_a_time(tmp_path, groups):
    size = 1 << 21
    _parquet(tmp_path / "x.parquet", np.arange(size) % 97.0, row_group_size=size // groups)
    engine, before = open_table(tmp_path / "x.parquet", "v"), held_by_arrow()
    held = [held_by_arrow() for _ in engine.chunks(DECODED)]
    assert len(held) >= size // DECODED
    assert 1 << 20 < max(held) - before < 9 << 20  # two batches of two megabytes, and what is read


def held_by_arrow():
    """Return the bytes in all of Arrow's pools: a column has one of its own."""
    pools = {"mimalloc": pa.mimalloc_memory_pool, "jemalloc": pa.jemalloc_memory_pool}
    known = [pools[name]() for name in pa.supported_memory_backends() if name in pools]
    return sum(pool.bytes_allocated() for pool in (*known, pa.system_memory_pool()))


@pytest.mark.parametrize("block", [5, 16, 24, 27, 30, 31, 33, 1000])
def test_a_quoted_cell_across_a_block_border_stays_one_record(tmp_path, monkeypatch, block):
    monkeypatch.setattr(blocks, "_CSV_BLOCK", block)
    (tmp_path / "x.csv").write_bytes(b"v,w\n" + b"5,x\n" * 5 + b'6,"x\n7,9\n8,8"')
    assert _values(tmp_path / "x.csv") == [5.0] * 5 + [6.0]
    assert open_table(tmp_path / "x.csv", "v").size == 6


@pytest.mark.parametrize("options", [{}, {"n": 5000}, {"confidence": None}])
@pytest.mark.parametrize("spread", [1.0, 0.0])  # with none, the estimator takes a second look
def test_a_plan_knows_how_often_a_file_is_read(tmp_path, monkeypatch, options, spread):
    data = spread * np.random.default_rng(1).lognormal(size=5000)
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"x": data}), path)
    passes, read = [], ParquetSource.blocks

    def counted(source, *which):
        passes.append(source)
        return read(source, *which)

    monkeypatch.setattr(ParquetSource, "blocks", counted)
    release = tt.mean(path, "x", epsilon=1, **options)
    assert len(passes) == release.plan.passes


@pytest.mark.parametrize(
    "how", ["twice", "link", "hard link", "pattern", "folder", "dataset", "union"]
)
def test_a_file_is_read_once_whatever_names_it(tmp_path, how):
    """Else every record would weigh twice for the stated budget."""
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    _parquet(first, [1.0, 2.0])
    if how in ("link", "folder"):
        second.symlink_to(first)
    elif how == "hard link":
        os.link(first, second)
    part = dataset.dataset(first)
    data = {
        "twice": [first, f"{tmp_path}/./a.parquet"],
        "link": [first, second],
        "hard link": [first, second],
        "pattern": [first, tmp_path / "*.parquet"],
        "folder": tmp_path,
        "dataset": dataset.dataset([str(first), str(first)]),
        "union": dataset.dataset([part, part]),
    }[how]
    with pytest.raises(DataError, match="named twice"):
        tt.mean(data, "v", epsilon=1)


def test_what_is_no_file_is_refused_and_not_left_out(tmp_path):
    """A link to nothing among others would be a part of the data that is silently missing."""
    _parquet(tmp_path / "part-1.parquet", [1.0, 2.0])
    (tmp_path / "part-2.parquet").symlink_to(tmp_path / "gone.parquet")
    for data in (tmp_path, tmp_path / "part-*.parquet"):
        with pytest.raises(DataError, match="a broken link"):
            open_table(data, "x")


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "jsonl"])
def test_a_name_that_is_no_text_is_an_error_of_ours(tmp_path, ending):
    """Arrow raised a UnicodeEncodeError."""
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xe9." + ending.encode())
    try:
        open(path, "wb").close()
    except OSError:
        pytest.skip("this file system has no such names")
    with pytest.raises(DataError, match="not UTF-8") as caught:
        open_table(path, "x")
    str(caught.value).encode()


def test_a_pipe_is_refused(tmp_path):
    """It would be read to its end for the names, and have no records."""
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(DataError, match="it is a pipe"):
        open_table(tmp_path / "pipe.csv", "x")


needs_pools = pytest.mark.skipif(
    not {"mimalloc", "jemalloc"} <= set(pa.supported_memory_backends()),
    reason="Arrow has no choice of pools on this system",
)


@needs_pools
@pytest.mark.skipif(not hasattr(pa.MemoryPool, "num_allocations"), reason="Arrow does not count")
def test_a_batch_is_decoded_where_it_stays(tmp_path, monkeypatch):
    path = tmp_path / "x.parquet"
    # Pages that end where no batch does: Arrow decodes ahead, and one row fewer has no room for it.
    pages = {"data_page_size": 1 << 18, "use_dictionary": False, "row_group_size": 300_000}
    _parquet(path, np.arange(3.0 * (DECODED - 1)), **pages)  # three batches of either size

    def allocations(most):
        monkeypatch.setattr("tametail.data.sources.parquet.DECODED", most)
        pool = pa.jemalloc_memory_pool()
        before = pool.num_allocations()
        lengths = [len(chunk) for chunk in open_table(path, "v").chunks(DECODED)]
        assert lengths[:2] == [most, most]
        assert len(lengths) == 3
        return pool.num_allocations() - before

    assert allocations(DECODED) < allocations(DECODED - 1)


@needs_pools
def test_a_column_keeps_its_memory_and_arrow_its_pool(tmp_path):
    _parquet(tmp_path / "x.parquet", [1.0] * 5000)
    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.mimalloc_memory_pool())
    try:
        chunk = next(open_table(tmp_path / "x.parquet", "v").chunks(CHUNK))
        assert pa.jemalloc_memory_pool().bytes_allocated() >= chunk.nbytes
        assert pa.default_memory_pool().backend_name == "mimalloc"
        with memory_kept():
            with memory_kept():  # as another thread may, in the middle
                pass
            assert pa.default_memory_pool().backend_name == "jemalloc"
        with pytest.raises(ZeroDivisionError), memory_kept():
            1 / 0  # noqa: B018
        assert pa.default_memory_pool().backend_name == "mimalloc"
        pa.set_memory_pool(pa.system_memory_pool())  # a choice of the user's
        with memory_kept():
            assert pa.default_memory_pool().backend_name == "system"
    finally:
        pa.set_memory_pool(before)


def test_a_file_is_read_once_in_whatever_file_system(tmp_path):
    """Also where nobody knows an address of it, as with fsspec."""
    _parquet(tmp_path / "a.parquet", [1.0, 2.0])
    system = pyarrow.fs._MockFileSystem()
    for folder in ("x", "y"):
        system.create_dir(folder)
        with system.open_output_stream(f"{folder}/a.parquet") as file:
            file.write((tmp_path / "a.parquet").read_bytes())
    below = [pyarrow.fs.SubTreeFileSystem(folder, system) for folder in ("x", "y", "x")]
    parts = [dataset.dataset("a.parquet", filesystem=one) for one in below]
    assert open_table(dataset.dataset(parts[:2]), "v").answer(Count())[0] == 4
    whole = dataset.dataset("x/a.parquet", filesystem=system)
    for twice in ([parts[0], parts[2]], [parts[0], whole]):
        with pytest.raises(DataError, match="named twice"):
            tt.mean(dataset.dataset(twice), "v", epsilon=1)
