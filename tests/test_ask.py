"""Ask: the account adds up and refuses in time, parts are disjoint, transcripts replay."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tametail.ask import Account, Ask, Data, Replay, _larger
from tametail.data.relation import Relation, are_disjoint
from tametail.errors import BudgetError, DataError, InternalError
from tametail.keys import Key
from tametail.mechanisms.dispatch import mechanism_for
from tametail.mechanisms.medians import choose_many_medians
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Approx, Pure, Zcdp, compose, fits
from tametail.queries.column import Buckets, ClippedSum, ClippingGrid, Count, Median
from tametail.queries.persons import PersonMean
from tametail.queries.query import Query
from tametail.queries.rows import ColumnMedians, Distances

from .opened import open_table

BUCKETS = Buckets(inverse_width=1.0, low=-5, high=5)
LATTICE = ClippingGrid(exponent=-4, low=-48, center=0, high=64)
RECORDS = [0.5, 1.5, 1.5, 2.5, None, 3.0]


class Untouchable:
    """Data that must not be read: every answer is an error."""

    size = 6
    relation = Relation(("0",))

    def answer(self, query):
        raise AssertionError("a record was read")

    is_remote = False

    def on(self, relation):
        return self


class Unreadable(Untouchable):
    def answer(self, query):
        raise DataError("the file is gone.")


def ask_about(records, budget, adjacency=Adjacency.REPLACE_ONE):
    return Ask(Data(open_table(records).backend), budget, adjacency)


def parts_of(ask, spans):
    return ask.disjoint([ask.relation.between(*span) for span in spans])


# --- composition in sequence and in parallel


def test_nothing_asked_is_nothing_spent():
    assert ask_about(RECORDS, Pure(1.0)).spent is None


@pytest.mark.parametrize(
    ("budget", "costs", "spent"),
    [
        (Pure(1.0), [Pure(0.25), Pure(0.5)], Pure(0.75)),
        (Zcdp(1.0), [Zcdp(0.25), Pure(1.0)], Zcdp(0.75)),
        (Approx(1.0, 1e-6), [Pure(0.25), Pure(0.5)], Pure(0.75)),
        (Approx(1.0, 1e-6), [Approx(0.25, 1e-6), Pure(0.5)], Approx(0.75, 1e-6)),
    ],
)
def test_costs_in_sequence_add_up(budget, costs, spent):
    ask = ask_about(RECORDS, budget)
    for cost in costs:
        ask(Count(), cost)
    assert ask.spent == spent


@pytest.mark.parametrize("budget", [Pure(1.0), Zcdp(0.5), Approx(1.0, 1e-6)])
def test_disjoint_parts_cost_one(budget):
    ask = ask_about(RECORDS, budget)
    for part in parts_of(ask, [(0, 2), (2, 4), (4, 6)]):
        part(BUCKETS, budget)
    assert ask.spent == budget


def test_the_dearest_part_counts():
    ask = ask_about(RECORDS, Pure(1.0))
    first, second = parts_of(ask, [(0, 3), (3, 6)])
    first(Count(), Pure(0.25))
    second(Count(), Pure(0.125))
    second(Count(), Pure(0.5))
    assert (first.spent, second.spent, ask.spent) == (Pure(0.25), Pure(0.625), Pure(0.625))


def test_a_part_without_delta_beside_one_with_delta():
    budget = Approx(1.0, 1e-6)
    ask = ask_about(RECORDS, budget)
    first, second = parts_of(ask, [(0, 3), (3, 6)])
    first(BUCKETS, budget)
    second(Count(), Pure(1.0))
    assert ask.spent == budget


def test_two_groups_of_parts_read_the_same_records_and_add_up():
    ask = ask_about(RECORDS, Pure(1.0))
    for spans in ([(0, 3), (3, 6)], [(0, 1), (1, 6)]):
        for part in parts_of(ask, spans):
            part(Count(), Pure(0.5))
    assert ask.spent == Pure(1.0)
    with pytest.raises(InternalError, match="beyond the budget"):
        ask(Count(), Pure(1e-9))


def test_a_part_of_a_part_counts_at_the_top():
    ask = ask_about(RECORDS, Pure(1.0))
    (half,) = parts_of(ask, [(0, 3)])
    half(Count(), Pure(0.25))
    for part in parts_of(half, [(0, 1), (1, 2)]):
        part(Count(), Pure(0.5))
    assert ask.spent == Pure(0.75)


@st.composite
def trees(draw, depth=2):
    """What one record is asked: costs in sequence, and groups of disjoint parts."""
    costs = draw(st.lists(st.sampled_from([1, 2, 3]), max_size=3))
    if depth == 0:
        return costs, []
    groups = st.lists(st.lists(trees(depth=depth - 1), min_size=1, max_size=3), max_size=2)
    return costs, draw(groups)


def true_cost(tree):
    costs, groups = tree
    return sum(costs) + sum(max(map(true_cost, group)) for group in groups)


def spend(account, tree, adjacency):
    costs, groups = tree
    for cost in costs:
        account.charge(Pure(cost * adjacency))
    for group in groups:
        for part, subtree in zip(account.open_parts(len(group)), group, strict=True):
            spend(part, subtree, adjacency)


@given(trees())
def test_the_account_is_sums_of_maxima(tree):
    """And it admits a tree exactly if what one record pays at most is within the budget."""
    total, adjacency = true_cost(tree), 2.0**-6
    account = Account(Pure(max(total, 1) * adjacency))
    spend(account, tree, adjacency)
    assert account.spent() == (Pure(total * adjacency) if total else None)
    if total > 1:
        with pytest.raises(InternalError, match="beyond the budget"):
            spend(Account(Pure((total - 1) * adjacency)), tree, adjacency)


# --- refusals come before any record is read


@pytest.mark.parametrize("budget", [Pure(1.0), Zcdp(0.5), Approx(1.0, 1e-6)])
def test_overspending_is_refused_before_a_record_is_read(budget):
    dear = type(budget)(*(2 * value for value in budget.values()))
    ask = Ask(Data(Untouchable()), budget, Adjacency.REPLACE_ONE)
    with pytest.raises((InternalError, BudgetError)):
        ask(Count(), dear)
    part, _ = parts_of(ask, [(0, 3), (3, 6)])
    with pytest.raises((InternalError, BudgetError)):
        part(Median(0, -1.0, 1.0), dear)


def test_a_cost_that_cannot_make_the_guarantee_is_refused():
    with pytest.raises(InternalError, match="cannot make a Pure guarantee"):
        Ask(Data(Untouchable()), Pure(1.0), Adjacency.REPLACE_ONE)(Count(), Zcdp(0.01))


def test_a_read_that_fails_has_spent_the_budget():
    ask = Ask(Data(Unreadable()), Pure(1.0), Adjacency.REPLACE_ONE)
    with pytest.raises(DataError, match=r"gone\. The budget of this release is spent\."):
        ask(Count(), Pure(1.0))
    assert ask.spent == Pure(1.0)


# --- parts


@pytest.mark.parametrize("spans", [[(0, 3), (2, 6)], [(0, 6), (1, 2)], [(3, 6), (0, 4)]])
def test_parts_that_overlap_are_refused(spans):
    ask = Ask(Data(Untouchable()), Pure(1.0), Adjacency.REPLACE_ONE)
    with pytest.raises(InternalError, match="parts that may overlap"):
        parts_of(ask, spans)


def test_empty_parts_overlap_with_nothing():
    ask = ask_about(RECORDS, Pure(1000.0))
    counts = [part(Count(), Pure(1000.0)) for part in parts_of(ask, [(0, 6), (3, 3), (2, 2)])]
    assert counts == [(5, 1, 0), (0, 0, 0), (0, 0, 0)]


def test_rows_by_position_need_replace_one():
    with pytest.raises(InternalError, match="parts that may overlap"):
        parts_of(ask_about(RECORDS, Pure(1.0), Adjacency.ADD_REMOVE), [(0, 3)])


# --- answers and transcripts


@pytest.mark.parametrize("cost", [Pure(1e4), Zcdp(1e8)])
def test_with_a_huge_budget_the_answers_are_exact(cost):
    ask = ask_about(RECORDS, Pure(1e5) if isinstance(cost, Pure) else Zcdp(1e9))
    assert ask(Count(), cost) == (5, 1, 0)
    assert ask(ClippedSum(LATTICE), cost) == (8 + 24 + 24 + 40 + 48,)
    assert ask(BUCKETS, cost) == 1
    assert ask(Median(0, -10.0, 10.0), cost) == 1.5
    assert ask.answers == ((5, 1, 0), (144,), 1, 1.5)


def estimator(ask):
    """Ask everything once, and let later questions depend on earlier answers."""
    first, second = parts_of(ask, [(0, 3), (3, 6)])
    key = first(BUCKETS, Pure(0.5)) or 0
    lattice = ClippingGrid(exponent=-4, low=16 * key - 48, center=16 * key, high=16 * key + 64)
    (total,) = second(ClippedSum(lattice), Pure(0.5))
    return key, total, ask(Median(0, -10.0, 10.0), Pure(0.5)), ask.spent


def test_a_replay_gives_the_same_and_never_touches_data():
    ask = ask_about(RECORDS, Pure(1.0))
    result = estimator(ask)
    replayed = Ask(Replay(ask.answers), Pure(1.0), Adjacency.REPLACE_ONE)
    assert estimator(replayed) == result
    assert replayed.answers == ask.answers


def test_a_transcript_that_went_through_json_replays():
    answers = [3, [17], 0.5]  # JSON has lists where answers are tuples
    replayed = Ask(Replay(answers), Pure(1.0), Adjacency.REPLACE_ONE)
    assert estimator(replayed) == (3, 17, 0.5, Pure(1.0))


def test_a_transcript_that_is_too_short_is_noticed():
    with pytest.raises(InternalError, match="fewer answers than the estimator asks for"):
        estimator(Ask(Replay([3]), Pure(1.0), Adjacency.REPLACE_ONE))


@given(st.lists(st.floats(1e-6, 0.19), min_size=1, max_size=5))
def test_what_is_spent_is_never_less_than_the_exact_sum(epsilons):
    ask = Ask(Replay([(0,)] * len(epsilons)), Pure(1.0), Adjacency.REPLACE_ONE)
    for epsilon in epsilons:
        ask(Count(), Pure(epsilon))
    assert Fraction(ask.spent.epsilon) >= sum(map(Fraction, epsilons))
    assert fits(ask.spent, Pure(1.0))


# --- what is asked about several columns


def test_columns_of_a_matrix_add_up_and_replay():
    ask = Ask(
        Data(open_table(np.array([[1.0, 2.0], [3.0, None]])).backend),
        Pure(1e4),
        Adjacency.REPLACE_ONE,
    )
    counts = [ask.on(ask.relation.column(index), Pure(4e3))(Count(), Pure(4e3)) for index in (0, 1)]
    assert (counts, ask.spent) == ([(2, 0, 0), (1, 1, 0)], Pure(8e3))
    again = Ask(Replay(ask.answers), Pure(1e4), Adjacency.REPLACE_ONE)
    assert again.on(ask.relation.column(1), Pure(4e3))(Count(), Pure(4e3)) == (2, 0, 0)


def test_choices_in_every_column_with_a_huge_budget_are_exact():
    ask = Ask(Data(open_table(np.array([[1.0, 7.0]] * 9)).backend), Pure(1e6), Adjacency.ADD_REMOVE)
    assert ask(ColumnMedians(0, ((0, 9),) * 2), Pure(1e5)) == (1.0, 7.0)
    ranks = Distances((0.0, 0.0), ((0.5, 4.0, 8.0),) * 2, target=5, weights=(1,) * 4)
    assert ask(ranks, Pure(1e5)) == (1, 2)


# --- accounts of several kinds


def test_many_pure_costs_fit_an_approximate_budget_by_way_of_zcdp():
    account = Account(Approx(2.0, 1e-6))
    for _ in range(300):
        account.charge(Pure(0.01))
    assert account.spent() == compose([Pure(0.01)] * 300, Approx, 1e-6)


def test_parts_whose_costs_cannot_be_compared_are_refused():
    with pytest.raises(InternalError, match="not comparable"):
        _larger(Zcdp(0.5), Pure(1.0))


def test_an_answer_does_not_hear_what_numpy_was_told():
    """An underflow in a weight would otherwise raise, for some records and not for others."""
    records = np.exp(30 * np.random.default_rng(5).normal(size=500))
    with np.errstate(all="raise"):
        query = Median(0, -math.inf, math.inf)
        assert math.isfinite(ask_about(records, Pure(1000.0))(query, Pure(1000.0)))


# --- what not every engine can do


GROUPED = Relation(("x",), by=("g",)).coded([Key((n,)) for n in "abc"], other=True)


@pytest.mark.parametrize(
    ("relations", "adjacency", "disjoint"),
    [
        ([GROUPED.of([0]), GROUPED.of([1, 3])], Adjacency.ADD_REMOVE, True),
        ([GROUPED.of([0]), GROUPED.of([1, 0])], Adjacency.ADD_REMOVE, False),
        ([GROUPED.of([0]), GROUPED.of([1])], Adjacency.REPLACE_ONE, False),
        ([GROUPED.of([0]), GROUPED.of([1])], Adjacency.parse("add-remove", "p"), False),
        (
            [GROUPED.of([0]), replace(GROUPED, view=PersonMean()).of([1])],
            Adjacency.ADD_REMOVE,
            False,
        ),
        ([GROUPED.of([0]), replace(GROUPED, where="x > 1").of([1])], Adjacency.ADD_REMOVE, False),
        ([Relation(("x",)), Relation(("y",))], Adjacency.ADD_REMOVE, False),
        ([Relation(("x",)).between(0, 2), Relation(("x",))], Adjacency.REPLACE_ONE, False),
        ([Relation(("x",)).between(0, 2)], Adjacency.ADD_REMOVE, False),
        ([GROUPED.between(0, 2), GROUPED.between(2, 4)], Adjacency.REPLACE_ONE, False),
        # One record more shifts which records the positions are about.
        (
            [GROUPED.between(0, 4).of([0]), GROUPED.between(0, 4).of([1])],
            Adjacency.ADD_REMOVE,
            False,
        ),
    ],
)
def test_only_what_nobody_can_be_in_twice_is_disjoint(relations, adjacency, disjoint):
    assert are_disjoint(relations, adjacency) == disjoint


def test_persons_are_disjoint_if_the_relation_keeps_each_to_one_group():
    kept = replace(GROUPED, person=("p",), groups_per_person=1)
    adjacency = Adjacency.parse("add-remove", "p")
    assert are_disjoint([kept.of([0]), kept.of([2])], adjacency)
    assert not are_disjoint([kept.of([0]), kept.of([0])], adjacency)
    assert not are_disjoint([kept.dropped().of([0]), kept.dropped().of([2])], adjacency)
    assert not are_disjoint([kept.of([0]), kept.of([2])], Adjacency.parse("replace-one", "p"))


def test_groups_are_for_add_remove():
    ask = ask_about(RECORDS, Pure(1.0))
    with pytest.raises(InternalError, match="groups are for add-remove"):
        ask.on(GROUPED)


@pytest.mark.parametrize(
    "adjacency", [Adjacency.ADD_REMOVE, Adjacency.parse("replace-one", "p")], ids=str
)
def test_rows_by_position_are_for_records_that_stay_where_they_are(adjacency):
    ask = ask_about(RECORDS, Pure(1.0), adjacency)
    with pytest.raises(InternalError, match="stay where they are"):
        ask.on(ask.relation.between(0, 2))
    ask_about(RECORDS, Pure(1.0)).on(ask.relation.between(0, 2))


def test_estimators_in_step_ask_as_if_alone():
    """Where data are far away the questions of a round are read at once, in groups' own order."""
    rounds = []

    class Remote(Untouchable):
        is_remote = True
        relation = GROUPED

        def on(self, relation):
            other = Remote()
            other.relation = relation
            return other

        def answer_each(self, queries):
            rounds.append((self.relation.codes, len(queries)))
            return [(100 * code, 0, 0) for code in self.relation.codes]

    def estimate(place, about):
        times = [3, 1, 0, 2][place]
        return [about(Count(), Pure(100.0))[0] for _ in range(times)]

    ask = Ask(Data(Remote()), Pure(1000.0), Adjacency.ADD_REMOVE)
    asks = ask.disjoint([ask.relation.of([code]) for code in range(4)])
    assert ask.for_each(asks, estimate) == [[0, 0, 0], [100], [], [300, 300]]
    assert rounds == [((0, 1, 3), 3), ((0, 3), 2), ((0,), 1)]
    assert [answer[0] for answer in ask.answers] == [0, 0, 0, 100, 300, 300]
    assert ask.spent == Pure(300.0)


