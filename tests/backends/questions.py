"""Requests and exact questions about a data set, and how far one record may move their answers.

This is the only file of the folder that knows how the package answers exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tametail.keys import Key
from tametail.privacy.adjacency import Adjacency
from tametail.queries.column import (
    Buckets,
    ClippedSum,
    ClippingGrid,
    Count,
    DistanceSum,
    LogHistogram,
    Median,
    Quantiles,
    Squares,
)
from tametail.queries.groups import Cells, KeyCounts, Keyed, ScaledSquares, ScaledSums
from tametail.queries.persons import (
    GroupResiduals,
    GroupRows,
    PersonMean,
    PersonNorm,
    PersonResidual,
    PersonRows,
)
from tametail.queries.products import Products
from tametail.queries.query import KeysQuery
from tametail.queries.rows import Ball, BallSquares, BallSum, ColumnMedians, Distances, Rows

from ..opened import open_groups, open_table  # noqa: TID252
from .datasets import Dataset
from .places import Place

CONDITIONS = (
    None, None, "{value} > 0", "not {value} > 100", "{value} != 2", "{second} * 2 > {value}",
    "{text} == 'a'", "{text} != 'a' and {value} >= 1", "{text} > 'abcdefgh'", "{whole} in (1, 2)",
    "{value} is missing", "not ({second} is missing)", "{value} / {second} > 0",
    "({value} + {second}) * {whole} <= {value}",
    "{text} is missing or {text} == 'b' or {whole} < 3", "log({value}) > min(1, {second})",
)  # fmt: skip

VALUES = (
    "{value}", "{value}", "{value}", "{value} + {second}", "{value} / {second}", "-{value}",
    "{value} > 1", "{text} != 'a' or {value} >= 2", "max({value}, abs({second}))",
    "log({value})", "exp({second}) - round({value})", "sqrt(coalesce({value}, {second}))",
    "({value} + {second}) * {value}", "{value} * {whole}", "({second} - {whole}) / ({value} + 1)",
)  # fmt: skip

#: Questions about one number for each record, or for each person.
COLUMN = (
    Count(),
    Cells(()),
    Cells((0.5, 2.5)),
    ClippedSum(ClippingGrid.around(0.3, 5.0, 9.0), 3),
    ClippedSum(ClippingGrid(exponent=-3, low=-16, center=-1, high=40)),
    ClippedSum(ClippingGrid(exponent=1022, low=-5, center=0, high=3), count_weight=1),
    LogHistogram(center=1.0, first=-9, last=12, counted=True),
    LogHistogram(center=-2.0, first=-1022, last=1023, fine=(0, 3)),
    Squares(center=0.1, octave=4, cap=16),
    DistanceSum(1.0, ClippingGrid(exponent=-4, low=-17, center=5, high=31 << 3), count_weight=7),
    Buckets(inverse_width=0.5, low=-4, high=10**3),
    Median(halvings=0, low=-math.inf, high=math.inf),
    Quantiles(halvings=0, low=-1.0, high=math.inf, levels=(100_000, 500_000, 900_000)),
)

_BALL = Ball((1.0, 0.0), (4.0, 2.0**-900), (1, 30, 1000), order=2)
ROWS = (
    Rows(),
    BallSum(_BALL, 1, count_weight=5, missing_weight=3),
    BallSquares(_BALL, 2),
    Distances((1.0, 0.0), ((1.0, 5.0), (0.5, 9.0)), target=1, weights=(1, 1, 1)),
    ColumnMedians(0, ((-math.inf, math.inf), (-9.0, 9.0))),
)

KEYED = tuple(query for query in COLUMN if not isinstance(query, Buckets | KeysQuery))

VIEWS = (PersonMean(), PersonRows(), PersonResidual(2.5))
VECTORS = (GroupResiduals(1.5), GroupRows(), GroupResiduals(-3.0, by_person=True))


@dataclass(frozen=True)
class EachGroup:
    """One question of each group by itself, where nobody is in two of them."""

    query: Any


@dataclass(frozen=True)
class Question:
    """What is asked: of records or persons, by group or not."""

    columns: tuple[str, ...]
    where: str | None
    query: Any
    view: Any = None
    by: tuple[str, ...] = ()
    keys: tuple[Key, ...] | None = None
    other: bool = False
    person: str | None = None
    one_group: bool = False
    dropped: bool = False
    weights: str | None = None
    products: Products | None = None

    def adjacency(self, relation: str) -> Adjacency:
        return Adjacency.parse(relation, person=self.person)


def some_question(rng: np.random.Generator, data: Dataset, *, grouped: bool = True) -> Question:
    """Draw a question about the data, in terms of their names."""
    quoted = {role: f"`{name.replace('`', '``')}`" for role, name in data.names.items()}

    def pick(choices: Any) -> Any:
        return choices[rng.integers(len(choices))]

    text = pick(VALUES)
    value = data.names["value"] if text == "{value}" else text.format(**quoted)
    where = pick(CONDITIONS)
    condition = None if where is None else where.format(**quoted)
    person = data.names["person"]
    form = pick(["column", "column", "rows", "persons", "groups", "keys", "person groups"])
    if form == "rows":
        scores = Products((1.0, 0.5), (2.0, 0.3), (-0.7, 1e9)) if rng.random() < 0.4 else None
        return Question((value, data.names["second"]), condition, pick(ROWS), products=scores)
    if form == "persons":
        return Question((value,), condition, pick(COLUMN), pick(VIEWS), person=person)
    if form == "column" or not grouped:
        plain = Question((value,), condition, pick(COLUMN))
        return _weighed(rng, data, plain) if rng.random() < 0.3 else plain
    by, keys = _some_keys(rng, data)
    other = bool(rng.random() < 0.5)
    if form == "keys":
        whose = pick([None, person])
        whole, most = (1, 1) if whose is None else (60, 1000)
        return Question((value,), condition, KeyCounts(whole, most), by=by, person=whose)
    count = len(keys) + other
    if form == "groups":
        query = Keyed((pick(KEYED),) * count)
        return Question((value,), condition, query, by=by, keys=keys, other=other)
    vector, order = pick(VECTORS), pick([1, 2])
    sums = ScaledSums(vector, order, exponent=-4, limit=500, groups=count)
    choices = [(sums, None), (ScaledSquares(sums), None), (Count(), PersonNorm(vector, order)),
               (pick(KEYED), PersonNorm(vector, order)), (pick(KEYED), PersonMean())]  # fmt: skip
    query, view = pick(choices)
    return Question((value,), condition, query, view, by, keys, other, person)


def _weighed(rng: np.random.Generator, data: Dataset, plain: Question) -> Question:
    """Return the question about records that weigh, each by itself or all of a person."""
    weight = data.names[("value", "second", "whole")[rng.integers(3)]]
    person = data.names["person"] if rng.random() < 0.5 else None
    view = VIEWS[rng.integers(len(VIEWS))]
    return replace(plain, view=view, person=person, weights=weight)


def one_group_question(rng: np.random.Generator, data: Dataset) -> Question:
    """Draw a question where each person is in one group: of all, of each, or of what is left."""
    by, keys = _some_keys(rng, data)
    other = bool(rng.random() < 0.5)
    about = COLUMN[rng.integers(len(COLUMN) - 2)]  # a query with a sensitivity
    view = VIEWS[rng.integers(len(VIEWS))]
    sizes = ScaledSums(GroupRows(0, by_person=True), 1, 0, 1, len(keys) + other)
    choices = (
        (sizes, None, False),
        (about, PersonRows(), True),
        (EachGroup(about), view, False),
        (EachGroup(about), view, False),
    )
    query, view, dropped = choices[rng.integers(len(choices))]
    value, person = data.names["value"], data.names["person"]
    return Question((value,), None, query, view, by, keys, other, person, True, dropped)


def _some_keys(rng: np.random.Generator, data: Dataset) -> tuple[tuple[str, ...], tuple[Key, ...]]:
    """Return columns to group by and keys, of which some occur."""
    roles = (["text"], ["whole"], ["text", "whole"])[rng.integers(3)]
    known = {"text": ["a", "A", "{x}", "abcdefghj" * 9], "whole": [0, 1, 2, 2**63 - 1]}
    cells = [
        list(dict.fromkeys([*(c for c in data.columns[role] if c is not None), *known[role]]))
        for role in roles
    ]
    keys = {tuple(each[rng.integers(len(each))] for each in cells) for _ in range(4)}
    ordered = sorted(keys, key=repr)
    return tuple(data.names[role] for role in roles), tuple(Key(cells) for cells in ordered)


def ask(place: Place, question: Question) -> Any:
    """Return the exact answer in plain integers."""
    named: dict[str, Any] = {
        "person": question.person, "where": question.where, "weights": question.weights,
    }  # fmt: skip
    columns = list(question.columns) if len(question.columns) > 1 else question.columns[0]
    data, table, keys = place["data"], place.get("table"), question.keys
    if keys is not None and place.get("keys_are_text"):
        keys = tuple(Key(tuple(map(str, key.cells))) for key in keys)
    if question.by:
        engine: Any = open_groups(data, columns, question.by, keys, table=table, **named)
    else:
        engine = open_table(data, columns, table=table, **named)
    try:
        asked = engine
        if keys is not None:
            asked = engine.grouped(keys, other=question.other)
        if question.products is not None:
            asked = asked.multiplied(question.products)
        if question.view is not None:
            asked = asked.view(question.view)
        if question.one_group:
            asked = asked.one_group(True).dropped(question.dropped)
        with np.errstate(all="ignore"):
            if isinstance(question.query, EachGroup):
                places = range(len(asked.relation.codes))
                each = [asked.keys([place]).answer(question.query.query) for place in places]
                return canonical(each)
            return canonical(asked.answer(question.query))
    finally:
        getattr(engine, "close", lambda: None)()


def canonical(found: Any) -> Any:
    """Return integers in lists; a mapping, or a pair of keys and counts, as a dictionary."""
    if isinstance(found, dict):
        return {_plain(key): int(value) for key, value in found.items()}
    if isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], np.ndarray):
        return dict(zip(found[0].tolist(), found[1].tolist(), strict=True))
    if isinstance(found, tuple | list | np.ndarray):
        return [canonical(item) for item in found]
    assert found == int(found), "an exact answer consists of integers"
    return int(found)


def _plain(key: Any) -> Any:
    return tuple(map(str, key.cells)) if isinstance(key, Key) else int(key)


def moves_too_far(question: Question, relation: str, one: Any, other: Any) -> bool:
    """Say whether answers on neighbors differ by more than the query states."""
    adjacency, query = question.adjacency(relation), question.query
    if isinstance(query, Keyed):
        parts = query.sensitivities(adjacency)
        changed = [place for place in range(len(parts)) if one[place] != other[place]]
        return len(changed) > 1 or any(
            _exceeds(parts[place], one[place], other[place]) for place in changed
        )
    if isinstance(query, EachGroup):  # one person is in one group
        stated = query.query.sensitivity(adjacency)
        moved = [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]]
        return len(moved) > 1 or any(_exceeds(stated, *pair) for pair in moved)
    if isinstance(query, KeysQuery | ColumnMedians):  # a record is one key in each list
        lists = [(one, other)] if isinstance(query, KeysQuery) else zip(one, other, strict=True)
        return any(_distance(*pair)[0] > adjacency.changes for pair in lists)
    if isinstance(query, Distances):  # scores: every count of a list moves by at most 1
        return any(abs(a - b) > 1 for a, b in _paired(one, other))
    return _exceeds(query.sensitivity(adjacency), one, other)


def _exceeds(stated: Any, one: Any, other: Any) -> bool:
    l1, l2_squared = _distance(one, other)
    return l1 > stated.l1 or l2_squared > stated.l2_squared


def _distance(one: Any, other: Any) -> tuple[int, int]:
    moves = [a - b for a, b in _paired(one, other)]
    return sum(map(abs, moves)), sum(move * move for move in moves)


def _paired(one: Any, other: Any) -> list[tuple[int, int]]:
    if isinstance(one, dict):
        return [(one.get(key, 0), other.get(key, 0)) for key in {*one, *other}]
    return list(zip(_flat(one), _flat(other), strict=True))


def _flat(answer: Any) -> Iterable[int]:
    if isinstance(answer, list):
        return [number for item in answer for number in _flat(item)]
    return [answer]
