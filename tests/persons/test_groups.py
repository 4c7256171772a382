"""Persons in many groups: exact sums of scaled vectors, and releases made of them."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tametail as tt
from tametail.ask import Ask, Data
from tametail.cli import main
from tametail.data.persons.vectors import (
    GroupedPersons,
    bound_keys_per_person,
    largest_groups,
)
from tametail.errors import InternalError, ParameterError
from tametail.keys import Key, parse_keys
from tametail.mechanisms.groups import choose_keys, key_threshold
from tametail.mechanisms.noise import laplace_scale
from tametail.methods.groups.lengths import ScaledDown
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import approx, pure
from tametail.queries.groups import (
    MOST_LIMIT,
    MOST_TICKS,
    SQUARE_BITS,
    Cells,
    KeyCounts,
    Keyed,
    ScaledSquares,
    ScaledSums,
)
from tametail.queries.persons import GroupResiduals, GroupRows, PersonNorm

from ..opened import open_groups  # noqa: TID252

GROUPS = 4
PERSON = Adjacency.parse("add-remove", "who")
VALUES = st.floats(-100, 100) | st.sampled_from([math.nan, math.inf, -1e300, 5e-324, 1e9])
RECORDS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(-1, GROUPS - 1), VALUES), min_size=1, max_size=40
)
QUERIES = [
    ScaledSums(vector, order, exponent, limit, GROUPS)
    for vector in (GroupResiduals(2.5), GroupRows(), GroupResiduals(2.5, by_person=True))
    for order in (1, 2)
    for exponent, limit in ((-3, 7), (-20, MOST_LIMIT - 1), (0, 1))
]


def persons_of(records):
    who, group, x = (np.array(each) for each in zip(*records, strict=True))
    return GroupedPersons(x.astype(float)[:, None], who, group, GROUPS)


def rounded(total):
    """An exact sum as a double, as docs/reference/query-specification.md has it."""
    whole = int(abs(total) * 2**1074)
    digits = [(whole >> 32 * k) & 0xFFFFFFFF for k in range(whole.bit_length() // 32 + 1)]
    while digits and not digits[-1]:
        digits.pop()
    size = 0.0
    for digit in digits[::-1][:3]:
        size = size * 2.0**32 + float(digit)
    size = Fraction(size) * Fraction(2) ** (32 * max(len(digits) - 3, 0) - 1074)
    largest = Fraction(np.finfo(float).max)
    return float(min(size, largest)) * (-1.0 if total < 0 else 1.0)


def vector_of(records, vector):
    """A person's vector by the letter of the specification: doubles by group."""
    totals = {}
    for _, group, x in records:
        if group >= 0 and not math.isnan(x):
            total, count = totals.get(group, (Fraction(0), 0))
            finite = math.copysign(min(abs(x), np.finfo(float).max), x)
            totals[group] = total + Fraction(finite), count + 1
    found = {}
    for group, (total, count) in totals.items():
        s = rounded(total)
        if isinstance(vector, GroupRows):
            found[group] = 1.0 if vector.by_person else float(count)
        elif vector.by_person:
            found[group] = s / count - vector.ratio
        else:
            found[group] = s - vector.ratio * count
    return found


def expected(records, query):
    """The exact answer, person by person, in Python's integers."""
    sums, squares = [0] * GROUPS, [0] * GROUPS
    for person in {who for who, *_ in records}:
        theirs = [record for record in records if record[0] == person]
        ticks = {}
        for group, v in vector_of(theirs, query.vector).items():
            size = min(math.floor(Fraction(abs(v)) / Fraction(2) ** query.exponent), MOST_TICKS)
            ticks[group] = -size if v < 0 else size
        square = sum(q * q for q in ticks.values())
        length = sum(map(abs, ticks.values()))
        if query.order == 2:
            length = math.isqrt(square)
            length += length * length < square
        for group, q in ticks.items():
            size = abs(q) * query.limit // length if length > query.limit else abs(q)
            sums[group] += -size if q < 0 else size
            squares[group] += size * size >> SQUARE_BITS
    return tuple(sums), tuple(squares)


