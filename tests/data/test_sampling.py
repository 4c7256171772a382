"""The secret sample: exact coins, the right law, and no dependence on chunks."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tametail.data import sampling
from tametail.data.sampling import Sampler, _decide, _digit_bounds, _power_bounds, geometric
from tametail.queries.column import Median

from ..opened import open_table  # noqa: TID252

#: False alarms per test on real draws.
LEVEL = 1e-7


@pytest.mark.parametrize("halvings", [1, 2, 3, 6])
def test_gaps_are_geometric(halvings):
    size, success = 40_000, 2.0**-halvings
    draws = geometric(halvings, size)
    assert draws.min() >= 0
    last = int(stats.geom.ppf(1 - 20 / size, success))
    observed = np.bincount(np.minimum(draws, last), minlength=last + 1)
    law = success * (1 - success) ** np.arange(last + 1)
    law[last] = (1 - success) ** last
    assert stats.chisquare(observed, law * size).pvalue > LEVEL


def test_long_gaps_have_the_right_mean_and_tail():
    halvings, size = 20, 20_000
    draws = geometric(halvings, size)
    scaled = (draws + 0.5) * 2.0**-halvings
    assert stats.kstest(scaled, stats.expon.cdf).pvalue > LEVEL
    # The remainder modulo two is the lowest digit: nearly a fair coin.
    assert stats.binomtest(int((draws % 2).sum()), size).pvalue > LEVEL


@pytest.mark.parametrize("halvings", [1, 3, 7])
@pytest.mark.parametrize("bits", [8, 64, 128])
def test_bounds_hold_the_probability(halvings, bits):
    keep = 1 - Fraction(1, 2**halvings)
    for digit in range(halvings + 2):
        power = keep ** (2**digit)
        cases = [(_power_bounds, power), (_digit_bounds, power / (1 + power))]
        for bounds, probability in cases:
            low, high = bounds(halvings, digit)(bits)
            assert Fraction(low, 2**bits) <= probability <= Fraction(high, 2**bits)
            assert high - low <= 4


def test_the_digits_make_a_geometric_law():
    # Exactly, in fractions: digits and overflow give P(K = k) = 2**-h (1 - 2**-h)**k.
    halvings = 3
    keep, digits = 1 - Fraction(1, 2**halvings), len(sampling._coins(halvings)) - 1
    for k in range(3 * 2**digits):
        beyond, rest = divmod(k, 2**digits)
        probability = keep ** (2**digits * beyond) * (1 - keep ** (2**digits))
        for digit in range(digits):
            odds = keep ** (2**digit)
            probability *= (odds if rest >> digit & 1 else 1) / (1 + odds)
        assert probability == keep**k / 2**halvings


def test_decide_appends_bits_to_an_undecided_word():
    third = Fraction(1, 3)

    def bounds(bits):
        floor = int(third * 2**bits)
        return floor, floor + 1

    undecided = 0x55  # 8 bits of 1/3 = 0.010101...
    asked = []

    def bit_source(*words):
        supply = iter(words)

        def randbits(bits):
            asked.append(bits)
            return next(supply)

        return randbits

    assert _decide(bounds, undecided, 8, bit_source(0x54)) is True
    assert _decide(bounds, undecided, 8, bit_source(0x56)) is False
    assert _decide(bounds, undecided, 8, bit_source(0x55, 0x5554)) is True
    assert _decide(bounds, undecided, 8, bit_source(0x55, 0x5555, 0x55555556)) is False
    assert asked == [8, 8, 8, 16, 8, 16, 32]
    assert _decide(bounds, 0x54, 8, bit_source()) is True
    assert _decide(bounds, 0x56, 8, bit_source()) is False


def test_a_word_between_the_bounds_is_decided_by_more_bits(monkeypatch):
    low, high = _digit_bounds(3, 0)(16)
    words = np.array([low - 1, low, high], dtype="<u2")
    monkeypatch.setattr(sampling, "random_bytes", lambda size: words.tobytes()[:size])
    for more, outcome in [(0, True), ((1 << 16) - 1, False)]:
        monkeypatch.setattr(sampling, "random_bits", lambda bits, more=more: more)
        drawn = sampling.bernoulli((_digit_bounds(3, 0),), 3)
        assert drawn.tolist() == [[True, outcome, False]]


def test_every_coin_has_a_word_of_its_own(monkeypatch):
    words = np.arange(7 * 1000, dtype="<u2") * 9
    monkeypatch.setattr(sampling, "random_bytes", lambda size: words.tobytes()[:size])
    monkeypatch.setattr(sampling, "random_bits", lambda _bits: 0)
    coins = sampling._coins(3)
    assert len(coins) == 7  # six digits and the overflow
    for row, coin, mine in zip(
        sampling.bernoulli(coins, 1000), coins, words.reshape(7, 1000), strict=True
    ):
        low, high = coin(16)
        assert row[mine < low].all()
        assert not row[mine > high].any()


@settings(max_examples=100, deadline=None)
@given(
    gaps=st.lists(st.integers(0, 40), min_size=1, max_size=30),
    sizes=st.lists(st.integers(0, 60), max_size=12),
)
def test_positions_do_not_depend_on_the_chunks(gaps, sizes):
    def supply():
        endless = [*gaps, *([1000] * 100)]

        def draw(halvings, size):
            head, endless[:] = endless[:7], endless[7:]
            return np.array(head, dtype=np.int64)

        return draw

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "geometric", supply())
        sampler, start, positions = Sampler(3), 0, []
        for size in sizes:
            positions += (start + sampler.pick(size)).tolist()
            start += size
    expected = [end - 1 for end in accumulate(gap + 1 for gap in gaps)]
    assert positions == [position for position in expected if position < start]


@pytest.mark.parametrize("halvings", [1, 4, 10])
@pytest.mark.parametrize("chunk", [100, 65536])
def test_every_record_is_sampled_at_the_right_rate(halvings, chunk):
    size = 1 << 18
    hits = np.zeros(size, dtype=np.int64)
    sampler = Sampler(halvings)
    for start in range(0, size, chunk):
        hits[start + sampler.pick(min(chunk, size - start))] += 1
    assert hits.max() <= 1
    for part in (hits, hits[:: chunk or 1], hits[1::2]):
        test = stats.binomtest(int(part.sum()), part.size, 2.0**-halvings)
        assert test.pvalue > LEVEL


def test_without_halvings_every_record_is_looked_at():
    keys, counts = open_table(np.array([2.0, np.nan, 2.0, -1.0])).answer(Median(0, -9.0, 9.0))
    assert counts.tolist() == [1, 2]
    assert keys[0] < 0 < keys[1]


def test_a_sample_is_a_part_of_the_records():
    column = np.arange(100_000.0)
    keys, counts = open_table(column).answer(Median(5, -1e9, 1e9))
    values = keys.view(np.float64)
    assert np.isin(values, column).all()
    assert (counts == 1).all()
    assert stats.binomtest(len(keys), column.size, 2.0**-5).pvalue > LEVEL
