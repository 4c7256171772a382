"""Passes on several threads give the same integers, and nothing of a thread shows."""

from __future__ import annotations

import math
import threading
import warnings

import numpy as np
import pytest
from scipy import stats

import tametail as tt
from tametail.data.kernels import threads as module
from tametail.data.kernels.passes import Passes
from tametail.errors import DataError, ParameterError
from tametail.queries.column import Count, Median
from tametail.queries.rows import Ball, BallLevels, BallSquares, BallSum

from ..opened import open_table  # noqa: TID252


def chunks_of(column, parts=40):
    return lambda _longest: np.array_split(column, parts)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_same_integers_on_any_number_of_threads(reference, comparable, query, records, threads):
    column = np.array([math.nan if x is None else x for x in records], dtype=np.float64)
    column = np.tile(column, 5)
    expected = reference(query, column.tolist())
    assert comparable(Passes(threads).answer(query, chunks_of(column))) == expected


@pytest.mark.parametrize("kind", [BallLevels, BallSum, BallSquares])
def test_the_same_balls_on_any_number_of_threads(kind):
    rows = np.random.default_rng(3).standard_cauchy((500, 3))
    rows[::7, 1] = np.nan
    ball = Ball((0.0, 0.5, -1.0), (16.0, 8.0, 4.0), (30, 90), 2, None)
    query = kind(ball, 1, (1, 1, 1)) if kind is BallLevels else kind(ball, 1)
    one, four = (Passes(threads).answer(query, chunks_of(rows)) for threads in (1, 4))
    assert np.array_equal(np.array(one, dtype=object), np.array(four, dtype=object))


def test_all_threads_take_part():
    names = set()
    both = threading.Barrier(2, timeout=600)

    def chunks(_longest):
        for number in range(12):
            yield np.full(3, number + 1.0)

    class Slow:
        longest = 3

        def __init__(self):
            self.total = 0

        def add(self, chunk):
            names.add(threading.get_ident())
            if self.total == 0:
                both.wait()  # until another one has a chunk, too
            self.total += int(chunk.sum())

        def merge(self, other):
            self.total += other.total

    slow = Slow()
    module.add_in_threads(slow, chunks(3), Slow, 2)
    assert slow.total == 3 * sum(range(1, 13))
    assert len(names) == 2


def test_a_record_is_in_at_most_one_part_of_a_sample():
    column = np.arange(1 << 15, dtype=np.float64)
    keys, counts = Passes(4).answer(Median(4, -math.inf, math.inf), chunks_of(column))
    assert (counts == 1).all()
    assert np.isin(keys.view(np.float64), column).all()
    assert stats.binomtest(len(keys), column.size, 2.0**-4).pvalue > 1e-7


def test_what_cannot_be_read_is_told_once():
    def chunks(_longest):
        yield from np.array_split(np.arange(100.0), 20)
        raise DataError("the file ends here.")

    with pytest.raises(DataError, match="ends here"):
        Passes(3).answer(Count(), chunks)


def test_no_thread_warns_about_records():
    column = np.tile([1e308, -1e308, math.inf, 5e-324], 500)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        release = tt.mean(np.tile(column, 3000), epsilon=1)
    assert math.isfinite(float(release))


@pytest.mark.parametrize("told", ["0", "-1", "two", "", "1.5"])
def test_a_wrong_number_of_threads_is_refused_at_once(monkeypatch, told):
    monkeypatch.setenv(module.VARIABLE, told)
    with pytest.raises(ParameterError, match="Use an integer"):
        tt.mean([1.0, 2.0], epsilon=1)


def test_how_many_threads_is_an_option(monkeypatch):
    monkeypatch.setenv(module.VARIABLE, "7")
    assert module.threads() == 7
    assert open_table([1.0]).backend._passes.threads == 7
    assert open_table([1.0], progress=lambda _: None).backend._passes.threads == 1
    assert open_table(np.ones(3, dtype=np.float32)).backend._passes.threads == 1
    monkeypatch.delenv(module.VARIABLE)
    assert module.threads() >= 1
