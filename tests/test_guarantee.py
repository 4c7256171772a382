"""Guarantees: what they state, what they imply, and how they read."""

from __future__ import annotations

import pickle

import pytest

from tametail.errors import InternalError, ParameterError
from tametail.privacy.adjacency import RECORD_ADJACENCIES, Adjacency
from tametail.privacy.budget import Guarantee, approx, pure, zcdp, zcdp_to_approx


@pytest.mark.parametrize(
    ("spent", "sentence"),
    [
        (
            pure(1),
            "epsilon = 1 (pure DP) for adding or removing any one record. "
            "This implies epsilon = 2 for replacing one record.",
        ),
        (
            zcdp(0.5),
            "rho = 0.5 (zCDP) for adding or removing any one record. "
            "This implies rho = 2 for replacing one record.",
        ),
        (
            approx(1, 1e-6),
            "epsilon = 1, delta = 1e-06 (approximate DP) for adding or removing any one record. "
            "This implies epsilon = 2, delta = 3.71828182846e-06 for replacing one record.",
        ),
    ],
)
def test_a_guarantee_is_one_sentence(spent, sentence):
    assert str(Guarantee.from_budget(spent, Adjacency.ADD_REMOVE)) == sentence


def test_a_guarantee_under_replacement_implies_nothing_more():
    guarantee = Guarantee.from_budget(zcdp(0.5), Adjacency.REPLACE_ONE)
    assert guarantee.for_replacement() is guarantee
    assert str(guarantee).endswith("for replacing any one record.")


def test_guarantees_state_what_applies():
    rows = [
        Guarantee.from_budget(spent, Adjacency.ADD_REMOVE).to_dict()
        for spent in (pure(1), zcdp(0.5), approx(1, 1e-6))
    ]
    assert rows == [
        {"epsilon": 1.0, "delta": 0.0, "rho": None, "neighbors": "add-remove", "person": None},
        {"epsilon": None, "delta": None, "rho": 0.5, "neighbors": "add-remove", "person": None},
        {"epsilon": 1.0, "delta": 1e-6, "rho": None, "neighbors": "add-remove", "person": None},
    ]
    assert all(type(row["neighbors"]) is str for row in rows)


def test_a_doubled_delta_never_exceeds_one():
    for epsilon in (20.0, 699.0, 701.0, 1e6):
        doubled = Guarantee.from_budget(
            approx(epsilon, 1e-3), Adjacency.ADD_REMOVE
        ).for_replacement()
        assert (doubled.epsilon, doubled.delta) == (2 * epsilon, 1.0)
    assert Guarantee.from_budget(pure(1e6), Adjacency.ADD_REMOVE).for_replacement().delta == 0.0


def test_epsilon_at_a_delta():
    def at(spent, delta):
        return Guarantee.from_budget(spent, Adjacency.REPLACE_ONE).at_delta(delta)

    assert at(pure(1), 1e-9) == 1.0
    assert at(approx(1, 1e-6), 1e-5) == 1.0
    assert at(zcdp(0.5), 1e-6) == zcdp_to_approx(0.5, 1e-6)
    with pytest.raises(ParameterError, match=r"delta=1e-07 is smaller .* Use delta=1e-06 or"):
        at(approx(1, 1e-6), 1e-7)
    with pytest.raises(ParameterError, match="Invalid delta=0"):
        at(zcdp(1), 0)


def test_an_empty_guarantee_is_an_internal_error():
    with pytest.raises(InternalError, match="states neither rho nor epsilon and delta"):
        Guarantee(None, None, None, Adjacency.REPLACE_ONE).at_delta(1e-6)


# --- the unit as a value


def test_a_unit_of_records_is_its_word_and_one_of_persons_is_not():
    patients = Adjacency.parse("add-remove", person="patient")
    assert (
        Adjacency.parse("add-remove")
        is Adjacency.parse(Adjacency.ADD_REMOVE)
        is Adjacency.ADD_REMOVE
    )
    assert Adjacency.ADD_REMOVE == "add-remove" != Adjacency.REPLACE_ONE
    assert "add-remove" != patients != Adjacency.ADD_REMOVE
    assert Adjacency.parse(Adjacency.ADD_REMOVE, "patient") == patients == Adjacency.parse(patients)
    assert len({Adjacency.ADD_REMOVE, "add-remove", patients, Adjacency.REPLACE_ONE}) == 3
    assert pickle.loads(pickle.dumps(patients)) == patients
    assert pickle.loads(pickle.dumps(Adjacency.REPLACE_ONE)) == Adjacency.REPLACE_ONE


