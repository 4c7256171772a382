"""Means by group where each person belongs to one group, from the request to the release."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tametail as tt
from tametail.errors import ParameterError
from tametail.methods.groups import constants as tuned
from tametail.request import Request

from ..spark import ON_SPARK, local_session  # noqa: TID252

KEYS = ["CA", "NY", "VT"]


def hospital(persons=6000, moved=0.0, seed=3):
    """Visits of patients, each of one state; some visits are in another one."""
    rng = np.random.default_rng(seed)
    home = rng.choice(3, persons, p=[0.6, 0.37, 0.03])
    ids = np.repeat(np.arange(persons), rng.integers(1, 6, persons))
    state = np.where(rng.random(len(ids)) < moved, rng.integers(0, 3, len(ids)), home[ids])
    paid = np.exp(rng.normal(0, 0.4, persons)[ids] + rng.normal(0, 0.5, len(ids))) * 1000
    return pa.table({"who": ids, "state": np.array(KEYS)[state], "paid": paid})


SMALL = hospital(2000)


@pytest.fixture(scope="module")
def visits():
    return hospital()


def released(data, **more):
    asked = {"epsilon": 2, "person": "who", "by": "state", "keys": KEYS, "groups_per_person": 1}
    return tt.mean(data, **({"column": "paid"} | asked | more))


def true_means(data):
    frame = data.to_pandas()
    return frame.groupby("state")["paid"].mean()[KEYS].to_numpy()


@pytest.mark.parametrize("each", ["record", "person"])
@pytest.mark.parametrize(
    "budget",
    [{"epsilon": 2}, {"epsilon": None, "rho": 0.7}, {"delta": 1e-6, "keys": None}],
    ids=["pure", "zCDP", "private keys"],
)
def test_releases_spend_the_budget_and_replay(visits, each, budget):
    release = released(visits, each=each, **budget)
    assert release.method == "means by group, of persons in one group each"
    assert tt.replay(release.plan, release.answers) == release
    assert tt.Release.from_json(release.to_json()) == release
    assert [row.group for row in release.means][:2] == ["CA", "NY"]
    errors = [abs(row.value / 1280 - 1) for row in release.means[:2]]
    assert max(errors) < 0.3


@settings(max_examples=12, deadline=None)
@given(
    st.floats(0.3, 40), st.sampled_from(["epsilon", "rho"]), st.sampled_from(["record", "person"])
)
def test_every_budget_is_kept_to(amount, name, each):
    """Costs that are put together round up, and still fit."""
    budget = {"epsilon": None} | {name: amount}
    for keys in (KEYS[:2], KEYS):  # all groups are large, or one is small
        release = released(SMALL, each=each, keys=keys, **budget)
        assert len(release.means) == len(keys)


@pytest.mark.parametrize("each", ["record", "person"])
def test_a_group_is_as_narrow_as_alone(visits, each):
    ratios = []
    for _ in range(3):
        together = released(visits, each=each)
        for state in KEYS[:2]:
            alone = tt.mean(
                visits, "paid", epsilon=2, person="who", each=each, where=f"state == '{state}'"
            )
            widths = [row.intervals[-1].high - row.intervals[-1].low
                      for row in (together[state], alone.means[0])]  # fmt: skip
            ratios.append(widths[0] / widths[1])
    assert np.median(ratios) < 1.3


def test_small_groups_take_their_clip_points_from_all(visits):
    rows = [released(visits)["VT"] for _ in range(5)]  # 180 people
    truth = true_means(visits)[2]
    assert np.median([abs(row.value / truth - 1) for row in rows]) < 0.25
    assert all(np.isfinite(row.low) for row in rows)


def test_a_group_without_people_says_that_it_may_be_empty(visits):
    row = released(visits, keys=[*KEYS, "ZZ"])["ZZ"]
    assert next(note.code for note in row.notes) == "no-signal"
    assert np.isinf(row.high)


@pytest.mark.parametrize(("moved", "warns"), [(0.0, False), (0.4, True)])
def test_the_share_of_records_kept_is_told(moved, warns):
    data = hospital(moved=moved)
    frame = data.to_pandas()
    counts = frame.groupby(["who", "state"]).size()
    exact = counts.groupby("who").max().sum() / len(frame)
    release = released(data)
    kept = release["CA"].kept
    assert kept == pytest.approx(exact, abs=0.05)
    codes = {note.code for note in release["CA"].notes}
    assert ("few-kept" in codes) == warns
    assert ("kept-records" in codes) == (not warns)
    assert "of the records were kept" in str(release)


def test_each_person_keeps_the_group_with_most_rows_and_the_first_of_ties():
    """At a budget that protects nothing, the release is exact."""
    rows = [
        ("a", "CA", 1.0),
        ("a", "NY", 9.0),
        ("b", "NY", 3.0),
        ("b", "NY", 5.0),
        ("b", "CA", 99.0),
    ]
    data = pa.table(dict(zip(("who", "state", "paid"), zip(*rows, strict=True), strict=True)))
    many = pa.concat_tables([
        data.set_column(0, "who", pa.array([f"{who}{copy}" for who in data["who"].to_pylist()]))
        for copy in range(3000)
    ])  # fmt: skip
    release = tt.mean(
        many, "paid", epsilon=1000, person="who", by="state", keys=["CA", "NY"],
        groups_per_person=1, each="person",
    )  # fmt: skip
    assert release.value == pytest.approx([1.0, 4.0], rel=0.02)
    reverse = tt.mean(
        many, "paid", epsilon=1000, person="who", by="state", keys=["NY", "CA"],
        groups_per_person=1, each="person",
    )  # fmt: skip
    assert reverse.value[0] == pytest.approx(6.5, rel=0.02)  # ties to the first key


def test_groups_alone_are_possible_and_means_are_not_shrunk(visits):
    assert tuned.ALONE_PERSONS > 180 * 2
    assert len(released(visits, pooling=None).means) == 3
    with pytest.raises(ParameterError, match="pooling='mean' is not available"):
        released(visits, pooling="mean")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"person": None}, "groups_per_person=1 is about people"),
        ({"groups_per_person": 2}, "groups_per_person=2 is not supported"),
        ({"groups_per_person": True}, "is not supported"),
        ({"by": None, "keys": None}, "groups_per_person= requires by="),
        ({"neighbors": "replace-one"}, "can change two groups"),
    ],
)
def test_what_cannot_be_is_refused(visits, more, says):
    with pytest.raises(ParameterError, match=says):
        released(visits, **more)


def test_names_of_other_requests_stay_as_they_were():
    plain = tt.plan(epsilon=1, person=True, by="state", keys=KEYS).request
    assert "groups_per_person" not in plain.to_dict()["groups"]
    kept = tt.plan(epsilon=1, person=True, by="state", keys=KEYS, groups_per_person=1).request
    assert Request.from_json(kept.to_json()) == kept
    assert kept.hash() != plain.hash()


def test_two_columns_keep_one_group_for_both(visits):
    twice = visits.append_column("twice", pa.array(visits["paid"].to_numpy() * 2))
    release = tt.mean(
        twice, ["paid", "twice"], epsilon=4, person="who", by="state", keys=KEYS,
        groups_per_person=1,
    )  # fmt: skip
    assert len(release.means) == 6
    assert release["CA", "twice"].value == pytest.approx(2 * release["CA", "paid"].value, rel=0.2)


def in_duckdb(visits):
    import duckdb

    connection = duckdb.connect()
    connection.register("rows", visits)
    connection.execute("CREATE TABLE visits AS SELECT * FROM rows")
    return {"data": connection, "table": "visits"}


def in_sqlite(visits):
    import sqlite3

    connection = sqlite3.connect(":memory:")
    visits.to_pandas().to_sql("visits", connection, index=False)
    return {"data": connection, "table": "visits"}


def in_spark(visits):
    return {"data": local_session().createDataFrame(visits.to_pandas())}


@pytest.mark.parametrize(
    "place",
    [in_duckdb, in_sqlite, pytest.param(in_spark, marks=ON_SPARK)],
    ids=lambda one: one.__name__,
)
def test_releases_wherever_the_data_are(place):
    """The rows are those of memory, which tests/backends compares; here the whole way is gone."""
    visits = hospital(1500, moved=0.1)
    counts = visits.to_pandas().groupby(["who", "state"]).size()
    exact = counts.groupby("who").max().sum() / len(visits)
    keys = KEYS if place is not in_spark else KEYS[:1]  # each question there is a job
    release = released(column="paid", epsilon=20, keys=keys, **place(visits))
    assert tt.replay(release.plan, release.answers) == release
    if place is not in_spark:
        assert release["CA"].kept == pytest.approx(exact, abs=0.02)
    assert release["CA"].value == pytest.approx(true_means(visits)[0], rel=0.1)
