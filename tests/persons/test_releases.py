"""Means where persons are protected: what they cost, what they say, and how they are asked for."""

import json
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tametail as tt
from tametail.cli import main
from tametail.errors import ParameterError
from tametail.planning import Plan
from tametail.privacy.adjacency import Adjacency
from tametail.queries.column import ClippingGrid, Count, DistanceSum, LogHistogram, Squares
from tametail.queries.persons import PersonMean, PersonResidual, PersonRows
from tametail.release import Release

from ..opened import open_table  # noqa: TID252


def visits(persons=4000, seed=5):
    """Persons with more records have larger ones."""
    rng = np.random.default_rng(seed)
    counts = np.ceil(np.exp(rng.normal(1, 1, persons))).astype(int)
    who = np.repeat(np.arange(persons), counts)
    level = np.exp(rng.normal(0, 0.7, persons)) * counts**0.5
    cost = level[who] * np.exp(rng.normal(0, 0.5, len(who)))
    return pd.DataFrame({"patient": who, "cost": cost, "site": who % 2, "age": who % 90})


VISITS = visits()
MEAN = VISITS.cost.mean()
MEAN_OF_MEANS = VISITS.groupby("patient").cost.mean().mean()


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("budget", [{"epsilon": 3}, {"rho": 2}, {"epsilon": 3, "delta": 1e-6}])
def test_every_budget_and_unit(budget, adjacency):
    release = tt.mean(VISITS, "cost", person="patient", neighbors=adjacency, **budget)
    assert abs(float(release) / MEAN - 1) < 0.2
    assert release.low <= float(release) <= release.high
    assert tt.replay(release.plan, release.answers) == release
    again = Release.from_json(release.to_json())
    assert again == release
    assert again.guarantee.protects.person == "patient"
    assert "any one person (patient)" in str(release.guarantee)
    assert release.to_dict()["person"] == "patient"


def test_the_two_targets_differ():
    assert abs(MEAN / MEAN_OF_MEANS - 1) > 0.5
    each = tt.mean(VISITS, "cost", person="patient", each="person", epsilon=3)
    assert abs(float(each) / MEAN_OF_MEANS - 1) < 0.1


def test_a_person_is_worth_two_epsilon_for_one_record():
    release = tt.mean(VISITS, "cost", person="patient", epsilon=1)
    assert round(release.guarantee.for_one_record().epsilon, 9) == 2
    assert "adding or removing one of their records" in str(release.guarantee)


def test_several_columns_and_several_columns_of_ids():
    frame = VISITS.assign(double=2 * VISITS.cost)
    for each in ("record", "person"):
        release = tt.mean(
            frame, ["cost", "double"], person=["site", "patient"], each=each, epsilon=6
        )
        assert 1.5 < release["double"].value / release["cost"].value < 2.5
        assert Release.from_json(release.to_json()) == release


def test_values_far_from_zero():
    frame = VISITS.assign(cost=VISITS.cost + 1e6)
    release = tt.mean(frame, "cost", person="patient", epsilon=3)
    assert abs(float(release) - 1e6 - MEAN) < 5


@pytest.mark.parametrize("each", ["record", "person"])
def test_values_that_agree_in_twelve_digits_keep_their_spread(each):
    """Sums of a person are exact, so that 1e12 with a spread of 1 loses nothing."""
    rng = np.random.default_rng(2)
    values = 1e12 + rng.normal(size=40_000)
    frame = pd.DataFrame({"who": np.arange(40_000) % 8_000, "x": values})
    release = tt.mean(frame, "x", person="who", each=each, epsilon=4)
    assert abs(float(release) - values.mean()) < 0.5