@settings(max_examples=60, deadline=None)
@given(records=RECORDS)
def test_sums_are_those_of_the_slow_reference(records):
    persons = persons_of(records)
    for query in QUERIES:
        sums, squares = expected(records, query)
        assert persons.scaled_totals(query) == sums
        assert persons.scaled_totals(ScaledSquares(query)) == squares


@settings(max_examples=60, deadline=None)
@given(records=RECORDS, other=RECORDS, order=st.randoms(use_true_random=False))
def test_one_person_moves_all_groups_by_the_limit_at_most(records, other, order):
    """A worse neighbor is looked for: a person goes, or comes back with any other records."""
    whose = records[0][0]
    left = [record for record in records if record[0] != whose]
    replaced = left + [(whose, group, x) for _, group, x in other]
    shuffled = order.sample(records, len(records))
    for query in [each for sums in QUERIES for each in (sums, ScaledSquares(sums))]:
        before = persons_of(records).scaled_totals(query)
        assert persons_of(shuffled).scaled_totals(query) == before
        for adjacency, after in ((Adjacency.ADD_REMOVE, left), (Adjacency.REPLACE_ONE, replaced)):
            answer = persons_of(after).scaled_totals(query) if after else (0,) * GROUPS
            moved = [abs(a - b) for a, b in zip(before, answer, strict=True)]
            allowed = query.sensitivity(adjacency)
            assert sum(moved) <= allowed.l1
            assert sum(step * step for step in moved) <= allowed.l2_squared


def test_a_replaced_person_may_move_twice_the_limit():
    """The bounds are reached, so that nothing smaller would do."""
    for order in (1, 2):
        query = ScaledSums(GroupResiduals(0.0), order, 0, 10, GROUPS)
        one, other = (persons_of([(0, 1, x)]).scaled_totals(query) for x in (1e9, -1e9))
        moved = np.subtract(one, other)
        assert np.abs(moved).max() == 20
        assert query.sensitivity(Adjacency.REPLACE_ONE).l2_squared == 400
        assert query.sensitivity(Adjacency.ADD_REMOVE).l2_squared == 100


@settings(max_examples=40, deadline=None)
@given(records=RECORDS)
def test_lengths_follow_from_a_persons_own_records(records):
    for vector in (GroupResiduals(2.5), GroupRows(), GroupResiduals(2.5, by_person=True)):
        for order in (1, 2):
            found = persons_of(records).numbers(PersonNorm(vector, order))
            people = sorted({w for w, g, x in records if g >= 0 and not math.isnan(x)})
            for person, length in zip(people, found.tolist(), strict=True):
                theirs = [record for record in records if record[0] == person]
                (alone,) = persons_of(theirs).numbers(PersonNorm(vector, order)).tolist()
                assert alone == length
                exact = sum(Fraction(abs(v)) ** order for v in vector_of(theirs, vector).values())
                if 0 < exact < Fraction(10) ** 300:
                    assert length**order == pytest.approx(float(exact), rel=1e-9, abs=1e-300)


@settings(max_examples=60, deadline=None)
@given(records=RECORDS)
def test_each_person_is_kept_to_one_group_by_their_own_rows(records):
    who, group, _ = (np.array(each) for each in zip(*records, strict=True))
    kept = largest_groups(who, group, GROUPS)
    for person in set(who.tolist()):
        own = who == person
        theirs = Counter(group[own & (group >= 0)].tolist())
        largest = min(theirs, key=lambda code: (-theirs[code], code), default=None)
        assert kept[own].tolist() == [code == largest for code in group[own].tolist()]
        assert largest_groups(who[own], group[own], GROUPS).tolist() == kept[own].tolist()


