"""How many cells were numbers: counted in three cells, released as a share, with a warning."""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tametail as tt
from tametail.data.cells import LEFT_OUT
from tametail.data.kernels.passes import Passes
from tametail.keys import Key
from tametail.means import CellCounts
from tametail.privacy.adjacency import Adjacency
from tametail.queries.column import Count
from tametail.queries.groups import Keyed
from tametail.queries.rows import Rows

from .opened import open_groups, open_table

CELLS = [1.0, 2.0, math.nan, 4.0, math.nan, 6.0]
KEPT = [True, False, True, True, False, True]
FRAME = pa.table({"v": CELLS, "w": CELLS[::-1], "kept": [int(k) for k in KEPT], "who": [*"aabbcc"]})


# --- exact counts


def test_three_cells():
    assert open_table(CELLS).answer(Count()) == (4, 2, 0)
    assert open_table(FRAME, "v").answer(Count()) == (4, 2, 0)
    assert open_table(FRAME, "v", where="kept == 1").answer(Count()) == (3, 1, 2)
    assert open_table(FRAME, ["v", "w"], where="kept == 1").answer(Rows()) == (4, 2)
    assert open_table(FRAME, ["v", "w"], where="kept == 1").column(0).answer(Count()) == (3, 1, 2)
    assert open_table(FRAME, ["v", "w"]).answer(Rows()) == (6, 0)


def test_persons_are_in_one_cell_each():
    """Ann has a number, Bob's is missing, Cem's records are left out."""
    frame = pa.table(
        {"v": [1.0, math.nan, math.nan, 5.0, 5.0], "k": [1, 1, 1, 0, 0], "who": [*"aabcc"]}
    )
    assert open_table(frame, "v", person="who").answer(Count()) == (2, 1, 0)
    engine = open_table(frame, "v", person="who", where="k == 1")
    assert engine.answer(Count()) == (1, 1, 1)
    assert engine.column(0).answer(Count()) == (1, 1, 1)


def test_groups_count_their_own_cells():
    engine = open_groups(FRAME, "v", ["who"], where="kept == 1").grouped(
        [Key(("a",)), Key(("b",))], other=True
    )
    assert engine.answer(Count()) == (3, 1, 2)
    assert engine.answer(Keyed((Count(),) * 3)) == [(1, 0, 1), (1, 1, 0), (1, 0, 1)]
    assert engine.keys([2, 0]).answer(Count()) == (2, 0, 2)
    assert engine.column(0).keys([1]).answer(Count()) == (1, 1, 0)


RECORDS = st.lists(st.sampled_from([1.0, math.inf, math.nan, LEFT_OUT]), max_size=6)


@settings(max_examples=100, deadline=None)
@given(others=RECORDS, first=RECORDS.filter(len), second=RECORDS.filter(len))
def test_no_neighbor_moves_the_counts_further(others, first, second):
    def counts(query, records):
        chunk = np.array(records, dtype=np.float64)
        chunk = chunk[:, np.newaxis] if isinstance(query, Rows) else chunk
        return np.array(Passes(filtered=True).answer(query, lambda _: [chunk]))

    for query in (Count(), Rows()):
        before, after, other = (
            counts(query, [*others, *more]) for more in ([], first[:1], second[:1])
        )
        added, replaced = np.abs(after - before), np.abs(after - other)
        assert added.sum() == query.sensitivity(Adjacency.ADD_REMOVE).l1
        assert replaced.sum() <= query.sensitivity(Adjacency.REPLACE_ONE).l1
        assert (replaced**2).sum() <= query.sensitivity(Adjacency.REPLACE_ONE).l2_squared


# --- what is released


def holed(share, n=20_000):
    cells = np.random.default_rng(5).lognormal(3, 1, n)
    cells[: round(share * n)] = np.nan
    return cells


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("budget", [tt.pure(1), tt.zcdp(0.5), tt.approx(1, 1e-6)], ids=str)
@pytest.mark.parametrize("missing", [0.0, 0.1, 0.4, 1.0])
def test_the_share_of_one_column(adjacency, budget, missing):
    release = tt.mean(holed(missing), budget=budget, neighbors=adjacency)
    assert release.share_used == pytest.approx(1 - missing, abs=0.03)
    assert release[0].share_used == release.share_used == release.to_dict()["share_used"]
    noted = [note for note in release.notes if note.code == "many-unparsed-cells"]
    assert bool(noted) == (missing > 0)
    # Without missing cells one release in a hundred still warns, of far records that are noise.
    assert missing or {note.code for note in release.notes} <= {"far-group"}
    assert not (missing and not release.has_warnings)
    assert all(note.kind == "warning" and "parse=" in note.text for note in noted)
    assert tt.replay(release.plan, release.answers) == release
    assert tt.Release.from_json(release.to_json()) == release


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("budget", [tt.pure(4), tt.zcdp(0.5)], ids=str)
def test_the_share_of_several_columns(adjacency, budget):
    matrix = np.column_stack([holed(0.0), np.random.default_rng(6).permutation(holed(0.4))])
    release = tt.mean(matrix, budget=budget, neighbors=adjacency)
    assert release.share_used == pytest.approx((1.0, 0.6), abs=0.05)
    assert [bool(row.notes) for row in release] == [False, True]


