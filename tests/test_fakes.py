"""``tametail.testing``: fakes look like releases, never read data, and cannot be mistaken."""

import json
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import tametail as tt
from tametail import randomness, run
from tametail.cli import main
from tametail.errors import BudgetError, InternalError, LedgerIntegrityError, ParameterError
from tametail.ledger.registered import registry_entry
from tametail.ledger.verify import verify_entries
from tametail.planning import Plan
from tametail.testing import fake_releases


class Untouchable:
    """Data that nobody may look at: whatever is done with them raises."""

    def __getattribute__(self, name):
        raise AssertionError(f"the data were read: {name}")

    def _raise(self, *_):
        raise AssertionError("the data were read")

    __iter__ = __len__ = __getitem__ = __bool__ = __eq__ = __hash__ = __array__ = _raise
    __str__ = __repr__ = __fspath__ = __dataframe__ = __arrow_c_stream__ = _raise


REQUESTS = {
    "one column": {"column": "paid", "epsilon": 1},
    "no name": {"epsilon": 1},
    "two columns": {"column": ["paid", "open"], "rho": 0.5},
    "two columns, pure": {"column": ["paid", "open"], "epsilon": 2},
    "computed": {"column": "paid / open", "where": "age >= 65 and state != 'CA'", "epsilon": 1},
    "persons": {"column": "paid", "epsilon": 1, "person": "who"},
    "each person": {"column": "paid", "epsilon": 1, "person": ["who", "when"], "each": "person"},
    "groups": {
        "column": "paid",
        "epsilon": 1,
        "by": "state",
        "keys": ["CA", "NY"],
        "other": "rest",
    },
    "numbers as keys": {"column": "paid", "epsilon": 1, "by": "year", "keys": [2024, 2025]},
    "two columns of keys": {
        "column": "paid",
        "epsilon": 1,
        "by": ["state", "year"],
        "keys": [("CA", 1), ("NY", 2)],
    },
    "unknown groups": {"column": "paid", "epsilon": 1, "delta": 1e-6, "by": "state"},
    "persons in groups": {
        "column": "paid",
        "epsilon": 1,
        "delta": 1e-6,
        "person": "who",
        "by": "state",
        "keys": ["CA", "NY"],
    },
    "columns in groups": {
        "column": ["paid", "open"],
        "epsilon": 2,
        "by": "state",
        "keys": ["CA", "NY"],
    },
    "share": {"column": "paid > 1", "epsilon": 1},
    "share by group": {"column": "paid > 1", "epsilon": 1, "by": "state", "keys": ["CA", "NY"]},
    "share of persons": {"column": "paid > 1", "epsilon": 1, "person": "who"},
    "replace-one": {"column": "paid", "epsilon": 1, "neighbors": "replace-one", "missing": "none"},
    "moment": {"column": "paid", "epsilon": 1, "tail": tt.Moment(2, 100), "within": (0, 1e5)},
    "bounded": {"column": "age", "epsilon": 1, "tail": tt.Bounded(0, 120)},
    "half a line": {
        "column": "paid",
        "epsilon": 1,
        "tail": tt.Bounded(0, None),
        "within": (10, 1e9),
    },
    "no interval": {"column": "paid", "epsilon": 1, "confidence": None},
    "few": {"column": "paid", "epsilon": 0.1, "n": 30},
    "more than anyone makes up": {"column": "paid", "epsilon": 1, "n": 10**12},
}
ALL = pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)


def fake(seed=1, **asked):
    with fake_releases(seed):
        return tt.mean(Untouchable(), **asked)


@ALL
def test_data_are_not_read_and_the_same_seed_gives_the_same_fake(request_):
    release = fake(**request_)
    assert release == fake(**request_)
    assert release.answers == fake(**request_).answers
    assert release.answers != fake(seed=2, **request_).answers
    assert tt.replay(release.plan, release.answers) == release