def test_persons_in_groups_are_no_parallel_parts():
    frame = pd.DataFrame({"who": [0], "key": ["a"], "x": [1.0]})
    ask = Ask(Data(open_groups(frame, "x", ["key"], person="who").backend), pure(1.0), PERSON)
    groups = ask.relation.coded(parse_keys(["a", "b"], 1), other=False)
    with pytest.raises(InternalError, match="may overlap"):
        ask.disjoint([groups.of([0]), groups.of([1])], pure(1.0))
    with pytest.raises(AssertionError, match="records, add-remove only"):
        Keyed((Cells((0.0, 1.0)),)).sensitivities(PERSON)


@given(st.floats(0.01, 5.0), st.floats(1e-12, 0.3), st.integers(1, 60))
@settings(deadline=None)
def test_no_key_of_one_person_is_shown_more_often_than_delta(epsilon, delta, most):
    query = KeyCounts(1 << 20, most)
    scale, least = laplace_scale(query.whole, epsilon), key_threshold(approx(epsilon, delta), query)

    def shown(m, threshold):  # 1 - (1 - P(w + Z >= t))^m, Z discrete Laplace
        margin = threshold - query.whole // m
        each = math.exp(-margin / scale) / (1 + math.exp(-1 / scale)) if margin >= 0 else 1.0
        return -math.expm1(m * math.log1p(-each)) if each < 1 else 1.0

    worst = max(shown(m, least) for m in range(1, most + 1))
    assert worst <= delta * (1 + 1e-9)
    assert max(shown(m, least - 2) for m in range(1, most + 1)) > delta * (1 - 1e-3)


