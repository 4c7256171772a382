"""Every proof is pinned to the code that it proves, and every query and mechanism has one."""

import importlib.util
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from .mutants.catalogue import MUTANTS
from .registry import query_types

ROOT = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("pin_proofs", ROOT / "tools" / "pin_proofs.py")
pin_proofs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pin_proofs)


def proved():
    return {
        match["name"]
        for path in pin_proofs.PROOFS.glob("*.md")
        for match in pin_proofs.LINE.finditer(path.read_text(encoding="utf-8"))
    }


@pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="pins are of Python 3.11's syntax trees"
)
@pytest.mark.skipif(find_spec("pyspark") is None, reason="pyspark is not installed")
def test_no_code_has_moved_without_its_proof():
    assert pin_proofs.stale() == []


@pytest.mark.parametrize("path", sorted(pin_proofs.PROOFS.glob("*.md")), ids=lambda path: path.name)
def test_no_line_that_pins_goes_unread(path):
    """``proves: name @ 0`` was no pin for the expression that looked for pins, and nobody saw."""
    text = path.read_text(encoding="utf-8")
    pins = [match["hash"] for match in pin_proofs.LINE.finditer(text)]
    assert len(pins) == sum(line.startswith("proves:") for line in text.splitlines()) > 0
    assert all(len(pin or "") == 12 for pin in pins)


@pytest.mark.parametrize("query", query_types(), ids=lambda query: query.__name__)
def test_every_query_has_a_proof(query):
    whole = f"{query.__module__}.{query.__name__}"
    assert any(name == whole or name.startswith(f"{whole}.") for name in proved())


@pytest.mark.parametrize(
    "name",
    [
        "tametail.mechanisms.noise.add_laplace",
        "tametail.mechanisms.noise.add_gaussian",
        "tametail.mechanisms.spherical.add_spherical",
        "tametail.mechanisms.select.select",
        "tametail.mechanisms.medians.choose_median",
        "tametail.mechanisms.histograms.noisy_histogram",
        "tametail.mechanisms.histograms.largest_bucket",
        "tametail.privacy.budget.compose",
        "tametail.privacy.budget.on_sample",
        "tametail.ask.Account",
        "tametail.paper.range.range_estimator",
        "tametail.paper.univariate.mean_estimator",
        "tametail.methods.winsorized.estimate.estimate_spread",
        "tametail.methods.winsorized.estimate.SpreadEstimate.finish",
    ],
)
def test_every_mechanism_and_estimator_has_a_proof(name):
    assert any(found == name or found.startswith(f"{name}.") for found in proved())


KILLED = re.compile(
    r"^killed by: `(?P<test>[^`]+)` \(mutant `(?P<mutant>[^`]+)`\) *$", re.MULTILINE
)


@pytest.mark.parametrize("path", sorted(pin_proofs.PROOFS.glob("*.md")), ids=lambda path: path.name)
def test_every_proof_names_tests_that_fail_when_its_sensitivity_is_lowered(path):
    """``make mutants`` shows that they do, and tests/test_mutants.py that they exist."""
    text = path.read_text(encoding="utf-8")
    named = [(match["mutant"], match["test"]) for match in KILLED.finditer(text)]
    assert named
    assert len(named) == text.count("killed by:")  # a line that is not understood shows nothing
    tests = {mutant.name: mutant.tests for mutant in MUTANTS}
    for mutant, test in named:
        assert test in tests[mutant]


def test_a_hash_sees_arithmetic_and_not_words(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    hashes = []
    for index, body in enumerate(
        ["'''Add.'''\n    return x + 1", "return x + 1  # why", "return x + 2"]
    ):
        (tmp_path / f"moved{index}.py").write_text(f"def f(x):\n    {body}\n")
        hashes.append(pin_proofs.code_hash(f"moved{index}.f"))
    assert hashes[0] == hashes[1] != hashes[2]
