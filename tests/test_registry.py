"""Every query, found by the program, has all that privacy rests on."""

import inspect
import json
import lzma
import re
from pathlib import Path

import pytest

from tametail.data.kernels.passes import PASSES
from tametail.queries.groups import KeyCounts, Keyed, ScaledSquares, ScaledSums

from .mutants.catalogue import MUTANTS
from .privacy.mechanism_cases import query_cases
from .registry import query_types

ROOT = Path(__file__).parents[1]
QUERIES = pytest.mark.parametrize("query", query_types(), ids=lambda query: query.__name__)


def test_there_are_queries_of_every_room():
    packages = {query.__module__.rpartition(".")[2] for query in query_types()}
    assert packages >= {"column", "rows", "paper"}
    assert len(query_types()) >= 15


def test_every_query_declares_its_pass():
    # Made of the passes of their parts, of the keys alone, or of totals by person and group.
    by_key = {Keyed, KeyCounts, ScaledSums, ScaledSquares}
    assert set(PASSES) == set(query_types()) - by_key


@QUERIES
def test_every_query_has_a_mutant(query):
    """A bug inside the class that tests must notice."""
    source = inspect.getsource(query)
    file = query.__module__.removeprefix("tametail.").replace(".", "/") + ".py"
    assert any(mutant.file == file and mutant.old in source for mutant in MUTANTS)


@QUERIES
def test_every_query_is_specified(query):
    text = (ROOT / "docs" / "reference" / "query-specification.md").read_text(encoding="utf-8")
    assert re.search(rf"^#+ {query.__name__}\b", text, re.MULTILINE)


@QUERIES
def test_every_query_is_audited(query):
    assert any(case.name.split()[0] == query.__name__ for case in query_cases())


@QUERIES
def test_every_query_has_exact_answers_that_engines_must_give(query):
    """``tests/net`` compares the engines with them, on hostile data, wherever the data are."""
    net = ROOT / "tests" / "net"
    with lzma.open(net / "engines.jsonl.xz", "rt", encoding="utf-8") as lines:
        recorded = {asked["class"] for line in lines for asked in json.loads(line)["queries"]}
    with lzma.open(net / "placed.jsonl.xz", "rt", encoding="utf-8") as lines:
        recorded |= {ask["query"]["class"] for line in lines for ask in json.loads(line)["asks"]}
    assert query.__name__ in recorded