def test_keys_that_one_person_holds_appear_as_seldom_as_delta_says():
    """The audit, delta raised to 0.05: of 4,000 releases with a person alone in 30 keys."""
    cost, query = approx(0.5, 0.05), KeyCounts(1 << 20, 30)
    alone = {Key((i,)): query.whole // 30 for i in range(30)}
    shown = sum(bool(choose_keys(alone, query, cost, PERSON)) for _ in range(4000))
    assert shown <= 200 + 5 * math.sqrt(200)


def test_a_person_weighs_a_whole_however_many_keys_they_hold():
    persons = np.repeat([0, 1, 2], [1, 3, 50])
    keys = np.concatenate([[0], [0, 0, 1], np.arange(50)])
    query, many = KeyCounts(1000, 10), []
    for _ in range(20):
        weights = bound_keys_per_person(persons, keys, 50, query)
        assert weights[0] >= 1500
        third = weights - np.array([1500, 500] + [0] * 48)
        assert third.sum() == 1000
        assert sorted(set(third.tolist())) == [0, 100]
        many.append(tuple(third))
    assert len(set(many)) > 1  # by secret coins
    assert bound_keys_per_person(np.array([-1, 0]), np.array([0, -1]), 1, query).tolist() == [0]


KEYS = [f"S{i}" for i in range(6)]


@pytest.fixture(scope="module")
def visits():
    rng = np.random.default_rng(3)
    size = 6000
    who = np.repeat(np.arange(size), np.ceil(np.exp(rng.normal(0.5, 0.8, size))).astype(int))
    state = rng.choice(6, len(who), p=np.arange(1, 7) / 21)
    paid = (1 + state) * np.exp(rng.normal(0, 0.5, size)[who] + rng.normal(0, 0.5, len(who)))
    return pd.DataFrame(
        {"who": who, "paid": paid, "open": -paid, "state": [KEYS[s] for s in state]}
    )


@pytest.mark.parametrize("budget", [{"epsilon": 4}, {"rho": 2}, {"epsilon": 4, "delta": 1e-6}])
@pytest.mark.parametrize("each", ["record", "person"])
def test_every_budget(visits, budget, each):
    release = tt.mean(
        visits, "paid", person="who", each=each, by="state", keys=[*KEYS, "none"], **budget
    )
    truth = visits.groupby("state").paid.mean()
    if each == "person":
        truth = visits.groupby(["state", "who"]).paid.mean().groupby("state").mean()
    for key in KEYS[2:]:
        assert release[key].value == pytest.approx(truth[key], rel=0.25)
        assert release[key].low <= release[key].value <= release[key].high
    if release["none"].notes:  # but for one release in a thousand
        assert (release["none"].low, release["none"].high) == (-math.inf, math.inf)
        assert [note.code for note in release["none"].notes] == ["no-signal"]
    assert "any one person (who)" in str(release.guarantee)
    again = tt.Release.from_json(release.to_json())
    assert again == release
    assert tt.replay(again.plan, again.answers) == release
    assert tt.planning.Plan.from_json(release.plan.to_json()) == release.plan


def test_private_keys_of_persons(visits):
    alone = pd.DataFrame({"who": ["x"] * 900, "paid": 1.0, "state": [f"T{i}" for i in range(900)]})
    rows = pd.concat([visits.astype({"who": object}), alone])
    release = tt.mean(rows, "paid", person="who", by="state", epsilon=4, delta=1e-6, other="rest")
    labels = [row.group for row in release]
    assert set(labels) <= {*KEYS, "rest"}
    assert {"S4", "S5"} <= set(labels)
    assert tt.replay(release.plan, release.answers) == release


def test_several_columns_filters_lazy_frames_and_shrinking(visits):
    rows = pl.from_pandas(visits).lazy()
    release = tt.mean(
        rows, ["paid", "open * 2"], person="who", by="state", keys=KEYS, other="rest",
        where="paid > 2", pooling="mean", rho=4, simultaneous=True,
    )  # fmt: skip
    kept = visits[visits.paid > 2]
    truth = kept.groupby("state").paid.mean()["S5"]
    assert release["S5", "paid"].value == pytest.approx(truth, rel=0.25)
    assert release["S5", "open * 2"].value == pytest.approx(-2 * truth, rel=0.25)
    assert release["S5", "paid"].shrunk is not None
    assert list(release.to_frame()["column"][:2]) == ["paid", "open * 2"]
    assert tt.replay(release.plan, release.answers) == release


def test_the_frame_says_how_many_persons_a_group_has_where_that_was_asked(visits):
    said = {"person": "who", "by": "state", "keys": KEYS, "epsilon": 8}
    once = tt.mean(visits, "paid", each="person", **said).to_frame()
    assert list(once.columns[3:7]) == ["high", "count", "persons", "total"]
    truth = visits.groupby("state").who.nunique()["S5"]
    assert once.set_index("state").persons["S5"] == pytest.approx(truth, rel=0.3)
    every = tt.mean(visits, "paid", **said)
    assert every.to_frame()["persons"].isna().all()
    assert every.persons is None
    assert tt.replay(every.plan, every.answers).cells() == every.cells()
    without = {name: said[name] for name in ("by", "keys", "epsilon")}
    assert "persons" not in tt.mean(visits, "paid", **without).to_frame()


def test_an_empty_group_has_no_ends_and_a_warning(visits):
    found = []
    for _ in range(3):
        release = tt.mean(visits, "paid", person="who", by="state", keys=["S5", "none"], epsilon=4)
        found.append([note.code for note in release["none"].notes])
    assert ["no-signal"] in found  # noise alone looks like records once in a thousand times
    assert [note.kind for note in release["S5"].notes] == ["info"]  # what is scaled down


def test_ids_and_keys_are_compared_exactly(tmp_path):
    """Names that differ beyond ASCII, numbers beyond doubles, and columns that are not joined."""
    ids = [("Müller", 2**53), ("Möller", 2**53), ("Müller", 2**53 + 1), ("Mu\u0308ller", 2**53)]
    keys = ["Zürich", "Zurich", "Zu\u0308rich", "ZÜRICH"]
    rows = [(*person, key, 1.0) for person in ids for key in keys]
    frame = pd.DataFrame(rows, columns=["name", "number", "town", "x"])
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    for data in (frame, pl.from_pandas(frame), path):
        engine = open_groups(data, "x", ["town"], person=["name", "number"]).grouped(
            parse_keys(keys, 1), other=False
        )
        assert engine.size == 4
        assert engine.answer(ScaledSums(GroupRows(), 1, 0, 100, 4)) == (4, 4, 4, 4)


def test_nobody_and_nothing(visits):
    for rows in (visits[:0], visits.assign(paid=math.nan), visits.assign(who=None)):
        release = tt.mean(rows, "paid", person="who", by="state", keys=KEYS, epsilon=1)
        assert [math.isfinite(row.value) for row in release] == [True] * 6
        assert release.has_warnings


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"pooling": None}, "many groups"),
        ({"neighbors": "replace-one"}, "can change two groups"),
        ({"tail": tt.Moment(2, 1.0), "each": "person"}, "not available with person= and by="),
    ],
)
def test_what_cannot_be_asked_says_what_to_write(visits, arguments, words):
    with pytest.raises(ParameterError, match=words):
        tt.mean(visits, "paid", person="who", by="state", keys=KEYS, epsilon=1, **arguments)