@ALL
def test_every_form_says_that_it_is_fake(request_, tmp_path, capsys):
    release = fake(**request_)
    assert release.fake
    assert release.notes[0].code == "fake"
    for shown in (str(release), repr(release), release.sentence(), release._repr_html_()):
        assert "FAKE:" in shown
    assert str(release.plan).startswith("FAKE: ")
    assert json.loads(release.to_json())["fake"] is True
    assert tt.Release.from_json(release.to_json()).fake
    assert tt.Release.from_json(release.to_json()) == release
    assert Plan.from_json(release.plan.to_json()).request.fake
    assert tt.replay(release.plan, release.answers).fake
    assert all("FAKE:" in cell for cell in release.cells()["notes"])
    release.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    marked = [svg for svg in page.split("<svg")[1:] if "Budget split" not in svg.split("</svg>")[0]]
    assert all(">FAKE</text>" in svg.split("</svg>")[0] for svg in marked)
    assert "<h1>FAKE: " in page
    assert main(["replay", str(tmp_path / "report.html")]) == 1
    out = capsys.readouterr().out
    assert out.startswith("FAKE: ")
    assert "NOT OK" not in out
    assert "CHANGED" not in out


@pytest.mark.parametrize("name", ["one column", "two columns", "groups"])
def test_pictures_say_that_they_are_fake(name):
    import matplotlib as mpl

    mpl.use("Agg")
    axes = fake(**REQUESTS[name]).plot()
    assert axes.get_title(loc="left").startswith("FAKE: ")
    assert "FAKE" in [text.get_text() for text in axes.texts]


SHAPES = {
    "one column": {"column": "paid", "epsilon": 1},
    "two columns": {"column": ["paid", "open"], "rho": 0.5},
    "persons": {"column": "paid", "epsilon": 1, "person": "who"},
    "each person": {"column": "paid", "epsilon": 1, "person": "who", "each": "person"},
    "groups": {
        "column": "paid",
        "epsilon": 1,
        "by": "state",
        "keys": ["CA", "NY"],
        "other": "rest",
    },
    "share": {"column": "paid > 1", "epsilon": 1},
    "share by group": {"column": "paid > 1", "epsilon": 1, "by": "state", "keys": ["CA", "NY"]},
    "share of persons": {"column": "paid > 1", "epsilon": 1, "person": "who"},
    "replace-one": {"column": "paid", "epsilon": 1, "neighbors": "replace-one", "missing": "none"},
    "persons in groups": {
        "column": "paid",
        "epsilon": 1,
        "delta": 1e-6,
        "person": "who",
        "by": "state",
        "keys": ["CA", "NY"],
    },
}


