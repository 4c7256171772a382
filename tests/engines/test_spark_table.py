"""Several columns on Spark: the integers of the same rows in memory."""

from __future__ import annotations

import json
import math
from dataclasses import asdict

import numpy as np
import pytest

import tametail as tt
from tametail.engines.kernels.ball import Totals
from tametail.engines.open import open_table
from tametail.engines.spark.table import _added
from tametail.errors import ColumnError, DataError
from tametail.queries.rows import (
    Ball,
    BallLevels,
    BallSquares,
    BallSum,
    ColumnMedians,
    Distances,
    Rows,
)

from .spark_session import local_session, needs_java

pytestmark = [
    needs_java,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

ANY = (-math.inf, math.inf)
STEPS = (0.0, 0.5, 1.0, 8.0, 1e9)
WEIGHTS = (1,) * (len(STEPS) + 1)
ROUND = Ball((1.0, -2.0, 0.0), (4.0, 8.0, 2.0**-3), (3, 9, 50), order=2)
SQUARE = Ball((0.0, 1e9, 0.5), (16.0, 2.0**-20, 0.0), (1, 40, 2**20), order=1)

QUERIES = [
    Rows(),
    ColumnMedians(0, (ANY, ANY, ANY)),
    Distances((1.0, -2.0, 0.25), (STEPS,) * 3, 5, WEIGHTS),
    Distances((1.0, -2.0, 0.25), (STEPS,), 5, WEIGHTS, by_row=True),
    *(
        query
        for ball in (ROUND, SQUARE)
        for query in (
            BallLevels(ball, 5, (1,) * 4),
            BallSquares(ball, 0),
            BallSum(ball, 0),
            BallSum(ball, 1, count_weight=3),
            BallSum(ball, 2, count_weight=1, missing_weight=2),
        )
    ),
]


@pytest.fixture(scope="module")
def session():
    # Small batches, so that a partition has several.
    session = local_session(**{"spark.sql.execution.arrow.maxRecordsPerBatch": "64"})
    yield session
    session.stop()


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    cells = rng.standard_t(2, (1000, 3)) * [1.0, 30.0, 2.0**-4] + [1.0, -2.0, 0.0]
    strange = [math.nan, math.inf, -math.inf, 1e308, -0.0, 5e-324, 2.0**53]
    cells.ravel()[rng.choice(cells.size, 70, replace=False)] = strange * 10
    return cells


@pytest.fixture(scope="module")
def frame(session, rows):
    cells = [[None if math.isnan(x) and j else x for j, x in enumerate(row)] for row in rows]
    frame = session.createDataFrame([list(map(_plain, row)) for row in cells], _SCHEMA)
    return frame.repartition(3).persist()


_SCHEMA = "`a.b` double, b double, c double"


def _plain(cell):
    return None if cell is None else float(cell)


def _lists(answer):
    return [np.asarray(part).tolist() for part in answer]


def test_every_query_has_the_integers_of_the_rows_in_memory(frame, rows):
    engine, memory = open_table(frame, ["a.b", "b", "c"]), open_table(rows)
    for query in QUERIES:
        assert _lists(engine.answer(query)) == _lists(memory.answer(query)), query
    assert engine.size == len(rows)
    assert engine.columns == ("a.b", "b", "c")


def test_other_columns_in_another_order(frame, rows):
    ball = Ball((0.0, 1.0), (4.0, 2.0), (9, 50), order=2)
    for query in (BallSum(ball, 0, 1), BallSquares(ball, 1)):
        expected = open_table(rows[:, [2, 0]]).answer(query)
        assert open_table(frame, ["c", "a.b"]).answer(query) == expected


@pytest.mark.parametrize("partitions", [0, 2])
def test_no_rows(session, partitions):
    frame = session.createDataFrame([], _SCHEMA)
    engine = open_table(frame.repartition(partitions) if partitions else frame, ["b", "c", "a.b"])
    nothing = open_table(np.empty((0, 3)))
    for query in (*QUERIES[:3], BallLevels(ROUND, 5, (1,) * 4), BallSum(ROUND, 0, 3)):
        assert _lists(engine.answer(query)) == _lists(nothing.answer(query))


def test_integers_beyond_64_bits():
    part = Totals([-(2**62)], [2**62], [2], outside=1, rows=5)
    sent = json.loads(json.dumps(asdict(part)))
    total = _added([Totals(**sent)] * 4)
    assert total == Totals([-(2**64)], [2**64], [8], outside=4, rows=20)


def test_a_sample_has_coins_for_every_cell(session):
    frame = session.range(0, 40_000, 1, 4).selectExpr("id as a", "-id as b")
    engine = open_table(frame, ["a", "b"])
    first, second = (engine.answer(ColumnMedians(3, (ANY, ANY))) for _ in range(2))
    for keys, counts in first:
        # Binomial(40,000, 1/8): twelve standard deviations.
        assert abs(counts.sum() - 5000) < 800
        assert (np.diff(keys) > 0).all()
    assert not np.array_equal(first[0][0], second[0][0])
    assert not np.array_equal(first[0][0], -first[1][0][::-1])


@pytest.mark.parametrize("request_", [{"rho": 0.5}, {"epsilon": 2, "unit": "replace-one"}])
def test_a_mean(session, request_):
    frame = session.range(0, 20_000, 1, 3).selectExpr("double(id % 101) a", "int(id % 7) b")
    release = tt.mean(frame, ["a", "b"], **request_)
    assert release.columns == ("a", "b")
    assert np.abs(release.value - [50, 3]).max() < 5


class TestErrors:
    def test_a_column_that_is_not_there_or_not_numeric(self, session):
        frame = session.createDataFrame([], "amount double, name string")
        with pytest.raises(ColumnError, match="did you mean 'amount'"):
            open_table(frame, ["amout", "name"])
        with pytest.raises(ColumnError, match="'name' has type string"):
            open_table(frame, ["amount", "name"])

    def test_a_frame_that_fails_quotes_nothing(self, session):
        frame = session.createDataFrame([("SECRET",)], "s string")
        frame = frame.selectExpr("if(s = 'SECRET', double(raise_error(s)), 0.0) as v", "1 as w")
        with pytest.raises(DataError, match="counts as spent") as caught:
            tt.mean(frame, ["v", "w"], rho=1)
        assert "SECRET" not in str(caught.value)