def test_an_error_in_step_reaches_the_caller():
    class Failing(Untouchable):
        is_remote = True
        relation = GROUPED

        def answer_each(self, queries):
            raise DataError("the server is gone.")

    ask = Ask(Data(Failing()), Pure(10.0), Adjacency.ADD_REMOVE)
    asks = ask.disjoint([ask.relation.of([code]) for code in range(3)])
    with pytest.raises(DataError, match=r"gone\. The budget of this release is spent"):
        ask.for_each(asks, lambda _place, about: about(Count(), Pure(1.0)))


def test_a_query_without_a_mechanism_is_refused():
    class Unknown(Query):
        pass

    with pytest.raises(InternalError, match="there is no mechanism for Unknown"):
        mechanism_for(Unknown(), Pure(1.0), Adjacency.ADD_REMOVE)


def test_many_medians_need_a_rate():
    column = np.array([1], dtype=np.int64), np.array([3], dtype=np.int64)
    with pytest.raises(InternalError, match="at least 0"):
        list(choose_many_medians([column], [(0, 9)], -1, Adjacency.ADD_REMOVE))


def test_data_that_cannot_be_grouped_count_as_spent():
    class Broken(Untouchable):
        def on(self, relation):
            raise DataError("the file is gone.")

    ask = Ask(Data(Broken()), Pure(1.0), Adjacency.ADD_REMOVE)
    with pytest.raises(DataError, match="The budget of this release is spent"):
        ask.on(GROUPED)
