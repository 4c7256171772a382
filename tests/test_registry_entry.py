"""Entries for the registry of deployments: they fit its schema once a person filled in the blanks.

``deployments.json`` says where the schema comes from. The registry checks entries by the same
validator, and in addition how their texts are quoted and how their files are named.
"""

import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
import yaml

import tametail as tt
from tametail import cli
from tametail.registry import BLANK, blank

SCHEMA = json.loads(Path(__file__).with_name("deployments.json").read_text("utf-8"))
N = 4_000
FRAME = pd.DataFrame(
    {
        "paid": np.arange(N) % 100 + 1.0,
        "open": np.arange(N) % 7 + 1.0,
        "who": np.arange(N) // 2,
        "state": ["CA", "NY"] * (N // 2),
    }
)
WITH_GROUPS = {"by": "state", "keys": ["CA", "NY"]}

#: What was asked, and what the entry must then say: by the names of its fields.
ASKED = {
    "pure": (
        {"epsilon": 1},
        {
            "variant_name": "Pure DP",
            "privacy_unit": "Record-level",
            "privacy_parameters": {"epsilon": 1.0},
        },
    ),
    "approximate": (
        {"epsilon": 1, "delta": 1e-6},
        {
            "variant_name": "Approximate DP",
            "privacy_parameters": {"epsilon": 1.0, "delta": 1e-6},
        },
    ),
    "zero-concentrated": (
        {"rho": 0.5},
        {"variant_name": "Zero-concentrated DP", "privacy_parameters": {"rho": 0.5}},
    ),
    "bounded": (
        {"epsilon": 1, "neighbors": "replace-one", "n": N},
        {"number_of_privacy_units": N, "variant_name": "Pure DP"},
    ),
    "persons": ({"epsilon": 2, "person": "who"}, {"privacy_unit": "Person-level"}),
    "groups": ({"epsilon": 2, **WITH_GROUPS}, {"privacy_unit": "Record-level"}),
    "persons in groups": (
        {"epsilon": 2, "person": "who", **WITH_GROUPS},
        {"privacy_unit": "Person-level"},
    ),
    "several columns": (
        {"epsilon": 2, "column": ["paid", "open"]},
        {"access_type": "Non-interactive"},
    ),
}  # fmt: skip

#: What a person writes in place of blanks that have a list of values.
CHOSEN = {
    "data_curator_type": "Nonprofit",
    "data_product_sector": "Healthcare",
    "data_source_type": "Static",
    "access_type": "Non-interactive",
    "publication_date": "2026-11-18",
}


def released(asked):
    return tt.mean(FRAME, **({"column": "paid"} | asked))


def filled(node, key=None):
    """Return the entry as a person would complete it."""
    if isinstance(node, dict):
        return {name: filled(child, name) for name, child in node.items()}
    if isinstance(node, list):
        return [filled(child, key) for child in node]
    if isinstance(node, str) and BLANK in node:
        return CHOSEN.get(key, re.sub(f"{BLANK}: .*", "Something that only a person knows.", node))
    return node


def leaves(node, key=None):
    """Yield the names and texts of all fields."""
    if isinstance(node, dict):
        yield from ((name, child) for name, child in node.items())
        for name, child in node.items():
            yield from leaves(child, name)
    elif isinstance(node, list):
        for child in node:
            yield from leaves(child, key)


def problems(entry):
    check = jsonschema.Draft7Validator(
        SCHEMA, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER
    )
    return [f"{list(error.path)}: {error.message}" for error in check.iter_errors(entry)]


@pytest.mark.parametrize("name", ASKED)
def test_a_release_fits_the_schema(name):
    asked, expected = ASKED[name]
    entry = yaml.safe_load(released(asked).registry())
    assert problems(filled(entry)) == []
    found = dict(leaves(entry))
    assert {field: found[field] for field in expected} == expected
    assert found["tier"] == 3
    assert found["status"] == "Draft"


def test_blanks_where_a_value_must_be_chosen_do_not_pass():
    """Nobody publishes an entry by mistake that no person completed."""
    entry = yaml.safe_load(released({"epsilon": 1}).registry())
    said = "\n".join(problems(entry))
    for field in ("data_curator_type", "data_product_sector", "data_source_type"):
        assert field in said


def test_every_field_of_the_third_tier_is_there():
    entry = yaml.safe_load(released({"epsilon": 1}).registry())["deployment"]
    known = SCHEMA["properties"]["deployment"]["properties"]
    left_out = {
        "evidence_sources",
        "data_source_type_details",  # no more to say
        "access_type_details",
    }
    for part, schema in known.items():
        assert set(schema["properties"]) - left_out == set(entry[part]), part


def test_only_what_a_person_knows_is_blank():
    entry = yaml.safe_load(released({"epsilon": 1}).registry())
    blanks = {name for name, text in leaves(entry) if isinstance(text, str) and BLANK in text}
    assert blanks == {
        "url_slug", "name", "data_curator_name", "data_curator_type", "description",
        "intended_use", "data_product_region", "data_product_sector", "unprotected_quantities",
        "trust_assumptions", "actors", "release_type_details", "data_source_type",
        "preprocessing_and_hyperparameter_tuning", "mechanisms", "justification",
        "additional_information",
    }  # fmt: skip


def test_the_number_of_persons_is_the_private_one():
    release = released({"epsilon": 2, "person": "who"})
    entry = yaml.safe_load(release.registry())
    assert dict(leaves(entry))["number_of_privacy_units"] == round(release.persons)


def test_where_keys_are_chosen_privately_they_are_not_called_public():
    asked = {"epsilon": 4, "delta": 1e-6, "by": "state"}
    chosen = dict(leaves(yaml.safe_load(released(asked).registry())))
    given = dict(leaves(yaml.safe_load(released({"epsilon": 2, **WITH_GROUPS}).registry())))
    assert "keys of the groups" not in chosen["unprotected_quantities"]
    assert "keys of the groups" in given["unprotected_quantities"]


@pytest.mark.parametrize(
    "name", ["a: b", "- x", "x # y", "'", '"', "| x", "a\nb", "é", "\u2028", "\x07", "{x}", " x "]
)
def test_any_name_of_a_column_can_be_read_again(name):
    frame = FRAME.rename(columns={"paid": name})
    entry = yaml.safe_load(tt.mean(frame, name, epsilon=1).registry())
    assert problems(filled(entry)) == []
    assert name.strip() in dict(leaves(entry))["data_domain"]


@pytest.mark.parametrize("name", ASKED)
def test_texts_are_quoted_as_the_registry_wants_it(name):
    """Literal blocks or quotes; folded text (>) would lose the lines of Markdown."""
    tokens = yaml.scan(released(ASKED[name][0]).registry())
    styles = {token.style for token in tokens if isinstance(token, yaml.ScalarToken)}
    assert styles <= {None, '"', "|"}


def test_a_release_that_was_loaded_names_the_version_that_made_it():
    record = json.loads(released({"epsilon": 1}).to_json())
    record["issued"]["version"] = "0.0.7"
    entry = yaml.safe_load(tt.Release.from_dict(record).registry())
    assert "tametail 0.0.7" in dict(leaves(entry))["mechanisms"]


def test_a_release_without_a_date_has_a_blank_for_it():
    release = released({"epsilon": 1})
    entry = yaml.safe_load(tt.replay(release.plan, release.answers).registry())
    assert dict(leaves(entry))["publication_date"] == blank("the day of publication, as 2026-11-18")


@pytest.fixture
def office(tmp_path, monkeypatch):
    monkeypatch.setenv("TAMETAIL_LEDGER", str(tmp_path / "office.ledger"))
    return tt.Ledger(tmp_path / "office.ledger")


def printed(capsys, *arguments):
    assert cli.main(["ledger", "registry", *arguments]) == 0
    return capsys.readouterr().out


def test_a_ledger_describes_all_releases_together(office, capsys):
    office.create("claims", tt.pure(3), person="who")
    for _ in range(2):
        tt.mean(FRAME, "paid", epsilon=1, person="who", ledger=office, dataset="claims")
    text = printed(capsys, "claims")
    entry = yaml.safe_load(text)
    assert problems(filled(entry)) == []
    found = dict(leaves(entry))
    assert found["privacy_parameters"] == {"epsilon": 3.0}
    assert found["privacy_unit"] == "Person-level"
    assert found["release_type"] == "Many releases"
    assert "66.7% of it is spent" in found["privacy_parameters_details"]
    assert found["composition"].count("epsilon = 1") == 2
    users = {event.user for event in office.history("claims")}
    assert not any(re.search(rf"\b{re.escape(user)}\b", text) for user in users)


@pytest.mark.parametrize("budget", [tt.zcdp(0.5), tt.approx(2, 1e-6)])
def test_a_ledger_without_charges(office, capsys, budget):
    office.create("claims", budget, "replace-one")
    entry = yaml.safe_load(printed(capsys, "claims"))
    assert problems(filled(entry)) == []
    found = dict(leaves(entry))
    assert found["privacy_parameters"] == {
        name: value for name, value in budget.to_dict().items() if name != "kind"
    }
    assert "no charges yet" in found["composition"]
    assert found["publication_date"].startswith(BLANK)


def test_many_charges_are_counted(office, capsys):
    office.create("claims", tt.pure(3))
    for number in range(23):
        office.charge("claims", tt.pure(0.1), release_id=f"r{number}").store("{}")
    found = dict(leaves(yaml.safe_load(printed(capsys, "claims"))))
    assert "- and 3 more" in found["composition"]


def test_an_unknown_data_set_is_refused(office, capsys):
    office.create("claims", tt.pure(3))
    assert cli.main(["ledger", "registry", "clams"]) != 0
    assert "TO FILL IN" not in capsys.readouterr().out
