"""``mean`` with a ledger: charged before any record is read, stored before it is returned."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import tametail as tt
from tametail import cli
from tametail.errors import (
    BudgetError,
    ColumnError,
    DataError,
    ParameterError,
    ResultNotStoredError,
)
from tametail.ledger import Ledger


@pytest.fixture
def office(tmp_path):
    ledger = Ledger(tmp_path / "office.ledger")
    ledger.create("claims", tt.pure(1))
    return ledger


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "claims.csv"
    amounts = np.random.default_rng(1).lognormal(3, 1, 2000)
    path.write_text("amount,open\n" + "".join(f"{x},{2 * x}\n" for x in amounts))
    return path


def test_a_release_is_charged_stored_and_given_back(office, file):
    paid = {"ledger": office, "dataset": "claims", "release_id": "q3"}
    release = tt.mean(file, "amount", epsilon=0.5, **paid)
    assert release.receipt == {"dataset": "claims", "release_id": "q3",
                               "head": office.history()[-1].hash}  # fmt: skip
    file.unlink()
    file.write_text("amount,open\n1,2\n")  # other data: the stored release, all the same
    assert tt.mean(file, "amount", epsilon=0.5, **paid) == release
    assert office.remaining("claims").charges == 1
    assert office.verify(head=release.receipt["head"]).entries == 3
    with pytest.raises(BudgetError, match="another request"):
        tt.mean(file, "open", epsilon=0.5, **paid)
    with pytest.raises(BudgetError, match="Budget exceeded"):
        tt.mean(file, "amount", epsilon=0.6, ledger=office, dataset="claims")


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ({"column": "open"}, "another column"),
        ({"where": "open == 1"}, "another condition"),
        ({"by": "open", "keys": ["1", "2"]}, "another grouping"),
        ({"person": "open"}, "another privacy unit"),
        ({"confidence": 0.9, "epsilon": 0.4}, "another confidence, another budget"),
    ],
)
def test_what_differs_under_a_used_id_is_named(office, file, asked, what):
    paid = {"ledger": office, "dataset": "claims", "release_id": "q3"}
    tt.mean(file, "amount", epsilon=0.5, **paid)
    with pytest.raises(BudgetError, match=f"'claims': {what}[.] Use a new"):
        tt.mean(file, **{"column": "amount", "epsilon": 0.5} | asked, **paid)


def test_why_a_person_costs_more_where_a_record_is_protected(office, file, tmp_path, capsys):
    asked = {"epsilon": 0.6, "person": "open", "ledger": office, "dataset": "claims"}
    why = "epsilon = 1.2 (epsilon = 0.6 for one person costs so much where one record is protected)"
    with pytest.raises(BudgetError, match="Budget exceeded") as refusal:
        tt.mean(file, "amount", **asked)
    assert why in str(refusal.value)
    paid = ["--ledger", str(tmp_path / "office.ledger"), "--dataset", "claims", "--dry-run"]
    ask = ["mean", str(file), "-c", "amount", "-e", "0.3", "--person", "open"]
    assert cli.main([*ask, *paid]) == 0
    assert "would spend epsilon = 0.6 (epsilon = 0.3 for one person" in capsys.readouterr().out


def test_another_file_under_a_used_id_is_refused(office, file):
    """It would get the answer about the first file."""
    other = file.with_name("other.csv")
    other.write_text("amount,open\n" + "9,9\n" * 1000)
    paid = {"ledger": office, "dataset": "claims", "release_id": "q3"}
    release = tt.mean(file, "amount", epsilon=0.5, **paid)
    for data in (other, [file, other], [other]):
        with pytest.raises(BudgetError, match=r"used for '.*claims.csv'"):
            tt.mean(data, "amount", epsilon=0.5, **paid)
    for data in (file, str(file), [file], (file,)):
        assert tt.mean(data, "amount", epsilon=0.5, **paid) == release
    assert office.remaining("claims").charges == 1


def test_lists_and_tuples_of_files_have_a_place(office, file, monkeypatch):
    office.create("copy", tt.pure(1))
    tt.mean(file, "amount", epsilon=0.5, ledger=office, dataset="claims")
    monkeypatch.setenv("HOME", str(file.parent))
    folder = file.parent / "folder"
    folder.mkdir()
    (folder / "link.csv").symlink_to(file)
    other = file.with_name("other.csv")
    other.write_text("amount,open\n" + "9,9\n" * 1000)
    again = [
        [file], (file,), [str(file)], [other, file], "~/claims.csv", str(file.parent / "c*.csv"),
        str(folder / "*.csv"), [folder / "link.csv"],
    ]  # fmt: skip
    for data in again:
        with pytest.raises(BudgetError, match="charged as dataset 'claims'"):
            tt.mean(data, "amount", epsilon=0.1, ledger=office, dataset="copy")
    tt.mean(other, "amount", epsilon=0.1, ledger=office, dataset="copy")


def test_a_list_of_numbers_leaves_no_trace(office):
    """Text that is a record must never be taken for a path and written into the ledger."""
    for data in (["52000", "61000"] * 500, [52000.0, 61000.0] * 500):
        tt.mean(data, epsilon=0.25, ledger=office, dataset="claims")
    with office._storage.reading() as rows:
        assert not any("52000" in entry.body or entry.place for entry in rows.all()
                       if entry.kind != "result")  # fmt: skip


def test_an_arrow_dataset_has_the_place_of_its_files(office, tmp_path):
    import pyarrow as pa
    from pyarrow import dataset, parquet

    office.create("copy", tt.pure(1))
    parquet.write_table(pa.table({"x": [1.0, 2.0] * 500}), tmp_path / "x.parquet")
    tt.mean(tmp_path / "x.parquet", "x", epsilon=0.1, ledger=office, dataset="claims")
    with pytest.raises(BudgetError, match="charged as dataset 'claims'"):
        tt.mean(dataset.dataset(tmp_path / "x.parquet"), "x", epsilon=0.1, ledger=office,
                dataset="copy")  # fmt: skip


def test_several_columns_and_a_plan(office, file):
    release = tt.mean(file, ["amount", "open"], epsilon=0.5, ledger=office, dataset="claims")
    assert len(release) == 2
    plan = tt.plan(n=2000, epsilon=0.25)
    tt.mean(file, "amount", plan=plan, ledger=office, dataset="claims")
    assert office.remaining("claims").epsilon == 0.25


def test_ten_releases_of_a_tenth(office):
    for _ in range(10):
        tt.mean([1.0, 2.0] * 500, epsilon=0.1, confidence=None, ledger=office, dataset="claims")
    with pytest.raises(BudgetError):
        tt.mean([1.0, 2.0], epsilon=0.1, ledger=office, dataset="claims")


def test_what_is_wrong_with_the_schema_costs_nothing(office, file):
    with pytest.raises(ColumnError):
        tt.mean(file, "amuont", epsilon=0.5, ledger=office, dataset="claims")
    with pytest.raises(ParameterError, match="requires dataset="):
        tt.mean(file, "amount", epsilon=0.5, ledger=office)
    assert office.remaining("claims").charges == 0


def test_an_iterator_is_not_touched_before_it_is_paid_for(office):
    def numbers():
        seen.append(office.remaining("claims").charges)
        yield from [1.0, 2.0] * 500

    seen = []
    tt.mean(numbers(), epsilon=0.9, ledger=office, dataset="claims")
    assert seen == [1]
    with pytest.raises(BudgetError):
        tt.mean(numbers(), epsilon=0.9, ledger=office, dataset="claims")
    assert seen == [1]


def test_a_lazy_frame_is_not_computed_before_it_is_paid_for(office):
    polars = pytest.importorskip("polars")
    seen = []

    def look(frame):
        seen.append(office.remaining("claims").charges)
        return frame

    lazy = polars.LazyFrame({"x": [1.0, 2.0] * 500}).map_batches(look, schema={"x": polars.Float64})
    tt.mean(lazy, "x", epsilon=0.9, ledger=office, dataset="claims")
    assert seen
    assert set(seen) == {1}
    with pytest.raises(ColumnError):
        tt.mean(lazy, "y", epsilon=0.1, ledger=office, dataset="claims")
    assert office.remaining("claims").charges == 1


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="no /proc counts what is read")
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_a_file_is_not_counted_before_it_is_paid_for(tmp_path, adjacency):
    """Of 20 MB only the header is read when the charge is refused; else all of it."""
    file = tmp_path / "large.csv"
    file.write_text("amount\n" + "12345678.5\n" * 2_000_000)
    ledger = Ledger(tmp_path / "own.ledger")
    ledger.create("claims", tt.pure(1), neighbors=adjacency)
    ask = {"neighbors": adjacency, "confidence": None, "ledger": ledger, "dataset": "claims"}
    with pytest.raises(BudgetError):  # what is imported now is not read again below
        tt.mean(file, "amount", epsilon=5, **ask)
    before = bytes_read()
    with pytest.raises(BudgetError):
        tt.mean(file, "amount", epsilon=5, **ask)
    assert bytes_read() - before < 3e6
    before = bytes_read()
    tt.mean(file, "amount", epsilon=1, **ask)
    assert bytes_read() - before > 2e7


def bytes_read():
    return int(Path("/proc/self/io").read_text().split()[1])


def test_a_crash_while_reading_is_a_lost_release(office):
    def broken():
        yield 1.0
        raise KeyboardInterrupt

    paid = {"ledger": office, "dataset": "claims", "release_id": "q3"}
    with pytest.raises(KeyboardInterrupt):
        tt.mean(broken(), epsilon=0.5, **paid)
    with pytest.raises(ResultNotStoredError):
        tt.mean(iter([1.0]), epsilon=0.5, **paid)


def test_the_command_line(office, file, tmp_path, capsys, monkeypatch):
    paid = ["--ledger", str(tmp_path / "office.ledger"), "--dataset", "claims"]
    ask = ["mean", str(file), "--column", "amount", "--epsilon", "0.75"]
    assert cli.main([*ask, *paid, "--dry-run"]) == 0
    assert "would spend epsilon = 0.75 of claims. Afterwards, remaining budget: epsilon = 0.25" in (
        capsys.readouterr().out
    )
    assert cli.main([*ask, *paid, "--json", "--release-id", "q3"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["ledger"]["head"] == office.history()[-1].hash
    assert cli.main([*ask, *paid, "--release-id", "q3"]) == 0
    assert f"head hash {first['ledger']['head']}" in capsys.readouterr().out
    assert cli.main([*ask, *paid]) == 3
    told = capsys.readouterr().err
    assert "epsilon = 0.25" in told
    assert "q3" in told
    monkeypatch.setenv("TAMETAIL_LEDGER", str(tmp_path / "office.ledger"))
    assert cli.main([*ask, "--dataset", "claims"]) == 3
    assert cli.main(ask) == 0  # no data set is named: no ledger is meant
    assert cli.main([*ask, "--ledger", "office.ledger"]) == 2


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_an_error_after_the_charge_says_that_it_was_charged(tmp_path, adjacency):
    """Under replace-one the file fails before the first answer, and yet the ledger has paid."""
    numbers = np.random.default_rng(3).integers(0, 10**9, 100_000)  # they hardly compress
    text = "x\n" + "\n".join(map(str, numbers))
    packed = gzip.compress(text.encode())
    file = tmp_path / "x.csv.gz"
    file.write_bytes(packed[: len(packed) // 2])
    ledger = tt.Ledger(tmp_path / "office.ledger")
    ledger.create("a", budget=tt.pure(2), neighbors=adjacency)
    with pytest.raises(DataError, match="The ledger has charged this release"):
        tt.mean(file, "x", epsilon=1, neighbors=adjacency, ledger=ledger, dataset="a")
    assert ledger.remaining("a").charges == 1