@pytest.mark.parametrize("asked", SHAPES.values(), ids=SHAPES)
def test_a_fake_has_the_shape_of_a_release(asked):
    """The same keys, types and columns as a real release of the same request."""
    size, rng = 30_000, np.random.default_rng(1)
    records = {"paid": rng.lognormal(size=size), "open": rng.lognormal(size=size)}
    frame = pd.DataFrame(
        records | {"who": np.arange(size) // 3, "state": ["CA", "NY", "TX"] * (size // 3)}
    )
    with fake_releases():
        made_up = tt.mean(frame, **asked)
    real = tt.mean(frame, **asked)
    assert not real.fake
    assert "fake" not in real.to_dict()
    assert type(made_up.value) is type(real.value)
    assert [row.label for row in made_up] == [row.label for row in real]
    if made_up.means[0].label == "share":
        assert all(0 <= row.low <= row.value <= row.high <= 1 for row in made_up)
    assert np.shape(made_up.value) == np.shape(real.value)
    assert made_up.columns == real.columns
    assert made_up.guarantee == real.guarantee
    assert list(made_up.to_frame().columns) == list(real.to_frame().columns)
    assert list(made_up.to_frame().dtypes) == list(real.to_frame().dtypes)
    assert set(made_up.to_dict()) == {*real.to_dict(), "fake"}
    assert [set(row.to_dict()) for row in made_up] == [set(row.to_dict()) for row in real]
    assert [row.group for row in made_up] == [row.group for row in real]
    codes = {note.code for note in real.notes}
    assert {note.code for note in made_up.notes} == codes | {"fake"}
    assert made_up.has_warnings == real.has_warnings


def test_what_nobody_said_is_an_argument():
    with fake_releases(n=500, columns=4, groups=2):
        assert fake_in_block().plan.n_columns == 4
        release = tt.mean(Untouchable(), "paid", epsilon=1, delta=1e-6, by="state")
        assert [row.group for row in release] == ["fake 1", "fake 2"]
        assert tt.mean(Untouchable(), "paid", epsilon=1, neighbors="replace-one").plan.n == 500


def fake_in_block():
    return tt.mean(Untouchable(), rho=1)


@pytest.mark.parametrize(
    "wrong", [{"seed": "1"}, {"seed": True}, {"n": 0}, {"columns": 0}, {"groups": 10**6}]
)
def test_wrong_arguments_are_refused(wrong):
    with pytest.raises(ParameterError), fake_releases(**wrong):
        pass
    assert not tt.mean([1.0, 2.0] * 500, epsilon=1).fake


def test_a_plan_of_a_release_makes_fakes_and_a_plan_of_a_fake_no_releases():
    plan = tt.plan(n=5_000, epsilon=1)
    with fake_releases():
        release = tt.mean(Untouchable(), "paid", plan=plan)
    assert release.fake
    assert release.plan.n == 5_000
    assert not plan.request.fake
    with pytest.raises(ParameterError, match="plan belongs to a fake"):
        tt.mean([1.0, 2.0] * 500, plan=release.plan.with_names(["0"]))


def test_everything_is_real_again_afterwards_also_after_an_error():
    with pytest.raises(KeyError), fake_releases():
        raise KeyError
    assert not tt.mean([1.0, 2.0] * 500, epsilon=1).fake


def test_blocks_in_blocks():
    with fake_releases(1):
        first = tt.mean(Untouchable(), "x", epsilon=1)
        with fake_releases(2):
            assert tt.mean(Untouchable(), "x", epsilon=1) != first
        assert tt.mean(Untouchable(), "x", epsilon=1) == first


def test_threads_of_the_program_make_fakes_too():
    with fake_releases(), ThreadPoolExecutor(4) as pool:
        releases = list(pool.map(lambda _: tt.mean(Untouchable(), "x", epsilon=1), range(8)))
    assert all(release.fake and release == releases[0] for release in releases)


def test_a_changed_mark_is_noticed():
    record = fake(column="paid", epsilon=1).to_dict()
    for change in (
        lambda r: r.pop("fake"),
        lambda r: r["plan"]["request"].pop("fake"),
        lambda r: r["shared_notes"].pop(0) and r["notes"].pop(0),
    ):
        changed = json.loads(json.dumps(record))
        change(changed)
        with pytest.raises(ParameterError, match="was edited"):
            tt.Release.from_dict(changed)


# --- no seed for real noise ---------------------------------------------------------------------


@pytest.mark.real_noise(fails=2.0**-256)
def test_the_door_draws_as_ever_inside_of_the_block():
    def drawn():
        with fake_releases(seed=1):
            tt.mean(Untouchable(), "x", epsilon=1)
            return randomness.random_bits(256)

    assert not randomness.draws_for_fakes()
    assert drawn() != drawn()


def test_only_what_is_marked_is_released_with_seeded_noise():
    plan = tt.plan(n=1_000, epsilon=1)
    release = tt.mean([1.0, 2.0] * 500, plan=plan)
    with (
        randomness.drawing_for_fakes(randomness.SystemSource()),
        pytest.raises(InternalError, match="marked as fake"),
    ):
        run.run(*run.prepare_replay(release.plan, release.answers))


@pytest.mark.parametrize(
    "call",
    [
        lambda: tt.paper.mean_1d([1.0] * 9, tt.pure(1), alpha=0.1, beta=0.1, k=2, R=10),
        lambda: tt.paper.range_estimate([1.0] * 9, tt.pure(1), alpha=0.1, k=2, R=10),
        lambda: tt.mechanisms.histogram([1] * 9, tt.pure(1), universe=(0, 9)),
    ],
)
def test_functions_whose_results_cannot_be_marked_are_refused(call):
    with fake_releases(), pytest.raises(ParameterError, match="cannot be marked as fake"):
        call()


def test_opendp_measurements_release_fakes():
    with fake_releases():
        release = tt.as_opendp(tt.plan(n=3_000, epsilon=0.5))([1.0, 2.0, 4.0] * 1_000)
    assert release.fake


# --- ledgers ------------------------------------------------------------------------------------


@pytest.fixture
def ledger(tmp_path):
    return tt.Ledger(tmp_path / "office.ledger")


def test_a_ledger_of_real_data_sets_refuses_fakes(ledger):
    head = ledger.create("claims", budget=tt.pure(3))
    with fake_releases():
        with pytest.raises(BudgetError, match="is real"):
            tt.mean(Untouchable(), "paid", epsilon=1, ledger=ledger, dataset="claims")
        with pytest.raises(BudgetError, match="is real"):
            ledger.charge("claims", tt.pure(1))
        with pytest.raises(BudgetError, match="is real"):
            ledger.create("more", budget=tt.pure(3))
        with pytest.raises(BudgetError, match="is real"):
            ledger.create("other name", alias_of="claims")
        with pytest.raises(BudgetError, match="is real"):
            ledger.raise_budget("claims", tt.pure(4), "a test")
        with pytest.raises(BudgetError, match="is real"):
            ledger.close("claims", "a test")
    assert ledger.head == head


def test_a_ledger_of_fakes_takes_fakes_and_no_releases(ledger, capsys):
    with fake_releases():
        ledger.create("claims", budget=tt.pure(3), person="who")
        asked = {
            "column": "paid",
            "epsilon": 1,
            "person": "who",
            "ledger": ledger,
            "dataset": "claims",
        }
        first = tt.mean(Untouchable(), **asked, release_id="monthly")
        assert first.fake
        assert first.receipt["release_id"] == "monthly"
        assert tt.mean(Untouchable(), **asked, release_id="monthly").issued == first.issued
        assert ledger.remaining("claims").epsilon == 2
        tt.mean(Untouchable(), **asked)
        tt.mean(Untouchable(), **asked)
        with pytest.raises(BudgetError):
            tt.mean(Untouchable(), **asked)
    assert str(ledger.remaining("claims")).startswith("FAKE claims")
    assert main(["ledger", "show", "--ledger", ledger._shown]) == 0
    assert "FAKE claims" in capsys.readouterr().out
    with pytest.raises(BudgetError, match="is fake"):
        tt.mean([1.0, 2.0] * 500, epsilon=0.1, ledger=ledger, dataset="claims")
    with pytest.raises(BudgetError, match="is fake"):
        ledger.create("real", budget=tt.pure(1))
    assert ledger.verify().entries == 7


def test_a_ledger_that_mixes_both_does_not_verify(ledger, tmp_path):
    other = tt.Ledger(tmp_path / "other.ledger")
    ledger.create("claims", budget=tt.pure(3))
    with fake_releases():
        other.create("made up", budget=tt.pure(3))
    with ledger._storage.reading() as rows, other._storage.reading() as more:
        (first,), (second,) = list(rows.all()), list(more.all())
    mixed = type(second).after((first.seq, first.hash), "open", second.dataset, second.read())
    assert verify_entries([first]).entries == 1
    with pytest.raises(LedgerIntegrityError, match="mixes"):
        verify_entries([first, mixed])


# --- the registry of deployments, the command line and the plug-in ---


def test_a_fake_is_no_deployment(ledger):
    with pytest.raises(ParameterError, match="fake"):
        fake(column="paid", epsilon=1).registry()
    with fake_releases():
        ledger.create("claims", budget=tt.pure(3))
    with pytest.raises(ParameterError, match="fake"):
        registry_entry(ledger, "claims")


def test_the_command_line_inside_of_the_block(capsys, tmp_path):
    with fake_releases():
        assert main(["mean", "nowhere.csv", "-c", "paid", "--epsilon", "1"]) == 0
        assert capsys.readouterr().out.startswith("mean       FAKE: ")
        assert main(["mean", "nowhere.csv", "-c", "paid", "--epsilon", "1", "-q"]) == 0
        shown = capsys.readouterr()
        assert float(shown.out) > 0
        assert "FAKE:" in shown.err
        assert main(["mean", "nowhere.csv", "-c", "paid", "--epsilon", "1", "--csv"]) == 0
        assert "FAKE:" in capsys.readouterr().out


def test_pytest_finds_the_fixture(tmp_path):
    test = tmp_path / "test_pipeline.py"
    test.write_text(
        textwrap.dedent(
            """
            import tametail as tt

            def test_fixture(fake_releases):
                assert tt.mean("nowhere.csv", "paid", epsilon=1).fake

            def test_without_it():
                assert not tt.mean([1.0, 2.0] * 500, epsilon=1).fake
            """
        )
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed" in done.stdout, done.stdout + done.stderr
