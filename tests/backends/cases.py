"""One table of questions about hostile data, for every place in which data can lie.

Cases are what is opened, and asks what the relation is narrowed to and the query. All of them have
the answers of the same records in memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from tametail.doubles import LARGEST
from tametail.keys import Key, parse_keys
from tametail.queries.column import (
    Buckets,
    ClippedSum,
    Count,
    DistanceSum,
    LogHistogram,
    Median,
    Squares,
)
from tametail.queries.column import (
    ClippingGrid as Grid,
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
from tametail.queries.rows import (
    Ball,
    BallLevels,
    BallSquares,
    BallSum,
    ColumnMedians,
    Distances,
    Rows,
)

from ..opened import Opened, open_groups, open_table  # noqa: TID252
from .datasets import Dataset
from .places import Place

INF = math.inf

SPECIAL = (
    0.0, -0.0, INF, -INF, math.nan, 5e-324, -5e-324, 2.2250738585072014e-308,
    2.2250738585072009e-308, -2.225073858507201e-308, LARGEST, -LARGEST, 1e300, -1e300, 1e-300,
    1.0, -1.0, 3.5, 2.0**53, -(2.0**53), 2.0**53 - 1, 0.1, 1 / 3, 1204.0, 2.0**512, 2.0**-512,
    math.nextafter(2.0**512, 0), 2.0**1022, -(2.0**1023), 4.9999999999999996, 5.000000000000001,
    -2.0000000000000004, 1.0624999999999998, 63.999999999999993, 8.0, -8.000000000000002,
)  # fmt: skip


def doubles(size: int, seed: int = 1) -> list[float | None]:
    """Doubles of any bits, of every special kind, near others and alike; some are missing."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2**64, size // 2, dtype=np.uint64).view(np.float64)
    # A NaN keeps no payload on its way through text.
    bits = np.where(np.isnan(bits), np.nan, bits)
    usual = np.exp(rng.normal(8, 2, size // 4))
    alike = rng.integers(0, 5, size // 8).astype(np.float64) * 1204.0
    numbers = np.concatenate([bits, usual, alike, np.tile(SPECIAL, -(-size // 8 // len(SPECIAL)))])
    rng.shuffle(numbers)
    cells: list[float | None] = numbers[:size].tolist()
    cells[::97] = [None] * len(cells[::97])
    return cells


_NAMES = {
    "value": "x", "second": "y", "third": "z", "whole": "year", "text": "state", "person": "who",
    "number": "at", "truth": "flag",
}  # fmt: skip


@cache
def dataset(name: str, *, has_empty_text: bool = True) -> Dataset:
    """Return one of the data sets: "hostile", "missing" or "none"."""
    size = {"hostile": 1500, "missing": 3, "none": 0}[name]
    rng = np.random.default_rng(3)
    empty = "" if has_empty_text else "empty"
    who = ["M\u00fcller", "M\u00f6ller", "Mu\u0308ller", "a", "A", "a ", empty, "it's\\", None]

    def pick(cells: list[Any]) -> list[Any]:
        return [cells[place] for place in rng.integers(0, len(cells), size)]

    ids = [f"p{place % 97}" if place > size // 2 else one for place, one in enumerate(pick(who))]
    numbers = {
        "value": doubles(size) if name == "hostile" else [None, math.nan, None][:size],
        "second": [None if draw < 1 / 13 else round(50 * (2 * draw - 1)) * 1.0
                   for draw in rng.random(size)],
        "third": rng.standard_t(2, size).tolist(),
    }  # fmt: skip
    columns = numbers | {
        "whole": pick([2013, 2014, None, -1]),
        "text": pick(["CA", "NY", "ca", "Z\u00fcrich", None]),
        "person": ids,
        "number": pick([2**53, 2**53 + 1, -1, 7, None]),
        "truth": pick([True, False, None]),
    }
    return Dataset(_NAMES, columns)


class Ask:
    """A query, and what the relation is narrowed to first, step by step."""

    def __init__(self, query: Any, **steps: Any) -> None:
        self.query, self.steps = query, steps

    def of(self, opened: Opened) -> Any:
        for name, value in self.steps.items():
            opened = getattr(opened, name)(value)
        return opened.answer(self.query)

    @property
    def kind(self) -> tuple[Any, ...]:
        """What a place computes in the same way: by other numbers only."""
        parts = {type(part).__name__ for part in getattr(self.query, "parts", ())}
        return type(self.query), *sorted(parts), *self.steps, type(self.steps.get("view"))

    def __repr__(self) -> str:
        return f"{self.query} of {self.steps}"


def some_of_each_kind(asks: tuple[Ask, ...], most: int = 1) -> tuple[Ask, ...]:
    """Return asks of each kind, now the first and now later ones."""
    kinds: dict[tuple[Any, ...], list[Ask]] = {}
    for ask in asks:
        kinds.setdefault(ask.kind, []).append(ask)
    return tuple(
        ask
        for place, some in enumerate(kinds.values())
        for ask in some[place % len(some) :: -(-len(some) // most)]
    )


def one_of_each_query(asks: tuple[Ask, ...]) -> tuple[Ask, ...]:
    """Return an ask of each query, whatever the relation is narrowed to."""
    return tuple({type(ask.query): ask for ask in asks}.values())


@dataclass(frozen=True)
class Case:
    """What is opened, and what is asked about it."""

    name: str
    columns: tuple[str, ...]
    asks: tuple[Ask, ...]
    where: str | None = None
    person: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    keys: tuple[Key, ...] = ()
    other: bool = False
    lines: tuple[tuple[float, float], ...] | None = None
    weights: str | None = None

    @property
    def has_truths(self) -> bool:
        """Whether it is about true and false, which some places do not have."""
        return "flag" in " ".join((*self.columns, self.where or "", *self.by))

    def open(self, place: Place) -> tuple[Opened, Opened]:
        """Return what is to be closed, and what is asked about."""
        said = {"person": self.person or None, "where": self.where, "lines": self.lines,
                "weights": self.weights}  # fmt: skip
        columns = list(self.columns) if len(self.columns) > 1 else self.columns[0]
        data, table, keys = place["data"], place.get("table"), self.keys
        if place.get("keys_are_text"):
            keys = tuple(Key(tuple(map(str, key.cells))) for key in keys)
        if self.by:
            opened = open_groups(data, columns, self.by, keys or None, table=table, **said)
        else:
            opened = open_table(data, columns, table=table, **said)
        if place.get("in_sql"):
            opened.backend._session.in_process = False
        return opened, opened.grouped(keys, other=self.other) if keys else opened


_EVERYBODY = Median(0, -INF, INF)

LATTICES = (
    Grid(0, -2, 0, 10), Grid(-20, 0, 1 << 20, 1 << 21), Grid(10, -32, 0, 512),
    Grid(-1022, -(1 << 36), 0, 1 << 36), Grid(1022, -(1 << 36), 0, 1 << 36),
    Grid(1022, -1, 0, 0), Grid(1, -16, -3, 16), Grid(1000, -(1 << 35), 5, 1 << 35),
    Grid(-30, 2**53 - 4, 2**53 - 2, 2**53), Grid(-3, -16, -1, 40), Grid(1022, -5, 0, 3),
    Grid(0, 2**53 - 9, 2**53 - 4, 2**53),
)  # fmt: skip
AROUND = (
    (0.0, Grid(-8, -256, 0, 768)), (1.5, Grid(-30, -(1 << 29), 5, 1 << 29)),
    (1204.0, Grid(0, -16, -3, 0)), (-1e308, Grid(1000, 0, 7, 31 << 20)),
    (5e-324, Grid(-1022, -(1 << 20), 0, 1 << 20)), (2981.0, Grid(-10, -512, 0, 992)),
    (-2.0, Grid(-4, -17, 5, 31 << 20)), (1 / 3, Grid(-30, -(17 << 25), 0, 0)),
    (0.0, Grid(1000, -(1 << 23), 0, 31 << 19)), (0.0, Grid(-1022, -(2**35), 2**34, 2**35)),
)  # fmt: skip
CENTERS = (
    0.0, -0.0, 1.25, -1e6, 2981.0, 1e308, -1e-300, 1e150, 2.0**969, 2.0**968, -(2.0**1000), 5e-324,
)  # fmt: skip

#: Every query about one number for each record or person.
EVERY_COLUMN = (
    Count(),
    *(ClippedSum(lattice, place % 2 * 3) for place, lattice in enumerate(LATTICES)),
    *(DistanceSum(*around, place % 2 * 11) for place, around in enumerate(AROUND)),
    *(LogHistogram(center, first, last, counted=last == 12) for center in CENTERS
      for first, last in ((-1022, 1023), (-10, 12))),
    LogHistogram(0.0, -21, 40, counted=True, fine=(-1, 3)), LogHistogram(0.0, 2, 2),
    *(Squares(*each) for each in ((0.0, 0, 16), (1.25, -6, 3), (0.0, 1023, 1), (2981.0, 20, 9))),
    Buckets(1.0, -5, 5), Buckets(0.125, -(1 << 40), 1 << 40), Buckets(0.5, -4, 10**300),
    Buckets(2.0**-1000, -(2**60), 2**60),
    _EVERYBODY, Median(0, 0.0, 1.5),
    Cells((-1.0, 1204.0)), Cells((0.0, 0.0)), Cells((-INF, INF)), Cells((5e-324, 2.0, 1e308)),
)  # fmt: skip
COLUMN = (
    Count(), LogHistogram(1.0, -1022, 1023, counted=True), _EVERYBODY, Cells((-1.0, 5.0)),
    DistanceSum(1.0, Grid(-8, -256, 0, 768), 3), ClippedSum(Grid(-3, -900, 4, 900), 2),
)  # fmt: skip
_BALL = Ball((0.0, 1.0), (1.0, 0.5), (1, 30, 1000), order=2)
PAIR = (
    Rows(), ColumnMedians(0, ((-INF, INF),) * 2),
    Distances((0.0, 1.0), ((0.5, 2.0, 1e4),) * 2, 3, (1, 1, 1, 1)),
    BallLevels(_BALL, 3, (1, 1, 1, 1)), BallSum(_BALL, 1, 5, 3), BallSquares(_BALL, 1),
)  # fmt: skip

_STEPS, _WEIGHTS = (0.0, 0.5, 1.0, 8.0, 1e9), (1,) * 6
_BALLS = (
    Ball((1.0, -2.0, 0.0), (4.0, 8.0, 2.0**-3), (3, 9, 50), order=2),
    Ball((0.0, 1e9, 0.5), (16.0, 2.0**-20, 0.0), (1, 40, 2**20), order=1),
)
TRIPLE = (
    Rows(),
    ColumnMedians(0, ((-INF, INF),) * 3),
    Distances((1.0, -2.0, 0.25), (_STEPS,) * 3, 5, _WEIGHTS),
    Distances((1.0, -2.0, 0.25), (_STEPS,), 5, _WEIGHTS, by_row=True),
    *(query for ball in _BALLS for query in (
        BallLevels(ball, 5, (1,) * 4), BallSquares(ball, 0), BallSum(ball, 0),
        BallSum(ball, 1, count_weight=3), BallSum(ball, 2, count_weight=1, missing_weight=2))),
)  # fmt: skip


#: What a regression averages of y and one other column: four products, or two scores.
_FOUR = (
    ColumnMedians(0, ((-INF, INF),) * 4),
    Distances((0.0, 1.0, 0.0, 2.0), (_STEPS,) * 4, 5, _WEIGHTS),
    BallSum(Ball((0.0, 1.0, 0.0, 0.5), (4.0, 8.0, 2.0, 2.0**-9), (3, 9, 50), order=2), 1, 3, 2),
)
PRODUCTS = Products((3.5, 0.1), (0.3, 7.0))
SCORES = Products((3.5, 0.1), (0.3, 7.0), (-0.7, 1 / 3))

LATTICE_SUM = ClippedSum(LATTICES[1], 3)


def _asks(queries: Any, **steps: Any) -> tuple[Ask, ...]:
    return tuple(Ask(query, **steps) for query in queries)


FILTERS = (
    ("x", "year > 2013"), ("x / y", None), ("x * x", "state != 'NY'"),
    ("x - year", "state is missing or state == 'CA' or year < 3"),
    ("-x", "not (x < 0)"), ("x", "state < 'Z\u00fc' and x / y > 1"), ("x * y + flag", "flag == 1"),
    ("x > 1", None), ("state == 'CA'", "x is not missing"), ("x > y or flag == 1", "abs(y) > 2"),
    ("max(abs(x), y)", "round(y / 4) == 1"), ("sqrt(coalesce(x, y))", None),
    ("log(x)", None), ("exp(y) - log(abs(x))", "exp(min(x, 1)) < 2"),
)  # fmt: skip

VIEWS = (PersonMean(), PersonRows(), PersonResidual(-1.5), PersonResidual(1e300))
VECTORS = (
    (GroupResiduals(20.0), 1), (GroupResiduals(3.0, 1), 2), (GroupRows(), 2),
    (GroupResiduals(20.0, by_person=True), 2),
)  # fmt: skip

KEYS: dict[tuple[str, ...], list[Any]] = {
    ("state",): ["NY", "CA", "", "ca", "no'b\\ody"],
    ("year",): [2014, -1, 5],
    ("flag",): [True, False],
    ("state", "year"): [("CA", 2013), ("CA", -1), ("Z\u00fcrich", 2014)],
}


def _keyed(count: int) -> tuple[Ask, ...]:
    """Return questions for each of some groups, each with numbers of its own."""
    parts = [
        (Count(),) * count,
        tuple(Cells((-1.0, 5.0 + k)) for k in range(count)),
        tuple(ClippedSum(Grid(k - 3, -50, k, 60), k % 2) for k in range(count)),
        tuple(LogHistogram(float(k), -9, 9) for k in range(count)),
        tuple(LogHistogram(-1e300 if k else 0.0, -9, 9) for k in range(count)),  # no SQL for these
        tuple(Squares(float(k), 3, 4) if k % 2 else Count() for k in range(count)),
    ]
    return _asks(map(Keyed, parts))


def _groups(by: tuple[str, ...], *, other: bool) -> Case:
    keys = parse_keys(KEYS[by], len(by))
    count = len(keys) + other
    some = [Ask(query, keys=places) for places in ([0], [count - 1], list(range(count))[::-1])
            for query in (Count(), COLUMN[1], Cells((0.0, 9.0)), _EVERYBODY)]  # fmt: skip
    pair = [Ask(Keyed((Cells((0.0, 2.0)), Count())), keys=[1, 0])]
    asks = (*_asks((*COLUMN, Rows())), *_keyed(count), *some, *pair)
    name = f"groups by {' and '.join(by)}{' and all others' * other}"
    return Case(name, ("x",), asks, "y > -40", by=by, keys=keys, other=other)


def _person_groups() -> Case:
    keys = parse_keys(["Z\u00fcrich", "NY", "nowhere", "CA"], 1)
    asks = [Ask(Rows())]
    for vector, order in VECTORS:
        asks += _asks([_EVERYBODY, Count(), Cells((1.0, 50.0))], view=PersonNorm(vector, order))
        large, small = (ScaledSums(vector, order, *ends, 5) for ends in
                        ((-20, (1 << 24) - 1), (-6, 1 << 12)))  # fmt: skip
        asks += _asks([large, small, ScaledSquares(small)])
    asks += _asks([_EVERYBODY, Count()], view=PersonMean(1))
    asks += [Ask(Count(), keys=[0, 4], view=PersonMean(1))]
    asks += [Ask(Count(), one_group=True, keys=[0], view=PersonMean(1)),
             Ask(_EVERYBODY, one_group=True, view=PersonMean(1)),
             Ask(ScaledSums(GroupRows(0, by_person=True), 1, 0, 1, 5), one_group=True),
             Ask(LATTICE_SUM, one_group=True, dropped=True, view=PersonRows(0)),
             *(Ask(Cells((0.5, 1.5)), one_group=True, keys=[k], view=PersonResidual(1.5, 0))
               for k in range(5))]  # fmt: skip
    return Case("persons in groups", ("y", "x"), tuple(asks), "y > -25",
                person=("who",), by=("state",), keys=keys, other=True)  # fmt: skip


def _weighed() -> list[Case]:
    """Records that weigh, by themselves, by person and by group, with their views."""
    weighed = (*_asks(COLUMN), *(Ask(query, view=view) for view in VIEWS for query in COLUMN[:4]))
    keys = parse_keys(["NY", "CA", "", "nowhere"], 1)
    groups = tuple(Ask(query, keys=[k], view=view) for k in range(5) for view in VIEWS[:3]
                   for query in (Count(), _EVERYBODY, COLUMN[1]))  # fmt: skip
    own = tuple(Ask(query, one_group=True, keys=[k], view=PersonResidual(1.5))
                for k in range(5) for query in (Count(), Cells((0.5, 1.5))))  # fmt: skip
    return [
        Case("weighed x", ("x",), weighed, weights="y"),
        Case("weighed condition", ("x > 1",), weighed, "year > 2013", weights="abs(x)"),
        Case("weighed persons", ("y",), weighed, "y > -40", ("who",), weights="x"),
        Case("weighed groups", ("x",), groups, "y > -40", by=("state",), keys=keys, other=True,
             weights="y / 3"),
        Case("weighed persons in one group", ("y",), own, "y > -25", ("who",), ("state",), keys,
             other=True, weights="x"),
    ]  # fmt: skip


def _cases() -> list[Case]:
    persons = [
        Case(f"persons by {' and '.join(ids)}", ("x",),
             (*_asks(COLUMN),
              *(Ask(query, view=view) for view in VIEWS for query in COLUMN[:3])),
             where, ids)
        for ids, where in ((("who",), None), (("at",), "y > 0"), (("who", "at"), None))
    ]  # fmt: skip
    lines = ((0.0, INF), (-INF, 9.0))
    views = (PersonMean(0), PersonRows(1), PersonResidual(-3.0, 0))
    return [
        Case("one column", ("x",), _asks(EVERY_COLUMN)),
        *(Case(f"{column} where {where}", (column,), _asks([*COLUMN[:3], LATTICE_SUM]), where)
          for column, where in FILTERS),
        Case("two columns", ("y", "x"),
             (*_asks(PAIR), *(Ask(query, column=j) for j in (0, 1) for query in COLUMN))),
        Case("three columns", ("z", "x", "y"), _asks(TRIPLE), "not (year == 2013)"),
        Case("products", ("x", "y"),
             (*_asks(_FOUR, multiplied=PRODUCTS), *_asks(PAIR, multiplied=SCORES)), "year > -5"),
        Case("two columns within bounds", ("x", "y"),
             tuple(Ask(query, column=j) for j in (0, 1) for query in COLUMN[:2]), lines=lines),
        *persons,
        Case("persons within bounds", ("x", "y"),
             tuple(Ask(query, column=j) for j in (0, 1) for query in COLUMN[:3]),
             person=("who",), lines=lines),
        Case("persons with two columns", ("x / (y - 5)", "y"),
             (*_asks(PAIR), *(Ask(query, view=view) for view in views for query in COLUMN[:3])),
             "y >= -40 and state != 'ca'", ("who",)),
        *(_groups(by, other=other) for by in KEYS for other in (False, True)),
        Case("groups with two columns", ("x", "y"),
             (Ask(Rows()), *(Ask(query, column=j) for j in (0, 1)
                             for query in (*COLUMN, Keyed((Cells((0.0, 9.0)),) * 3)))),
             by=("state",), keys=parse_keys(["CA", "NY"], 1), other=True),
        *(Case(f"keys of {' and '.join(by)}", ("x",), (Ask(KeyCounts()),), "y > -40", by=by)
          for by in KEYS),
        Case("keys of persons", ("x", "y"), (Ask(KeyCounts(whole=720, most=4)),), "y > -40",
             ("who",), ("state",)),
        _person_groups(),
        *_weighed(),
    ]  # fmt: skip


CASES = _cases()
