"""Private histograms: draws for empty buckets, thresholds, error bounds, the largest bucket."""

import itertools
import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tametail.errors import InternalError, ParameterError
from tametail.mechanisms import histograms as module
from tametail.mechanisms import sparse
from tametail.mechanisms.noise import gaussian_scale, laplace_scale
from tametail.mechanisms.public import histogram
from tametail.mechanisms.sparse import DiscreteGaussian, DiscreteLaplace, Enclosure, Rounded
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Approx, Budget, Pure, Zcdp

UNITS = [Adjacency.REPLACE_ONE, Adjacency.ADD_REMOVE]
LAWS = [
    law(scale)
    for law in (DiscreteLaplace, DiscreteGaussian)
    for scale in (Fraction(1, 3), Fraction(1), Fraction(7, 3), Fraction(40))
]


@cache
def probability_of(law, z):
    if isinstance(law, DiscreteLaplace):
        p = math.exp(-1 / law.scale)
        return (1 - p) / (1 + p) * p ** abs(z)
    variance = float(law.sigma**2)
    return math.exp(-(z**2) / (2 * variance)) / float(sparse.gaussian_mass(law.sigma, 40).low)


def tail_of(law, point):
    return sum(probability_of(law, z) for z in range(point, point + 60))


def fits(draws, probabilities):
    """Chi-square test against a finite law; what expects fewer than ten draws is one cell."""
    seen, total = Counter(draws), len(draws)
    likely = [value for value, p in probabilities.items() if p * total >= 10]
    expected = np.array([probabilities[value] for value in likely])
    observed = np.array([seen[value] for value in likely])
    if 1 - expected.sum() > 1e-9:
        expected = np.append(expected, 1 - expected.sum())
        observed = np.append(observed, total - observed.sum())
    assert observed.sum() == total
    return stats.chisquare(observed, expected * total).pvalue > 1e-7


def width(enclosure):
    """The relative width of an enclosure, free of rounding."""
    return Fraction(enclosure.high) / Fraction(enclosure.low) - 1


# --- exact draws -----------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("point", [1, 2, 5])
def test_envelopes_are_tight_nested_and_above_the_tail(law, point):
    rough, fine = law.envelope(point, 45), law.envelope(point, 120)
    assert rough.low <= fine.low <= fine.high <= rough.high
    assert width(fine) < Fraction(1, 10**100)
    if isinstance(law, DiscreteLaplace):
        p = math.exp(-1 / law.scale)
        assert float(fine.low) == pytest.approx(p**point / (1 + p), rel=1e-12)
    else:
        g = math.exp(-point / law.sigma**2)
        expected = probability_of(law, point) / (1 - g)
        assert float(fine.low) == pytest.approx(expected, rel=1e-12)
        assert float(fine.high) >= tail_of(law, point) * (1 - 1e-12)


def test_poisson_and_direct_sums_agree_where_both_are_used():
    below = sparse.gaussian_mass(Fraction(1) - Fraction(1, 10**30), 60)
    above = sparse.gaussian_mass(Fraction(1), 60)
    assert abs(Fraction(below.low) - Fraction(above.low)) < Fraction(10, 10**30)
    assert max(width(below), width(above)) < Fraction(1, 10**55)


def test_the_callers_decimal_context_does_not_matter():
    law, plain = LAWS[-1], LAWS[-1].envelope(3, 50)
    with localcontext() as context:
        context.prec = 2
        assert law.envelope(3, 50) == plain


@settings(max_examples=50)
@given(st.integers(1, 60), st.integers(1, 64))
def test_binomial_terms_enclose_the_exact_fractions(number, sixteenths):
    chance = Fraction(sixteenths, 128)
    rounded = Rounded(50)
    terms = sparse._binomial_terms(number, rounded.exact(chance), rounded)
    for successes, term in zip(range(number + 1), terms, strict=False):
        ways = math.comb(number, successes)
        exact = ways * chance**successes * (1 - chance) ** (number - successes)
        assert term.low <= exact <= term.high
        assert width(term) < Fraction(1, 10**40)


