"""What somebody new writes first, and what the answer is: a refusal says what to write."""

import sqlite3
from contextlib import closing

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import tametail as tt
from tametail.cli import main
from tametail.cli.messages import in_options
from tametail.errors import ColumnError, ParameterError

N = 3_000
FRAME = pd.DataFrame({"amount": np.arange(N) % 100, "state": ["CA", "NY", "VT"] * (N // 3)})


@pytest.fixture
def sqlite_of():
    """Return what makes a table of these cells, on a connection that is closed afterwards."""
    with closing(sqlite3.connect(":memory:")) as connection:

        def make(declared, cells):
            connection.execute(f"CREATE TABLE claims (x {declared}, who REAL)")
            connection.executemany("INSERT INTO claims VALUES (?, 1)", [(cell,) for cell in cells])
            connection.commit()
            return connection

        yield make


@pytest.mark.parametrize("declared", ["TEXT", "varchar(20)", "CLOB"])
@pytest.mark.parametrize(
    "more", [{}, {"where": "who > 0"}, {"person": "who"}, {"by": "who", "keys": [1]}], ids=str
)
def test_a_column_that_sqlite_declares_as_text_is_refused_before_it_is_paid_for(
    declared, more, sqlite_of
):
    data = sqlite_of(declared, ["1.5"] * 100)
    with pytest.raises(ColumnError) as said:
        tt.mean(data, "x", table="claims", epsilon=1, **more)
    duck = duckdb.connect()
    duck.execute("CREATE TABLE claims (x VARCHAR, who INTEGER)")
    with pytest.raises(ColumnError) as same:
        tt.mean(duck, "x", table="claims", epsilon=1)
    assert str(said.value) == str(same.value)


def test_a_text_column_of_sqlite_charges_no_ledger(tmp_path, sqlite_of):
    ledger = tt.Ledger(str(tmp_path / "office.ledger"))
    ledger.create("claims", tt.pure(3))
    data = sqlite_of("TEXT", ["1.5"] * 100)
    with pytest.raises(ColumnError, match="is text"):
        tt.mean(data, "x", table="claims", epsilon=1, ledger=ledger, dataset="claims")
    assert ledger.remaining("claims").charges == 0


@pytest.mark.parametrize("declared", ["", "REAL", "NUMERIC", "INTEGER", "CHARINT"])
def test_what_sqlite_does_not_declare_as_text_is_read_as_before(declared, sqlite_of):
    release = tt.mean(sqlite_of(declared, [2] * N), "x", table="claims", epsilon=5)
    assert float(release) == pytest.approx(2, abs=0.1)


def test_text_in_sqlite_is_read_if_it_is_said_how(sqlite_of):
    data = sqlite_of("TEXT", ["1,200"] * N)
    release = tt.mean(data, "x", table="claims", epsilon=5, parse=tt.Parse(thousands=","))
    assert float(release) == pytest.approx(1200, rel=0.01)


@pytest.mark.parametrize(
    "data",
    [
        FRAME.groupby("state").amount,
        FRAME.groupby("state"),
        pl.from_pandas(FRAME).group_by("state"),
        pl.from_pandas(FRAME).lazy().group_by("state"),
    ],
    ids=["series", "pandas", "polars", "lazy"],
)
@pytest.mark.parametrize("column", [None, "amount"])
def test_groups_of_a_frame_are_refused(data, column):
    with pytest.raises(ParameterError, match=r"GroupBy. .* by='state'"):
        tt.mean(data, column, epsilon=1)
    with pytest.raises(ParameterError, match=r"GroupBy. .* by='state'"):
        tt.mean(data, "amount", by="state", keys=["CA"], epsilon=1)


def test_blanks_around_keys_are_how_people_write_lists(tmp_path, capsys):
    path = tmp_path / "claims.csv"
    FRAME.to_csv(path, index=False)
    asked = ["mean", str(path), "--column=amount", "--epsilon=5", "--by=state", "--csv"]
    assert main([*asked, "--keys", "CA, NY ,VT"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split(",")[0] for line in lines] == ["CA", "NY", "VT"]
    assert all(float(line.split(",")[1]) == pytest.approx(49.5, abs=5) for line in lines)
    (tmp_path / "keys").write_text("CA\n NY\n")
    assert main([*asked, "--keys-file", str(tmp_path / "keys")]) == 0
    assert "\n NY," in capsys.readouterr().out


def test_the_command_line_speaks_of_options(tmp_path, capsys):
    assert main(["plan", "--error", "200", "--epsilon", "1"]) == 2
    said = capsys.readouterr().err
    assert "or add --moment 2:SCALE or --bounds LOW:HIGH" in said
    assert "Use --relative-error 0.1 " in said
    assert main(["plan", "-n", "300", "--epsilon", "0.1"]) == 0
    said = capsys.readouterr().out
    assert "(--within) or a tail assumption (--moment or --bounds)" in said
    create = ["ledger", "create", "a", "--ledger", str(tmp_path / "l.ledger"), "--epsilon", "3"]
    assert main(create) == 0
    assert main(create) == 2
    assert "raise its budget with tametail ledger raise" in capsys.readouterr().err
    path = tmp_path / "claims.csv"
    FRAME.to_csv(path, index=False)
    asked = ["mean", str(path), "--column=amount", "--epsilon=1", "--dataset", "b c"]
    assert main([*asked, "--ledger", str(tmp_path / "l.ledger")]) != 0
    assert "create it with tametail ledger create 'b c' --epsilon 3. " in capsys.readouterr().err


def test_an_open_side_is_an_option_too():
    assert in_options("one-sided bounds such as Bounded(0, None).") == (
        "one-sided bounds such as --bounds 0:."
    )
    assert in_options("write tail=Bounded(0, None).") == "write --bounds 0:."


@pytest.mark.parametrize("columns", ["amount", ["amount", "more"]], ids=["one", "several"])
@pytest.mark.parametrize("by", [["state"], ["state", "amount"]], ids=["one cell", "two cells"])
def test_a_table_of_groups_says_how_to_find_a_row(columns, by):
    frame = FRAME.assign(more=1.0)
    keys = [("CA", 1), ("NY", 2)] if len(by) > 1 else ["CA", "NY"]
    table = tt.mean(frame, columns, by=by, keys=keys, epsilon=1)
    with pytest.raises(TypeError, match=r"or float\(release\[") as said:
        float(table)
    written = str(said.value).partition("float(")[2].removesuffix(").")
    assert eval(written, {"release": table}) is table.means[0]
    with pytest.raises(KeyError, match=r"Groups: .*'CA'.*'NY'"):
        table["ZZ"]


def test_only_the_first_groups_are_named():
    keys = [f"k{i}" for i in range(30)]
    table = tt.mean(FRAME, "amount", by="state", keys=keys, epsilon=1)
    with pytest.raises(KeyError, match=r"'k7', \.\.\.\.") as said:
        table["ZZ"]
    assert "k8" not in str(said.value)


def test_a_difference_has_the_confidence_that_was_asked_for():
    table = tt.mean(FRAME, "amount", by="state", keys=["CA", "NY"], epsilon=1)
    assert table.difference("CA", "NY").confidence == 0.95
    asked = {"by": "state", "keys": ["CA", "NY"], "simultaneous": True}
    assert tt.mean(FRAME, "amount", epsilon=1, **asked).difference("CA", "NY").confidence == 0.95


def test_a_path_is_no_axes():
    release = tt.mean(FRAME, "amount", epsilon=1)
    for drawn in (release, release.plan.for_size(N)):
        with pytest.raises(ParameterError, match=r"plot\(\)\.figure\.savefig\('picture\.png'\)"):
            drawn.plot("x.png")