def test_where_filters_records_and_columns_are_computed():
    wanted = (2 * VISITS.cost)[VISITS.age >= 40].mean()
    release = tt.mean(VISITS, "cost * 2", person="patient", where="age >= 40", epsilon=6)
    assert abs(float(release) / wanted - 1) < 0.25
    plain = tt.mean(VISITS, "cost * 2", where="age >= 40", epsilon=1)
    assert abs(float(plain) / wanted - 1) < 0.1
    assert plain.plan.request.where == "age >= 40"
    public = tt.mean(VISITS, "cost", where="age >= 40", epsilon=1, neighbors="replace-one")
    assert abs(float(public) / VISITS.cost[VISITS.age >= 40].mean() - 1) < 0.1
    assert Plan.from_json(plain.plan.to_json()) == plain.plan


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("columns", [["cost"], ["cost", "age"]])
def test_records_and_persons_are_counted_apart(adjacency, columns):
    said = {"person": "patient", "neighbors": adjacency, "epsilon": 8}
    persons, records = VISITS.patient.nunique(), len(VISITS)
    every = tt.mean(VISITS, columns, **said)
    for row in every:
        assert row.persons == pytest.approx(persons, rel=0.1)
        assert row.count == pytest.approx(records, rel=0.2)
        assert row.total == row.value * row.count
    frame = every.to_frame()
    assert list(frame.columns[-5:]) == ["count", "persons", "total", "usable", "notes"]
    assert list(frame["persons"]) == [row.persons for row in every]
    assert tt.replay(every.plan, every.answers) == every == Release.from_json(every.to_json())
    for row in tt.mean(VISITS, columns, each="person", **said):
        assert row.persons == row.count == pytest.approx(persons, rel=0.1)
    said["rho"] = said.pop("epsilon")
    for row in tt.mean(VISITS, columns, each="person", **said):  # in one ball, if several
        assert row.persons == pytest.approx(persons, rel=0.1)
    if adjacency == "replace-one":
        assert {row.persons for row in every} == {persons}  # public


def test_persons_are_those_whom_a_condition_leaves_records():
    kept = VISITS[VISITS.age >= 60].patient.nunique()
    said = {"person": "patient", "where": "age >= 60", "epsilon": 8}
    assert tt.mean(VISITS, "cost", **said).persons == pytest.approx(kept, rel=0.2)
    # The number of all persons is public then, and how many are left is not asked.
    assert tt.mean(VISITS, "cost", neighbors="replace-one", **said).persons is None


def test_without_persons_nothing_is_said_about_them():
    release = tt.mean(VISITS, "cost", epsilon=1)
    assert release.persons is None
    assert "persons" not in release.to_frame()
    assert "persons" not in release.to_dict()["rows"][0]


@pytest.mark.parametrize("persons", [500, 2_000])
def test_a_zero_that_was_not_seen_has_no_ends(persons):
    """An eighth of all records are not 0, and too few stand out: 0 is no answer by itself."""
    rng = np.random.default_rng(4)
    who = np.repeat(np.arange(persons), 3)
    paid = np.where((rng.random(persons) < 0.125)[who], rng.lognormal(3, 1, len(who)), 0.0)
    frame = pd.DataFrame({"who": who, "paid": paid})
    for _ in range(3):
        release = tt.mean(frame, "paid", person="who", epsilon=0.1)
        assert release.has_warnings
        assert release.high == math.inf or release.high > paid.mean()


def test_nobody_and_nothing():
    for frame in (VISITS.head(0), VISITS.assign(cost=math.nan), VISITS.assign(patient=math.nan)):
        release = tt.mean(frame, "cost", person="patient", epsilon=1)
        assert math.isfinite(float(release))


def test_a_plan_for_no_person_predicts_what_records_were_guessed():
    plan = tt.plan(n=0, neighbors="replace-one", epsilon=1, person=True, n_records=10)
    assert plan.relative_rmse > 1
    assert "10" in str(plan)


def test_one_record_each_is_the_mean_of_records():
    frame = pd.DataFrame({"who": np.arange(20_000), "x": np.arange(20_000) % 10 + 1.0})
    release = tt.mean(frame, "x", person="who", epsilon=2)
    assert abs(float(release) - 5.5) < 0.2