def test_the_chance_that_nothing_happens_among_very_many_is_right():
    number = 10**300
    chance = Enclosure(Decimal("2e-300"), Decimal("2e-300"))
    first, second = itertools.islice(sparse._binomial_terms(number, chance, Rounded(60)), 2)
    assert float(first.low) == pytest.approx(math.exp(-2), rel=1e-12)
    assert float(second.high) == pytest.approx(2 * math.exp(-2), rel=1e-12)
    assert width(first) < Fraction(1, 10**55)


class Digits:
    """A source that returns given numbers and counts how often it is asked."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def __call__(self, bound):
        return self.numbers.pop(0)


@pytest.mark.parametrize(("appended", "answer"), [(0, 1), (10**40 - 1, 0)])
def test_a_geometric_draw_between_the_bounds_takes_more_digits(monkeypatch, appended, answer):
    with localcontext() as context:
        context.prec = 60
        between = int(Decimal(-1).exp().scaleb(40))
    digits = Digits(between, appended)
    monkeypatch.setattr(sparse, "random_below", digits)
    assert sparse.draw_geometric(Fraction(1)) == answer
    assert digits.numbers == []


@pytest.mark.parametrize("first", [0, 10**40 - 1])
def test_a_geometric_draw_at_an_end_of_the_unit_interval_takes_more_digits(monkeypatch, first):
    """u = 0.00...0 has no logarithm yet, and that of u = 0.99...9 may be 0."""
    digits = Digits(first, 5 * 10**39)
    monkeypatch.setattr(sparse, "random_below", digits)
    u = Fraction(first * 10**40 + 5 * 10**39, 10**80)
    expected = math.floor(-math.log(u)) if first == 0 else 0
    assert sparse.draw_geometric(Fraction(1)) == expected
    assert digits.numbers == []


@pytest.mark.parametrize(("appended", "answer"), [(0, []), (10**40 - 1, [5])])
def test_a_binomial_draw_between_the_bounds_takes_more_digits(monkeypatch, appended, answer):
    law = DiscreteLaplace(Fraction(1))
    with localcontext() as context:
        context.prec = 80
        p = Decimal(-1).exp()
        between = int(((1 - p**5 / (1 + p)) ** 3).scaleb(40))
    geometric = 9 * 10**39  # u = 0.9 gives 0
    digits = Digits(between, appended, geometric)
    monkeypatch.setattr(sparse, "random_below", digits)
    assert sparse.draw_exceedances(law, number=3, point=5) == answer


@pytest.mark.parametrize("rate", [Fraction(1, 4), Fraction(2)])
def test_geometric_draws_follow_their_law(rate):
    draws = [sparse.draw_geometric(rate) for _ in range(5000)]
    law = {j: math.exp(-rate * j) * (1 - math.exp(-rate)) for j in range(200)}
    assert fits(draws, law)


@pytest.mark.parametrize(
    ("law", "point"), [(DiscreteLaplace(Fraction(2)), 2), (DiscreteGaussian(Fraction(2)), 2)]
)
def test_noises_that_reach_a_point_follow_the_law_of_real_noises(law, point):
    rounds = [sparse.draw_exceedances(law, 4, point) for _ in range(2500)]
    tail = tail_of(law, point)
    numbers = {k: math.comb(4, k) * tail**k * (1 - tail) ** (4 - k) for k in range(5)}
    assert fits(list(map(len, rounds)), numbers)
    values = {z: probability_of(law, z) / tail for z in range(point, point + 60)}
    assert fits([z for noises in rounds for z in noises], values)


def test_ranks_of_empty_keys_skip_the_occupied_ones(monkeypatch):
    monkeypatch.setattr(sparse, "random_below", Digits(0, 1, 1, 2, 3))
    assert sparse.draw_empty_keys([-3, -2, 0, 4], -3, 4, 4) == [-1, 1, 2, 3]


# --- the histogram ---------------------------------------------------------------------------


def small_law(budget, adjacency):
    moved = 2 if adjacency is Adjacency.REPLACE_ONE else 1
    if isinstance(budget, Zcdp):
        return DiscreteGaussian(Fraction(gaussian_scale(moved, budget.rho)))
    return DiscreteLaplace(Fraction(laplace_scale(moved, budget.epsilon)))


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("budget", [Pure(1.0), Zcdp(0.2)], ids=str)
def test_a_small_universe_has_the_law_of_noise_on_every_bucket(budget, adjacency):
    counts = {2: 3, 5: 1}
    released = [module.noisy_histogram(counts, budget, adjacency, (1, 5)) for _ in range(2500)]
    law, least = small_law(budget, adjacency), released[0].threshold
    chances = {key: tail_of(law, least - counts.get(key, 0)) for key in range(1, 6)}
    patterns = {
        pattern: math.prod(p if key in pattern else 1 - p for key, p in chances.items())
        for size in range(6)
        for pattern in itertools.combinations(chances, size)
    }
    assert fits([tuple(result.counts) for result in released], patterns)
    for key in (2, 3):
        values = [result.counts.get(key) for result in released]
        shifted = {z: probability_of(law, z - counts.get(key, 0)) for z in range(least, least + 60)}
        assert fits(values, {None: 1 - chances[key], **shifted})


@pytest.mark.parametrize("adjacency", UNITS)
def test_about_one_empty_bucket_is_released(adjacency):
    for budget in (Pure(0.7), Zcdp(0.1)):
        size = 10**40
        law, least = small_law(budget, adjacency), module.threshold(budget, adjacency, size)
        assert law.envelope(least, 40).high <= Fraction(1, size)
        assert law.envelope(least - 1, 40).high > Fraction(1, size)


@pytest.mark.parametrize("adjacency", UNITS)
def test_a_universe_of_any_size_costs_no_time(adjacency):
    keys = [10**299] * 4000 + [-(10**299)] * 2000
    for budget in (Pure(1.0), Zcdp(0.1)):
        result = histogram(keys, budget, universe=(-(10**300), 10**300), neighbors=adjacency)
        assert result.largest() == 10**299
        assert abs(result.counts[-(10**299)] - 2000) <= result.error_bound(1e-9)
        assert list(result.counts) == sorted(result.counts)


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.3, 1e-3), (3.0, 1e-9), (1.0, 0.2)])
def test_the_stability_threshold_is_the_least_that_keeps_delta(epsilon, delta, adjacency):
    budget = Approx(epsilon, delta)
    law, least = small_law(budget, adjacency), module.threshold(budget, adjacency)
    assert law.envelope(least - 1, 60).high <= Fraction(delta)
    if least > 2:
        assert law.envelope(least - 2, 60).low > Fraction(delta)
    g = math.exp(-1 / law.scale)
    assert least == 1 + max(1, math.ceil(law.scale * math.log(1 / (delta * (1 + g)))))


def bucket_outcomes(count, law, least):
    """Probabilities of what a bucket shows by stability: None, or its noisy count."""
    if count == 0:
        return {None: 1.0}
    shown = {v: probability_of(law, v - count) for v in range(least, least + 150)}
    return {None: 1 - sum(shown.values()), **shown}


@pytest.mark.parametrize(
    ("adjacency", "one", "other"),
    [
        (Adjacency.REPLACE_ONE, (1, 0), (0, 1)),
        (Adjacency.REPLACE_ONE, (1, 3), (0, 4)),
        (Adjacency.REPLACE_ONE, (7, 3), (6, 4)),
        (Adjacency.ADD_REMOVE, (1, 2), (0, 2)),
        (Adjacency.ADD_REMOVE, (4, 2), (5, 2)),
    ],
)
def test_stability_satisfies_epsilon_delta_by_summation(adjacency, one, other):
    budget = Approx(1.0, 1e-2)
    law, least = small_law(budget, adjacency), module.threshold(budget, adjacency)
    for first, second in ((one, other), (other, one)):
        p, q = ([bucket_outcomes(c, law, least) for c in pair] for pair in (first, second))
        excess = 0.0
        for a, b in itertools.product(p[0] | q[0], p[1] | q[1]):
            probability = p[0].get(a, 0.0) * p[1].get(b, 0.0)
            neighbor = q[0].get(a, 0.0) * q[1].get(b, 0.0)
            excess += max(0.0, probability - math.e * neighbor * (1 + 1e-12))
        assert excess <= budget.delta


def test_a_key_that_does_not_occur_is_never_released_by_stability():
    result = histogram([1] * 100, Approx(1.0, 1e-3), universe=(0, 10**9))
    assert set(result.counts) <= {1}
    assert histogram([], Approx(1.0, 1e-3)).largest() is None


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("budget", [Pure(0.5), Zcdp(0.05), Approx(0.5, 1e-4)], ids=str)
def test_the_error_bound_fails_no_more_often_than_it_may(budget, adjacency):
    universe, beta, runs = (1, 50), 0.3, 150
    counts = {key: 3 * key for key in range(1, 41)}
    failures = 0
    for _ in range(runs):
        result = module.noisy_histogram(counts, budget, adjacency, universe)
        errors = [abs(result.counts.get(k, 0) - counts.get(k, 0)) for k in range(1, 51)]
        failures += max(errors) > result.error_bound(beta, buckets=40)
    assert failures <= stats.binom.isf(1e-7, runs, beta)


@given(st.integers(1, 10**300), st.floats(1e-3, 10), st.floats(1e-9, 0.5))
@settings(max_examples=30)
def test_error_bounds_are_within_their_closed_forms(size, cost, beta):
    both, one = Adjacency.REPLACE_ONE, Adjacency.ADD_REMOVE
    log_size, slack = math.log(size), 1 + 1e-9
    for adjacency, s in ((both, 2 / cost), (one, 1 / cost)):
        bound = module._error_bound(Pure(cost), adjacency, size, beta)
        assert bound <= (s * (2 * log_size + math.log(2 / beta)) + 1) * slack
        bound = module._error_bound(Approx(cost, 1e-6), adjacency, size, beta)
        assert bound <= (s * (math.log(1e6) + log_size + math.log(2 / beta)) + 2) * slack
    sigma = 1 / math.sqrt(cost)
    bound = module._error_bound(Zcdp(cost), both, size, beta)
    tails = math.sqrt(2 * log_size) + math.sqrt(2 * (log_size + math.log(2 / beta)))
    assert bound <= sigma * (tails + 1) + 2


# --- the largest bucket ----------------------------------------------------------------------


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("budget", [Pure(1.0), Zcdp(0.125)], ids=str)
def test_the_largest_bucket_is_chosen_with_its_probability(budget, adjacency):
    counts = {1: 3, 4: 1, 9: 50}  # 9 is not in the universe
    rate = 0.5 if adjacency is Adjacency.REPLACE_ONE else 1.0
    weights = {key: math.exp(rate * counts.get(key, 0)) for key in range(1, 7)}
    law = {key: weight / sum(weights.values()) for key, weight in weights.items()}
    drawn = [
        module.largest_bucket(counts, budget, low=1, high=6, adjacency=adjacency)
        for _ in range(4000)
    ]
    assert fits(drawn, law)


@pytest.mark.parametrize("adjacency", UNITS)
@pytest.mark.parametrize("budget", [Pure(1.0), Zcdp(0.1), Approx(1.0, 1e-9)], ids=str)
def test_a_clear_winner_is_found_among_very_many(budget, adjacency):
    counts = {7: 2000, -(10**299): 100}
    chosen = module.largest_bucket(
        counts, budget, low=-(10**300), high=10**300, adjacency=adjacency
    )
    assert chosen == 7


def test_concentrated_privacy_selects_in_small_universes_and_adds_noise_in_large_ones():
    for adjacency in UNITS:
        assert module._selection_is_better(Zcdp(0.1), adjacency, 100)
        assert not module._selection_is_better(Zcdp(0.1), adjacency, 10**9)
        assert not module._selection_is_better(Zcdp(0.1), adjacency, 10**400)


def test_without_records_there_is_an_answer_or_none():
    everything = {"low": 1, "high": 3, "adjacency": Adjacency.REPLACE_ONE}
    assert module.largest_bucket({}, Pure(1.0), **everything) in (1, 2, 3)
    assert module.largest_bucket({}, Approx(1.0, 1e-6), **everything) is None


# --- what goes in ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "keys",
    [
        [
            3,
            3,
            np.int8(5),
            5.0,
            None,
            math.nan,
            math.inf,
            "3",
            2.5,
            [3],
            1j,
            np.timedelta64(3, "D"),
        ],
        np.array([3, 3, 5, 5]),
        np.array([3.0, 3.0, 5.0, 5.0, np.nan, np.inf, -np.inf, 0.5], dtype=np.float32),
        np.array([3, None, 3, 5, 5.0, "x"], dtype=object),
        np.ma.array([3, 3, 5, 5, 9], mask=[0, 0, 0, 0, 1]),
        pa.array([3, 3, 5, 5, None]),
        pa.chunked_array([[3, 3], [5, 5]]),
    ],
    ids=lambda keys: type(keys).__name__,
)
def test_whole_numbers_count_and_everything_else_is_missing(keys):
    assert module.count_keys(keys) == {3: 2, 5: 2}


def test_keys_of_any_size_stay_exact():
    assert module.count_keys([2**200, 2**200 + 1, 1e300]) == {
        2**200: 1,
        2**200 + 1: 1,
        int(1e300): 1,
    }
    assert module.count_keys(np.array([2**64 - 1], dtype=np.uint64)) == {2**64 - 1: 1}
    assert module.count_keys(np.array(["3"])) == {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"budget": Pure(1.0)}, r"universe=\(low, high\)"),
        ({"budget": Zcdp(1.0)}, r"approx\(epsilon, delta\)"),
        ({"budget": 1.0, "universe": (0, 1)}, r"Invalid budget=1.0"),
        ({"budget": Pure(1.0), "universe": (2, 1)}, "Invalid universe=tuple"),
        ({"budget": Pure(1.0), "universe": (0.5, 1)}, "Invalid universe=tuple"),
        ({"budget": Pure(1.0), "universe": 5}, r"Invalid universe=5"),
        ({"budget": Pure(1.0), "universe": (0, 1), "neighbors": "person"}, r"neighbors='person'"),
    ],
)
def test_mistakes_say_what_to_write_and_read_nothing(arguments, message):
    def explode():
        yield pytest.fail("a key was read")

    with pytest.raises(ParameterError, match=message):
        histogram(explode(), **arguments)


@pytest.mark.parametrize("keys", ["123", 5, np.zeros((2, 2))])
def test_keys_that_are_no_sequence_are_refused(keys):
    with pytest.raises(ParameterError, match="keys"):
        histogram(keys, Approx(1.0, 1e-6))


@pytest.mark.parametrize("beta", [0.0, 1.0, math.nan])
def test_an_error_bound_needs_a_probability_and_a_bucket(beta):
    with pytest.raises(ParameterError, match="beta"):
        module._error_bound(Pure(1.0), Adjacency.REPLACE_ONE, 10, beta)
    with pytest.raises(ParameterError, match="bucket"):
        module._error_bound(Pure(1.0), Adjacency.REPLACE_ONE, 0, 0.1)


def test_ties_go_to_the_least_key_and_the_text_shows_no_record():
    result = module.Histogram({1: 5, 3: 9, 8: 9}, 4, Pure(1.0), Adjacency.REPLACE_ONE, (0, 9))
    assert result.largest() == 3
    assert repr(result) == (
        "<Histogram: 3 buckets with noisy counts >= 4; epsilon = 1 (pure), replace-one>"
    )


def test_a_fourth_notion_has_no_noise():
    class Renyi(Budget):
        strength = 1.0

        def __str__(self):
            return "renyi"

    with pytest.raises(InternalError, match="no noise"):
        module.noisy_histogram({1: 5}, Renyi(), Adjacency.ADD_REMOVE, (0, 9))