@pytest.mark.parametrize("person", [None, "patient"])
def test_a_unit_says_how_far_one_protected_thing_goes(person):
    more, other = (Adjacency.parse(adjacency.value, person) for adjacency in RECORD_ADJACENCIES)
    assert (more.size_is_public, more.changes, more.one_way) == (False, 1, True)
    assert (other.size_is_public, other.changes, other.one_way) == (True, 2, False)
    assert more.replaced() == other.replaced() == other


@pytest.mark.parametrize("person", ["", 7, [], ["a", ""], ["a", "a"], ["a", 7], ["a", ["b"]]])
def test_a_person_is_named_by_columns(person):
    with pytest.raises(ParameterError, match="such as person='patient'"):
        Adjacency.parse("add-remove", person)
    assert Adjacency.parse("add-remove", ["clinic"]).person == "clinic"
    assert Adjacency.parse("add-remove", ["a", "b"]).person == ("a", "b")


@pytest.mark.parametrize("adjacency", ["add", None, 3, [], Adjacency.parse("add-remove", "a")])
def test_an_unknown_unit_is_refused(adjacency):
    with pytest.raises(ParameterError, match="Use neighbors='add-remove'"):
        Adjacency.parse(adjacency, None if not isinstance(adjacency, Adjacency) else "b")


@pytest.mark.parametrize(
    ("adjacency", "spent", "sentence"),
    [
        (
            "add-remove",
            pure(1),
            "epsilon = 1 (pure DP) for adding or removing any one person (patient) with all their "
            "records. This implies epsilon = 2 for replacing one person, or for adding or removing "
            "one of their records.",
        ),
        (
            "add-remove",
            zcdp(0.5),
            "rho = 0.5 (zCDP) for adding or removing any one person (patient) with all their "
            "records. This implies rho = 2 for replacing one person, or for adding or removing "
            "one of their records.",
        ),
        (
            "replace-one",
            pure(1),
            "epsilon = 1 (pure DP) for replacing any one person (patient) with all their records. "
            "This implies epsilon = 1 for replacing one record of a person.",
        ),
    ],
)
def test_a_guarantee_for_persons_names_their_column(adjacency, spent, sentence):
    guarantee = Guarantee.from_budget(spent, Adjacency.parse(adjacency, person="patient"))
    assert str(guarantee) == sentence
    assert guarantee.to_dict()["person"] == guarantee.person == "patient"
    assert guarantee.to_dict()["neighbors"] == guarantee.neighbors == adjacency


def test_what_a_guarantee_for_persons_implies_for_one_record():
    """The record's person goes, and comes back with it or without it."""
    for spent in (pure(1), zcdp(0.5), approx(1, 1e-6)):
        persons = Guarantee.from_budget(spent, Adjacency.parse("add-remove", ["clinic", "patient"]))
        one = persons.for_one_record()
        twice = Guarantee.from_budget(spent, Adjacency.ADD_REMOVE).for_replacement()
        assert (one.epsilon, one.delta, one.rho) == (twice.epsilon, twice.delta, twice.rho)
        assert one.protects is Adjacency.ADD_REMOVE
        assert persons.for_replacement().protects == Adjacency.parse(
            "replace-one", ["clinic", "patient"]
        )
        assert persons.to_dict()["person"] == ["clinic", "patient"]
        replaced = persons.for_replacement()
        assert replaced.for_replacement() is replaced
        assert replaced.for_one_record().protects is Adjacency.REPLACE_ONE
        assert twice.for_one_record() is twice


def test_a_guarantee_shows_itself_in_notebooks():
    guarantee = Guarantee.from_budget(pure(1.0), Adjacency.ADD_REMOVE)
    assert "<b>epsilon = 1</b>" in guarantee._repr_html_()
    assert repr(guarantee) == "<Guarantee: epsilon = 1, add-remove>"