class TestPlans:
    def test_a_person_who_counts_once_costs_what_a_record_costs(self):
        """The accuracy of ``each="person"`` is that of a column of the persons' means."""
        for budget in ({"epsilon": 0.1}, {"rho": 0.5}, {"epsilon": 1, "delta": 1e-6}):
            for adjacency in ("add-remove", "replace-one"):
                said = {"n": 20_000, "neighbors": adjacency, **budget}
                persons = tt.plan(person=True, each="person", **said)
                assert persons.steps == tt.plan(**said).steps

    def test_n_counts_persons_and_few_are_warned_about(self):
        plan = tt.plan(n=20_000, n_records=120_000, epsilon=1, person=True)
        assert [step.name for step in plan.steps] == [
            "count",
            "pilot",
            "rows",
            "tail",
            "sum",
        ]
        assert plan.advice == ()
        assert "120,000" in str(plan)
        assert plan.relative_rmse < tt.plan(n=20_000, epsilon=1, person=True).relative_rmse
        assert Plan.from_json(plan.to_json()) == plan
        assert "2,000" in tt.plan(n=1_900, epsilon=1, person=True).advice[0]

    def test_the_column_of_persons_may_be_said_beside_the_plan(self):
        plan = tt.plan(n=4000, epsilon=3, person=True)
        release = tt.mean(VISITS, "cost", plan=plan, person="patient", where="age >= 0")
        assert release.guarantee.protects.person == "patient"
        assert release.plan.request.where == "age >= 0"

    def test_what_earlier_texts_lack_has_its_default(self):
        plan = tt.plan(n=4000, epsilon=3)
        record = plan.to_dict()
        for name in ("person", "each", "n_records", "where"):
            del record["request"][name]
        assert Plan.from_dict(record) == plan


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"each": "person"}, "each= and n_records= require person="),
        ({"n_records": 5}, "each= and n_records= require person="),
        ({"person": "patient", "each": "row"}, "each="),
        ({"person": "patient", "tail": tt.Moment(2, 1.0)}, "Remove them, or use each"),
        ({"where": "age >= 1", "missing": "none"}, "missing='none' cannot be combined"),
        ({"where": 5}, "where= must be text"),
        ({"where": "age + 1"}, "not a condition"),
        ({"person": "patent"}, "Did you mean 'patient'"),
        ({"where": "agee > 1"}, "Did you mean 'age'"),
        ({"plan": tt.plan(n=5, epsilon=1), "person": "patient", "epsilon": None}, "person=True"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises((ParameterError, tt.errors.ColumnError), match=message):
        tt.mean(VISITS, "cost", **{"epsilon": 1, **arguments})


def test_data_without_columns_have_no_persons():
    with pytest.raises(ParameterError, match="no named columns"):
        tt.mean(np.array([1.0, 2.0]), "x", epsilon=1, person="who")
    with pytest.raises(ParameterError, match="must contain paths"):
        tt.mean([1.0, 2.0], "x", epsilon=1, person="who")
    with pytest.raises(ParameterError, match="require column="):
        tt.mean(VISITS, epsilon=1, person="patient")


def test_the_command_line(tmp_path, capsys):
    path = tmp_path / "visits.csv"
    VISITS.to_csv(path, index=False)
    arguments = ["mean", str(path), "--column", "cost", "--epsilon", "3", "--person", "patient"]
    assert main([*arguments, "--where", "age >= 0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["person"] == "patient"
    assert abs(found["value"] / MEAN - 1) < 0.2
    assert main([*arguments, "--each", "person"]) == 0
    assert "person (patient)" in capsys.readouterr().out


QUERIES = (
    Count(),
    LogHistogram(0.0, -20, 60),
    LogHistogram(0.0, -20, 60, counted=True),
    DistanceSum(0.0, ClippingGrid(-4, -(1 << 8), 0, 1 << 10)),
    Squares(0.0, 5, 16),
)
VIEWS = (PersonMean(), PersonRows(), PersonResidual(2.5))
RECORDS = st.lists(
    st.tuples(st.integers(0, 4), st.floats(-100, 100) | st.sampled_from([math.nan, math.inf, 1e9])),
    min_size=1,
    max_size=25,
)


def answers(records):
    frame = pa.table({"who": [who for who, _ in records], "x": [float(x) for _, x in records]})
    engine = open_table(frame, "x", person="who")
    return {(view, query): engine.view(view).answer(query) for view in VIEWS for query in QUERIES}


@settings(max_examples=40, deadline=None)
@given(records=RECORDS, other=RECORDS)
def test_one_person_moves_an_answer_by_its_sensitivity(records, other):
    whose = records[0][0]
    left = [record for record in records if record[0] != whose]
    replaced = left + [(whose, x) for _, x in other]
    before = answers(records)
    for adjacency, after in ((Adjacency.ADD_REMOVE, left), (Adjacency.REPLACE_ONE, replaced)):
        if not after:
            continue
        for (view, query), exact in answers(after).items():
            moved = np.abs(np.subtract(exact, before[view, query], dtype=object))
            allowed = query.sensitivity(adjacency)
            assert moved.sum() <= allowed.l1, (view, query)
            assert (moved**2).sum() <= allowed.l2_squared, (view, query)
