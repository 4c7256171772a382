"""The shell: many files, standard input, forms of output, words that speak of options."""

import gzip
import io
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
from fcntl import ioctl

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import tametail as tt
from tametail import cli, notes
from tametail.cli.messages import in_options
from tametail.data.open import open_source
from tametail.data.sources import json as json_source
from tametail.errors import ColumnError, DataError, ParameterError
from tametail.queries.column import Count

from .opened import open_table
from .seeded import seeded_program

AMOUNTS = np.random.default_rng(4).lognormal(3, 0.5, 3000)
MEAN = float(AMOUNTS.mean())


@pytest.fixture
def run(capsys):
    def call(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def csv_of(cells, sign=","):
    return f"id{sign}amount\n" + "".join(f"{i}{sign}{x}\n" for i, x in enumerate(cells))


def write(folder, name):
    """Write the amounts in the format that a file's name says."""
    path, table = folder / name, pa.table({"id": range(len(AMOUNTS)), "amount": AMOUNTS})
    if name.endswith((".parquet", ".pq")):
        pq.write_table(table, path)
    elif name.endswith(".feather"):
        pyarrow.feather.write_feather(table, path, compression="lz4")
    elif name.endswith("stream.arrow"):
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
    elif name.endswith(".arrow"):
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=700)
    elif name.endswith((".jsonl", ".ndjson")):
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        text = csv_of(AMOUNTS, "\t" if ".tsv" in name else ",").encode()
        packed = {".gz": gzip.compress, ".zst": lambda t: pa.compress(t, "zstd", asbytes=True)}
        path.write_bytes(packed.get(path.suffix, bytes)(text))
    return path


NAMES = [
    "x.parquet", "x.pq", "x.feather", "x.arrow", "stream.arrow", "x.jsonl", "x.ndjson", "x.csv",
    "x.tsv", "x.csv.gz", "x.csv.zst", "x.tsv.zst",
]  # fmt: skip


