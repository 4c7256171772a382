"""One pass counts the records and holds a sample for the center."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from tametail.data.count_and_sample import CountAndSample, PreparedSample, sample_halvings
from tametail.queries.column import Count, Median

from ..opened import open_table  # noqa: TID252

ANY = -math.inf, math.inf


def _survey(values, chunk):
    survey = CountAndSample()
    for start in range(0, len(values), chunk):
        survey.add(values[start : start + chunk])
    return survey


@pytest.mark.parametrize("chunk", [1000, 1 << 16])
def test_what_is_held_is_a_sample_of_all_records(chunk):
    values = np.arange(100_000.0)
    values[::10] = math.nan
    survey = _survey(values, chunk)
    halvings, numbers = survey.sample
    assert (survey.rows, survey.present) == (100_000, 90_000)
    assert halvings == sample_halvings(100_000) == 5
    assert len(set(numbers.tolist())) == len(numbers)
    assert stats.binomtest(len(numbers), 90_000, 2.0**-5).pvalue > 1e-7
    # Early records, which were halved again and again, are as likely as late ones.
    early = int((numbers < 50_000).sum())
    assert stats.binomtest(early, len(numbers), 0.5).pvalue > 1e-7


def test_records_stay_independently():
    # Of two neighbors both stay with the square of the probability.
    pairs, trials = 0, 300
    for _ in range(trials):
        held = _survey(np.arange(8192.0), 1000).sample
        pairs += int((np.diff(np.sort(held.take(4))) == 1).sum())
    assert stats.poisson.sf(pairs, trials * 8191 * 2.0**-8) > 1e-10
    assert stats.poisson.cdf(pairs, trials * 8191 * 2.0**-8) > 1e-10


def test_few_records_are_all_held():
    assert _survey(np.arange(4000.0), 999).sample.take(0).tolist() == list(range(4000))


def test_take_halves_the_rest():
    held = PreparedSample(2, np.arange(40_000.0))
    assert held.take(1) is None
    assert held.take(2).size == 40_000
    assert stats.binomtest(held.take(5).size, 40_000, 1 / 8).pvalue > 1e-7


class TestFiles:
    @pytest.fixture
    def told(self):
        return []

    @pytest.fixture
    def engine(self, tmp_path, told):
        pq.write_table(pa.table({"v": np.arange(20_000.0)}), tmp_path / "x.parquet")
        return open_table(tmp_path / "x.parquet", "v", progress=told.append)

    def test_the_count_and_the_first_sample_are_one_pass(self, engine, told):
        assert engine.answer(Count())[0] == 20_000
        assert told.count(1.0) == 1
        keys, _ = engine.answer(Median(4, *ANY))
        assert told.count(1.0) == 1
        assert stats.binomtest(keys.size, 20_000, 1 / 16).pvalue > 1e-7
        # The next one has coins of its own, and needs a pass.
        assert not np.array_equal(engine.answer(Median(4, *ANY))[0], keys)
        assert told.count(1.0) == 2

    def test_a_larger_sample_than_the_one_held(self, engine, told):
        engine.answer(Count())
        assert engine.answer(Median(0, *ANY))[0].size == 20_000
        assert told.count(1.0) == 2

    def test_rows_have_a_sample_of_their_own(self, engine):
        engine.answer(Count())
        assert engine.rows(0, 7).answer(Median(0, *ANY))[0].size == 7
