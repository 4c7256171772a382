"""Types that a library guesses from records, and numbers of records that a file does not store."""

import gzip
import io

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.fs
import pyarrow.parquet
import pytest

import tametail as tt
from tametail.cli import main
from tametail.errors import DataError, ParameterError

MANY = 300_000
NO_NUMBER = "unknown"


def written(path, last="1.0"):
    """Write a file whose last record does not fit what Arrow guesses from the first ones."""
    path.write_text("x\n" + "1.5\n" * MANY + f"{last}\n")
    return path


@pytest.mark.parametrize("last", ["1.0", NO_NUMBER, "1,2"])
def test_a_dataset_of_text_is_refused_whatever_its_records(last, tmp_path):
    path = written(tmp_path / "x.csv", last)
    of_files = pyarrow.dataset.dataset(path, format="csv")
    for data in (of_files, pyarrow.dataset.dataset([of_files, of_files])):
        with pytest.raises(DataError, match="Pass their path instead") as caught:
            tt.mean(data, "x", epsilon=1)
        assert "No budget was spent" in str(caught.value)
    with (
        pyarrow.csv.open_csv(path) as reader,
        pytest.raises(ParameterError, match="Pass the path of the file"),
    ):
        tt.mean(reader, "x", epsilon=1)
    # What the message advises.
    assert abs(tt.mean(path, "x", epsilon=1).value - 1.5) < 0.1
    with pyarrow.fs.LocalFileSystem().open_input_stream(str(path)) as stream:
        found = tt.mean(stream, "x", epsilon=1, parse=tt.Parse(format="csv"))
    assert abs(found.value - 1.5) < 0.1


def test_a_dataset_of_json_is_refused(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"x": 1}\n')
    with pytest.raises(DataError, match="types Arrow infers"):
        tt.mean(pyarrow.dataset.dataset(path, format="json"), "x", epsilon=1)


@pytest.mark.parametrize("last", [2.0, 2.5])
def test_files_of_a_dataset_that_would_be_converted_are_refused(last, tmp_path):
    """Arrow converts 2.0 to an integer, and fails at 2.5."""
    pyarrow.parquet.write_table(pa.table({"x": [1, 2] * 999, "y": ["a"] * 1998}), tmp_path / "0.pq")
    pyarrow.parquet.write_table(pa.table({"x": [1.0, last] * 999}), tmp_path / "1.pq")
    data = pyarrow.dataset.dataset([tmp_path / "0.pq", tmp_path / "1.pq"])
    with pytest.raises(DataError, match="'x' does not have the same type in all files") as caught:
        tt.mean(data, "x", epsilon=1)
    assert "No budget was spent" in str(caught.value)


def test_a_dataset_of_files_alike_and_one_of_a_table_are_read(tmp_path):
    table = pa.table({"x": [1.0, 2.0] * 999, "year": [2024, 2025] * 999})
    pyarrow.parquet.write_to_dataset(table, tmp_path / "by-year", partition_cols=["year"])
    for data in (pyarrow.dataset.dataset(tmp_path / "by-year", partitioning="hive"),
                 pyarrow.dataset.dataset(table)):  # fmt: skip
        assert abs(tt.mean(data, "x", epsilon=5).value - 1.5) < 0.1
        of_one_year = tt.mean(data, "x", where="year == 2025", epsilon=5)
        assert abs(of_one_year.value - 2) < 0.1


def test_the_number_of_records_of_a_workbook_is_never_public(tmp_path, monkeypatch):
    openpyxl = pytest.importorskip("openpyxl")
    told = set()
    for name, cells in {"all": [1, 2, 3], "first": [None, 2, 3], "last": [1, 2, None]}.items():
        book = openpyxl.Workbook()
        for cell in ["x", *cells]:
            book.active.append([cell])
        folder = tmp_path / name / "year=2025"
        folder.mkdir(parents=True)
        book.save(folder / "x.xlsx")
        monkeypatch.chdir(folder)
        stream, written = io.BytesIO((folder / "x.xlsx").read_bytes()), tt.Parse(format="xlsx")
        for data, parse in (("x.xlsx", None), (tmp_path / name, None), (stream, written)):
            with pytest.raises(DataError, match=r"save the sheet as \.csv") as caught:
                tt.mean(data, "x", epsilon=1, neighbors="replace-one", parse=parse)
            told.add(str(caught.value))
        with pytest.raises(DataError, match=r"save the sheet as \.csv"):
            tt.paper.mean_1d("x.xlsx", tt.pure(1), alpha=0.5, beta=0.1, k=2, R=10)
        assert tt.mean("x.xlsx", "x", epsilon=1) is not None  # no number is public
    assert len(told) == 1


class Given:
    def __init__(self, content):
        self.buffer = io.BytesIO(content)


@pytest.mark.parametrize("kind", ["parquet", "gzip", "utf-16"])
def test_what_is_no_csv_is_told_by_its_first_bytes(kind, tmp_path, monkeypatch, capsys):
    table = pa.table({"x": [1.0] * 2000})
    pyarrow.parquet.write_table(table, tmp_path / "x.csv")
    contents = {
        "parquet": ((tmp_path / "x.csv").read_bytes(), "a Parquet file. Use --format parquet."),
        "gzip": (gzip.compress(b"x\n" + b"1\n" * 2000), "compressed with gzip."),
        "utf-16": (("x\n" + "1\n" * 2000).encode("utf-16"), "Use --encoding utf-16."),
    }
    content, advice = contents[kind]
    monkeypatch.setattr("sys.stdin", Given(content))
    assert main(["mean", "-", "-c", "x", "-e", "1"]) == 4
    told = capsys.readouterr().err
    assert advice in told
    assert "The stream" in told
    assert "/proc" not in told
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(DataError, match=kind):
        tt.mean(tmp_path / "x.csv", "x", epsilon=1)
    # Without names the first row is a record, and no record is refused.
    (tmp_path / "x.csv").write_bytes(b"PAR1\n" + b"1\n" * 2000)
    no_names = tt.Parse(header=False)
    assert tt.mean(tmp_path / "x.csv", "0", epsilon=1, parse=no_names) is not None


def test_a_dataset_with_a_filter_is_refused_whatever_its_records(tmp_path):
    """A filter computes, and fails at the record that it cannot convert."""
    path = tmp_path / "x.parquet"
    for last in ("3", NO_NUMBER):
        table = pa.table({"x": [1.0, 2.0, 3.0] * 999, "s": ["1", "2", last] * 999})
        pyarrow.parquet.write_table(table, path)
        large = pyarrow.dataset.field("s").cast(pa.int64()) > 0
        for data in (pyarrow.dataset.dataset(table), pyarrow.dataset.dataset(path)):
            with pytest.raises(DataError, match="without it, and use where=") as caught:
                tt.mean(data.filter(large), "x", epsilon=1)
            assert "No budget was spent" in str(caught.value)


def test_a_column_may_have_the_name_that_begins_a_parquet_file(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("PAR1,ARROW1\n" + "1,2\n" * 5000)
    assert abs(tt.mean(path, "PAR1", epsilon=1).value - 1) < 0.1