def says_nothing(err):
    """Say whether nothing was said but what one release in fifty warns of: far records."""
    return err == "" or (
        err.count("\n") == 1 and err.startswith("warning: A small group of records")
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_file(run, tmp_path, name):
    path = write(tmp_path, name)

    def middle(column):
        """Of three releases: one in ten thousand is off by 5%, and its interval says so."""
        found = [run("mean", path, "-c", column, "-e", 5, "--quiet") for _ in range(3)]
        assert all(code == 0 and says_nothing(err) for code, _, err in found)
        return np.median([float(out) for _, out, _ in found])

    assert middle("amount") == pytest.approx(MEAN, rel=0.05)
    assert middle("amount * 2") == pytest.approx(2 * MEAN, rel=0.05)
    for more in (["--person=id"], ["--where=id >= 0"], ["--neighbors=replace-one"]):
        code, out, err = run("mean", path, "-c", "amount", "-e", 5, "--quiet", *more)
        assert code == 0, more
        assert says_nothing(err), more
        assert float(out) == pytest.approx(MEAN, rel=0.1), more


def test_several_files_and_patterns(run, tmp_path):
    for name in ("a.csv", "b.csv"):
        write(tmp_path, name)
    both = tmp_path / "a.csv", tmp_path / "b.csv"
    for files in (both, [tmp_path / "*.csv"]):
        code, out, _ = run("mean", *files, "-c", "amount", "-e", 5, "--json", "-n", 6000)
        assert code == 0
        assert json.loads(out)["value"] == pytest.approx(MEAN, rel=0.05)
    code, out, err = run("mean", *both, tmp_path / "c.csv", "-c", "amount", "-e", 5)
    assert (code, out) == (4, "")
    assert "c.csv'. Check the path. Columns are named with --column" in err


@pytest.mark.parametrize(
    ("name", "form"),
    [("x.csv", "csv"), ("x.tsv", "tsv"), ("x.pq", "parquet"), ("x.arrow", "arrow"),
     ("x.feather", "feather"), ("x.jsonl", "jsonl")],
)  # fmt: skip
def test_standard_input(tmp_path, name, form):
    path = write(tmp_path, name)
    command = ["-m", "tametail", "mean", "-", "-c", "amount", "-e", "5", "-q", "--format", form]
    with path.open("rb") as stream:
        program = seeded_program(f"standard input {name}", *command)
        done = subprocess.run(**program, stdin=stream, capture_output=True, check=True)
    assert done.stderr == ""
    assert float(done.stdout) == pytest.approx(MEAN, rel=0.05)


class Watched(io.BytesIO):
    """A stream that knows whether it was read."""

    was_read = False

    def read(self, *size):
        self.was_read = True
        return super().read(*size)

    read1 = readinto = None


def test_a_stream_is_read_after_the_charge_and_once(tmp_path):
    stream, parse = Watched(csv_of(AMOUNTS).encode()), tt.Parse(format="csv")
    ledger = tt.Ledger(str(tmp_path / "x.ledger"))
    ledger.create("claims", tt.pure(1))
    with pytest.raises(tt.errors.BudgetError):
        tt.mean(stream, "amount", epsilon=2, parse=parse, ledger=ledger, dataset="claims")
    assert not stream.was_read
    paid = {"ledger": ledger, "dataset": "claims"}
    release = tt.mean(stream, "amount", epsilon=1, parse=parse, where="id < 3000", **paid)
    assert float(release) == pytest.approx(MEAN, rel=0.1)
    assert stream.was_read


def test_what_a_stream_must_say(run, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x\n1\n")))
    with pytest.raises(ParameterError, match=r"Parse\(format='csv'\)"):
        tt.mean(io.BytesIO(b"x\n1\n"), "x", epsilon=1)
    assert "--column NAME" in run("mean", "-", "-e", 1, "--format=csv")[2]
    assert "cannot be combined with files" in run("mean", "-", "y.csv", "-e", 1, "--format=csv")[2]
    code, _, err = run("mean", "-", "-c", "y", "-e", 1, "--format=csv")
    assert code == 4
    assert "is spent" in err
    with open(write(tmp_path, "x.csv")) as text, pytest.raises(ParameterError, match="'rb'"):
        tt.mean(text, "amount", epsilon=1)


def test_lines_of_json_that_are_no_records(tmp_path):
    path = tmp_path / "x.jsonl"
    lines = ['{"x": 1}', "[1]", "{", '{"x": "2"}', '{"y": 1}', "", '{"x": 1e999}', "NaN",
             '{"x": ' + "9" * 5000 + "}", "[" * 100_000, '{"x": true}', '{"x": [1]}', "\xff",
    ]  # fmt: skip
    path.write_bytes("\n".join(lines).encode("latin-1"))
    assert open_table(path, "x").answer(Count()) == (3, len(lines) - 3, 0)
    assert open_table(path, "x", parse=tt.Parse()).answer(Count()) == (4, len(lines) - 4, 0)
    with pytest.raises(ColumnError, match="No column is chosen"):
        open_table(path)


def test_a_line_of_json_too_long_is_one_missing_record(tmp_path, monkeypatch):
    monkeypatch.setattr(json_source, "_LONGEST", 50)
    path = tmp_path / "x.jsonl"
    path.write_text('{"x": 1}\n{"x": 2, "y": "' + "a" * 500 + '"}\n{"x": 3}\n')
    assert open_table(path, "x").answer(Count()) == (2, 1, 0)


@pytest.mark.parametrize("name", ["x.arrow", "stream.arrow"])
def test_a_file_that_is_truncated_while_it_is_read_is_an_error(tmp_path, name):
    """Were it mapped into memory, the operating system would end the process."""
    path, told = write(tmp_path, name), 0
    for records in open_source(path).blocks([("amount", "number")], lambda _: None):
        told += len(records["amount", "number"])
        break
    stream = open_source(path).blocks([("amount", "number")], lambda _: None)
    os.truncate(path, path.stat().st_size // 3)
    with pytest.raises(DataError, match="cannot be read as Arrow"):
        list(stream)
    assert told


def test_an_arrow_file_without_a_batch_has_no_records(tmp_path):
    path = tmp_path / "x.arrow"
    with pa.ipc.new_file(path, pa.schema({"x": pa.float64(), "who": pa.string()})):
        pass
    for more in ({}, {"person": "who"}, {"by": "who", "keys": ["a"]}):
        assert tt.mean(path, "x", epsilon=1, **more).guarantee.epsilon == 1


@pytest.mark.parametrize("name", ["x.arrow", "x.feather", "x.parquet", "x.csv.zst"])
def test_files_that_are_something_else(run, tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"SECRET 4711\n" * 9)
    code, out, err = run("mean", path, "-c", "SECRET", "-e", 1)
    assert (code, out) == (4, "")
    assert "4711" not in err
    assert "cannot be read as" in err


def test_a_format_may_be_said(run, tmp_path):
    path = tmp_path / "amounts.txt"
    path.write_text(csv_of(AMOUNTS))
    code, _, err = run("mean", path, "-c", "amount", "-e", 5)
    assert code == 4
    assert "--format csv" in err
    assert run("mean", path, "-c", "amount", "-e", 5, "--format", "csv")[0] == 0
    with pytest.raises(DataError, match="CSV and Parquet files"):
        tt.mean([write(tmp_path, "x.csv"), write(tmp_path, "x.pq")], "amount", epsilon=1)


# --- forms


def test_forms_of_output(run, tmp_path):
    path = write(tmp_path, "x.parquet")
    asked = ["mean", path, "-c", "amount", "-e", 5]
    for name in ("o.json", "o.csv", "o.txt"):
        file = tmp_path / name
        code, out, err = run(*asked, "-o", file)
        assert (code, out, err) == (0, "", f"wrote {file}\n")
    assert json.loads((tmp_path / "o.json").read_text())["method"] == "winsorized mean"
    assert (tmp_path / "o.csv").read_text().startswith("column,")
    assert "\nmean  " in "\n" + (tmp_path / "o.txt").read_text()  # after warnings, if any
    for wrong in (["-o", tmp_path], ["--json", "--csv"], ["-o", tmp_path / "no" / "x.csv"]):
        code, out, err = run(*asked, *wrong)
        assert (code, out) == (2, "")
        assert "--" in err


def test_quiet_prints_values_and_warnings_apart(run, tmp_path):
    path = write(tmp_path, "x.parquet")
    code, out, err = run("mean", path, "-c", "amount", "-c", "id", "--rho", 2, "-q")
    assert (code, len(out.split()), err) == (0, 2, "")
    code, out, err = run("mean", path, "-c", "amount", "-e", 1e-4, "-q")
    assert (code, len(out.split())) == (0, 1)
    assert all(line.startswith("warning: ") for line in err.splitlines())


def test_every_row_that_was_paid_for_is_printed(run, tmp_path):
    """A second release would cost again: no form of output leaves a row out."""
    path = tmp_path / "x.csv"
    path.write_text(csv_of(AMOUNTS))
    keys = [str(key) for key in range(50)]
    asked = ["count", path, "-c", "amount", "-e", 1, "--by", "id", "--keys", ",".join(keys)]
    file = tmp_path / "o.txt"
    assert run(*asked, "-o", file)[0] == 0
    for words in (run(*asked)[1], run(*asked, "--sentence")[1], file.read_text()):
        assert set(keys) <= {line.split()[0] for line in words.splitlines() if line}
        assert "more rows" not in words
    release = tt.count(path, "amount", epsilon=1, by="id", keys=keys)
    assert "10 more rows: use to_frame()" in str(release)  # which is there, and costs nothing


def test_messages_name_what_can_be_typed(run, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("id,a,b\n" + "1,north,2023\n" * 1000)
    by = ["mean", path, "-c", "id", "-e", 1, "--by", "a"]
    code, out, err = run(*by, "--by", "b", "--keys", "north,2023")
    assert (code, out) == (2, "")
    assert "2 entries" in err
    assert "Use --keys-file with a line per group and a tab between the entries" in err
    saved = tmp_path / "p.json"
    saved.write_text(tt.plan(n=1000, epsilon=1).to_json())
    code, out, err = run("mean", path, "-c", "id", "--plan", saved, "--groups-per-person", 1)
    assert (code, out) == (2, "")
    assert "--groups-per-person cannot be combined" in err
    with pytest.raises(ParameterError, match="keys must be text, such as '2023'"):
        tt.mean(str(path), "id", epsilon=1, by="a", keys=[2023])


@pytest.mark.parametrize("grouped", [False, True])
def test_a_warning_says_what_is_shown_and_what_to_do(run, tmp_path, grouped):
    path = tmp_path / "x.csv"
    path.write_text("p,x,g\n" + "".join(f"{i // 3},{i % 7},{i % 2}\n" for i in range(900)))
    by = ["--by", "g", "--keys", "0,1"] if grouped else []
    for each in ("record", "person"):
        ask = ["mean", path, "-c", "x", "--person", "p", "--each", each, *by]
        out = run(*ask, "-e", 0.01)[1]
        assert " shows the overall mean" not in out
        assert "the result is" not in out
        assert "larger epsilon" in out
        assert ("no reliable estimate" in out) or "no signal" in out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(run, shell):
    code, out, err = run("completion", shell)
    assert (code, err) == (0, "")
    assert "_TAMETAIL_COMPLETE" in out
    done = subprocess.run(
        [sys.executable, "-m", "tametail"],
        env=os.environ
        | {"_TAMETAIL_COMPLETE": "bash_complete", "COMP_WORDS": "tametail mean x --thou",
           "COMP_CWORD": "3"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "--thousands" in done.stdout


@pytest.mark.parametrize(
    ("shell", "place", "start"),
    [
        ("bash", ".local/share/bash-completion/completions/tametail", ".bashrc"),
        ("zsh", ".zfunc/_tametail", ".zshrc"),
        ("fish", ".config/fish/completions/tametail.fish", None),
    ],
)
def test_completion_installs_with_one_command(run, tmp_path, monkeypatch, shell, place, start):
    monkeypatch.setenv("HOME", str(tmp_path))
    if start:
        (tmp_path / start).write_text("alias ll='ls -l'")
    for _ in range(2):
        code, out, err = run("completion", shell, "--install")
        assert (code, out) == (0, "")
        assert place in err
    assert "_TAMETAIL_COMPLETE" in (tmp_path / place).read_text()
    if start:
        first, *lines = (tmp_path / start).read_text().splitlines()
        assert first == "alias ll='ls -l'"
        assert len(lines) == 1


def test_bash_completes_what_was_installed(run, tmp_path, monkeypatch):
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    monkeypatch.setenv("HOME", str(tmp_path))
    run("completion", "bash", "--install")
    loaded = "set -u; . ~/.bashrc; complete -p tametail"
    done = subprocess.run([bash, "-c", loaded], capture_output=True, text=True, check=True)
    assert "_tametail_completion" in done.stdout


def test_completion_that_cannot_be_written(run, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    code, _, err = run("completion", "fish", "--install")
    assert code == 4
    assert "tametail completion fish > FILE" in err


@pytest.mark.parametrize("width", [50, 90])
def test_lines_fit_the_terminal(tmp_path, monkeypatch, width):
    path = write(tmp_path, "x.csv")
    terminal, other = pty.openpty()
    ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    monkeypatch.delenv("COLUMNS", raising=False)
    command = ["-m", "tametail", "mean", path, "-camount", "-e", "0.01"]
    program = seeded_program(f"a terminal of {width}", *command)
    subprocess.run(**program, stdin=other, stdout=other, check=True)
    os.close(other)
    shown = os.read(terminal, 1 << 16).decode().splitlines()
    os.close(terminal)
    assert max(map(len, shown)) < width
    assert any(line.startswith(" " * 11) for line in shown)


# --- words


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("write column='a', or column=['a', 'b'].", "write --column a, or --column a --column b."),
        ("Invalid epsilon=-1.0", "Invalid --epsilon -1.0"),
        ("person=, where= and so on", "--person, --where and so on"),
        ("within=(0.0, 5.0) is", "--within 0.0:5.0 is"),
        ("n=-3 is", "-n -3 is"),
        ("such as keys=['CA', 'NY'].", "such as --keys CA,NY."),
        ("by=['state', 'year'].", "--by state --by year."),
        (
            "write currency='$', or currency=('USD', 'EUR')",
            "write --currency '$', or --currency USD --currency EUR",
        ),
        ("Use Bounded(low, high) with low < high.", "Use --bounds LOW:HIGH with low < high."),
        ("or rho=0.5, or budget=pure(1), one", "or --rho 0.5, one"),
        ("tail=Bounded(0, 9) or tail=", "--bounds 0:9 or --moment or --bounds"),
        ("same_scale=True is for", "--same-scale is for"),
        ("release_id='x y'", "--release-id 'x y'"),
        ('where="age >= 65".', "--where 'age >= 65'."),
        ("parse=Parse(delimiter=';')", "--delimiter ';'"),
        ("say how with parse=; rows", "say how with --decimal, --thousands or --currency; rows"),
        ("epsilon = 1 and region=5", "epsilon = 1 and region=5"),
    ],
)
def test_arguments_become_options(said, expected):
    assert in_options(said) == expected


ARGUMENT = re.compile(
    r"(?<!\S)\(?(?:epsilon|column|within|tail|parse|person|where|by|keys|n|unit)="
)


def test_messages_speak_of_options(run, tmp_path):
    path, text = write(tmp_path, "x.parquet"), tmp_path / "text.parquet"
    pq.write_table(pa.table({"v": ["a"], "w": [1.0]}), text)
    mistakes = [
        [path, "-e", 1], [path, "-c", "amuont", "-e", 1], [path, "-c", "amount", "-e", -1],
        [path, "-c", "amount", "-e", 1, "--within", "5:1"],
        [path, "-c", "amount", "-e", 1, "--each", "person"],
        [path, "-c", "amount", "-e", 1, "--by", "id"],
        [path, "-c", "amount", "-e", 1, "--where", "amount"],
        [path, "-c", "amount", "-e", 1, "-n", -1],
        [path, "-c", "amount", "-c", "id", "-e", 1, "--where", "id >"],
        [path, "-c", "amount", "-e", 1, "--missing=none", "--where", "id > 3"],
        [text, "-c", "v", "-e", 1], [text, "-c", "w", "-c", "w", "-e", 1],
        [text, "-c", "w", "-e", 1, "--thousands", "x"], [text, "-c", "w", "-e", 1, "--same-scale"],
    ]  # fmt: skip
    for mistake in mistakes:
        code, out, err = run("mean", *mistake)
        assert code in (2, 3, 4), mistake
        assert out == ""
        assert not ARGUMENT.search(err), err
    for note in vars(notes).values():
        if isinstance(note, notes.Note):
            assert not ARGUMENT.search(in_options(str(note)))


@pytest.mark.parametrize(
    "text", ["Smith,184000\nJones,2\n", "Smith;184000\nJones;2\n", "184000\n2\n"]
)
def test_a_file_without_names_is_not_guessed_at(run, tmp_path, text):
    path = tmp_path / "x.csv"
    path.write_text(text)
    for column in (["-c", "salary"], ["-c", "Smit"], []):
        code, out, err = run("mean", path, *column, "-e", 1)
        assert (code, out) == (4, "")
        assert not re.search("Smith|184000|Jones", err)
        for option in ("--no-header", "--header", "--delimiter ';'"):
            assert option in err


class Broken(io.RawIOBase):
    """A stream, of a caller's own class, that fails in its own words."""

    def readable(self):
        return True

    def readinto(self, buffer):
        raise RuntimeError("zebrafish")


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_a_stream_that_fails_is_an_error_of_ours(adjacency):
    with pytest.raises(DataError, match="cannot be read to its end") as caught:
        tt.mean(Broken(), "x", epsilon=1, parse=tt.Parse(format="csv"), neighbors=adjacency)
    assert caught.value.__context__ is None or "zebrafish" not in str(caught.value.__context__)