def test_plans_and_the_command_line(visits, tmp_path, capsys):
    plan = tt.plan(n=6000, epsilon=1, person=True, by="state", keys=KEYS)
    assert [step.name for step in plan.steps] == [
        "count", "pilot", "tail", "rows", "groups", "spread",
    ]  # fmt: skip
    assert "contribution scaling" in str(plan)
    assert tt.plan(n=600, epsilon=1, person=True, by="state", keys=KEYS).advice
    path = tmp_path / "visits.csv"
    visits.to_csv(path, index=False)
    request = ["mean", str(path), "--column", "paid", "--epsilon", "4", "--person", "who"]
    request += ["--by", "state", "--keys", ",".join(KEYS), "--each", "person"]
    assert main([*request, "--csv"]) == 0
    assert capsys.readouterr().out.splitlines()[6].startswith("S5,")
    engine = open_groups(path, "paid", ["state"], person="who").grouped(
        parse_keys(KEYS, 1), other=False
    )
    assert engine.size == visits.who.nunique()


def test_a_small_group_may_have_lost_a_whole_vector():
    """Few persons have much: which group one of them is in, nobody knows."""
    numbers = np.array([[5.0], [1.0], [1e-3]])
    lost = ScaledDown(10.0, np.array([1.0, 10.0, 100.0]), numbers, np.ones(1))
    assert lost.of_group(0.05) == 0.5 + 100  # one in twenty has one that is 10 longer
    assert lost.of_group(0.02) == 0.2 + 10
    assert lost.of_group(1e-3) == 0.01  # hardly any person at all


@pytest.mark.parametrize(("sigma", "kind"), [(2.5, "warning"), (0.3, "info")])
def test_a_warning_says_that_an_interval_is_mostly_what_was_scaled_down(sigma, kind):
    rng = np.random.default_rng(12)
    size = 8_000
    frame = pd.DataFrame({"x": rng.lognormal(0, sigma, size), "who": np.arange(size)})
    frame["key"] = rng.choice([*"ab"], size)
    release = tt.mean(frame, "x", by="key", keys=[*"ab"], person="who", epsilon=4)
    found = [note for row in release for note in row.notes if note.code == "scaled-down"]
    assert [note.kind for note in found] == [kind] * 2


def test_the_first_interval_is_for_the_mean_itself():
    """Persons with much are scaled down: the interval for that often misses the mean."""
    rng = np.random.default_rng(12)
    frame = pd.DataFrame({"x": rng.lognormal(0, 2, 12_000), "who": rng.integers(0, 4_000, 12_000)})
    keys = list("abcdefghijkl")
    frame["key"] = rng.choice(keys, 12_000)
    truth, held, missed = frame.groupby("key").x.mean(), 0, 0
    for _ in range(4):
        release = tt.mean(frame, "x", by="key", keys=keys, person="who", epsilon=1)
        for row in release:
            first, second = row.intervals
            assert first.target == "mean"
            assert second.target == "clipped mean"
            assert first.low <= second.low <= second.high <= first.high
            assert first.error_components["clipping"] > 0
            held += row.low <= truth[row.group] <= row.high
            missed += not second.low <= truth[row.group] <= second.high
        assert tt.replay(release.plan, release.answers) == release
    assert held >= 44  # of 48
    assert missed >= 3