def test_the_share_of_persons_and_groups():
    cells = np.random.default_rng(6).permutation(holed(0.4))
    frame = pd.DataFrame({"v": cells, "who": np.arange(20_000), "g": ["a", "b"] * 10_000})
    for more in ({"person": "who"}, {"person": "who", "each": "person"}, {"by": "g"}):
        keys = {"keys": ["a", "b"]} if "by" in more else {}
        release = tt.mean(frame, "v", epsilon=20, **more, **keys)
        assert np.ravel(release.share_used) == pytest.approx([0.6] * len(release), abs=0.05)
        assert "many-unparsed-cells" in {note.code for note in release.notes}


def test_what_a_condition_leaves_out_is_no_missing_cell():
    frame = pd.DataFrame({"v": holed(0.0), "w": holed(0.0), "k": [0, 0, 0, 1] * 5_000})
    assert tt.mean(frame, "v", epsilon=10, where="k == 1").share_used == pytest.approx(
        1.0, abs=0.05
    )
    both = tt.mean(frame, ["v", "w"], rho=1, where="k == 1")
    assert both.share_used == pytest.approx((1.0, 1.0), abs=0.05)
    # Under replace-one rows are public, and nobody has counted those that are left out.
    assert (
        tt.mean(frame, "v", epsilon=1, where="k == 1", neighbors="replace-one").share_used is None
    )


def test_where_nothing_is_asked_nothing_is_said():
    assert tt.mean(holed(0.4), epsilon=1, missing="none").share_used is None
    assert (
        tt.mean(holed(0.4), epsilon=1, missing="none", neighbors="replace-one").share_used is None
    )
    # All of it may be noise, which seems to say something in one release of a thousand.
    noise = [tt.mean([1.0, None], epsilon=0.01).share_used for _ in range(20)]
    assert noise.count(None) >= 17


def test_a_warning_is_no_accident():
    """Nothing is missing: noise alone says so in less than one release of a thousand."""
    counts = CellCounts(85.0, 15.0, 16.0)
    assert counts.used == 0.85
    assert not counts.notes
    assert [note.kind for note in CellCounts(980.0, 20.0, 4.0).notes] == ["info"]
    assert not CellCounts(980.0, 20.0, 16.0).notes
    assert [note.kind for note in CellCounts(80.0, 20.0, 16.0).notes] == ["warning"]
    column = holed(0.0, 2_000)
    codes = [n.code for _ in range(40) for n in tt.mean(column, epsilon=0.5).notes]
    assert "many-unparsed-cells" not in codes


def test_amounts_that_are_not_read_are_told(tmp_path):
    """A file of amounts like 1,200: all from 1,000 up are missing."""
    amounts = np.random.default_rng(3).lognormal(6.5, 1.2, 20_000)
    path = tmp_path / "x.csv"
    path.write_text("amount\n" + "".join(f'"{amount:,.0f}"\n' for amount in amounts))
    release = tt.mean(path, "amount", epsilon=1)
    assert release.share_used == pytest.approx(np.mean(amounts < 999.5), abs=0.03)
    assert release.has_warnings
    read = tt.mean(path, "amount", epsilon=1, parse=tt.Parse(thousands=","))
    assert read.share_used == pytest.approx(1.0, abs=0.02)
    assert float(read) == pytest.approx(amounts.mean(), rel=0.1)


def test_amounts_that_can_mean_one_number_are_read(tmp_path):
    """20,000 quoted amounts, 17% of them like 1,234.50: a mean of 742 was released as 261."""
    amounts = np.random.default_rng(3).lognormal(5.6, 1.4, 20_000)
    path = tmp_path / "x.csv"
    path.write_text("amount\n" + "".join(f'"{amount:,.2f}"\n' for amount in amounts))
    assert 0.1 < np.mean(amounts >= 1000) < 0.2
    release = tt.mean(path, "amount", epsilon=1)
    assert release.share_used == pytest.approx(1.0, abs=0.02)
    assert float(release) == pytest.approx(amounts.mean(), rel=0.1)
