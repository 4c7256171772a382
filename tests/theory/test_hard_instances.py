"""Hard instances and ordinary laws: moments, means, samplers and the code."""

import math

import numpy as np
import pytest

from tametail.errors import ParameterError
from tametail.theory import (
    OneHot,
    Packing,
    binary_code,
    distribution,
    hard_instance,
    lower_bound,
)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_d2_has_its_mean_and_moment(k):
    for alpha, scale in ((0.01, 1.0), (0.05, 1.0), (3.0, 50.0)):
        d2 = hard_instance("D2", alpha=alpha, k=k, scale=scale)
        assert d2.mean == pytest.approx(alpha)
        assert d2.p * d2.tau**k == pytest.approx(scale**k)
        assert d2.kth_moment(k) <= scale**k
    d1 = hard_instance("D1")
    assert (d1.mean, d1.kth_moment(k)) == (0.0, 0.0)
    assert not d1.sample(5, np.random.default_rng(0)).any()


@pytest.mark.parametrize(
    "privacy", [{"epsilon": 0.5}, {"rho": 0.1}, {"epsilon": 0.5, "delta": 1e-6}, {}]
)
@pytest.mark.parametrize("k", [2, 3])
def test_two_point_pair(privacy, k):
    plus, minus = (
        hard_instance("two-point", n=1000, k=k, scale=4.0, sign=sign, **privacy) for sign in (1, -1)
    )
    assert plus.mean == -minus.mean
    assert plus.kth_moment(k) == pytest.approx(4.0**k)
    if privacy:
        # s is an upper limit of its own bound: s sqrt(1 - E g)
        assert plus.mean > lower_bound(1000, k=k, scale=4.0, **privacy)


def test_two_point_samples():
    rng = np.random.default_rng(3)
    instance = hard_instance("two-point", n=100, k=2, epsilon=0.1)
    x = instance.sample(200_000, rng)
    assert set(np.unique(x)) == {0.0, instance.tau}
    assert abs(x.mean() - instance.mean) < 6 / math.sqrt(len(x))


@pytest.mark.parametrize("d", [1, 2, 15, 16, 17, 31, 64, 100, 128, 256])
def test_code_size_and_distance(d):
    code = binary_code(d)
    assert len(code) >= 2 ** (d / 16)
    assert set(np.unique(code)) <= {0, 1}
    assert 4 * code[1:].sum(axis=1).min() >= d
    if len(code) <= 256:  # every pair, not only weights
        distances = (code[:, None, :] != code[None, :, :]).sum(axis=2)
        assert 4 * distances[~np.eye(len(code), dtype=bool)].min() >= d
    else:  # closed under addition, so weights are distances
        words = {word.tobytes() for word in code}
        assert len(words) == len(code)
        rng = np.random.default_rng(d)
        pairs = rng.integers(0, len(code), (1000, 2))
        assert all((code[i] ^ code[j]).tobytes() in words for i, j in pairs)


def test_code_cannot_be_changed_by_callers():
    with pytest.raises(ValueError, match="read-only"):
        binary_code(32)[0, 0] = 1


def test_packing_law():
    d, alpha = 64, 0.5
    code = binary_code(d)
    laws = [hard_instance("packing", d=d, alpha=alpha, index=i) for i in range(len(code))]
    means = np.array([packed.mean for packed in laws])
    gaps = np.linalg.norm(means[:, None] - means[None], axis=2)
    assert gaps[~np.eye(len(laws), dtype=bool)].min() >= alpha / 2
    assert laws[0].kth_moment(2) == 0.0
    assert laws[1].kth_moment(2) <= 1
    x = laws[1].sample(20_000, np.random.default_rng(2))
    assert x.shape == (20_000, d)
    assert not x[:, np.array(laws[1].codeword) == 0].any()
    covariance = np.cov(x.T)
    assert np.linalg.norm(x.mean(axis=0) - means[1]) < 6 * math.sqrt(np.trace(covariance) / 20_000)
    assert hard_instance("packing", d=d, alpha=alpha, scale=3.0).kth_moment(2) == pytest.approx(
        9 * laws[1].kth_moment(2)
    )


def test_packing_as_the_paper_writes_it():
    packed = Packing((1, 0, 1, 1), alpha=0.2)
    assert packed.atom.p == pytest.approx(0.2**2 / 4)
    assert packed.atom.tau == pytest.approx(2 / 0.2)
    assert packed.mean == pytest.approx(np.array([0.1, 0, 0.1, 0.1]))


@pytest.mark.parametrize(
    ("name", "shape"),
    [("normal", {}), ("t", {"nu": 4.5}), ("pareto", {"a": 4.5}), ("lognormal", {"s": 1.0})],
)
@pytest.mark.parametrize("k", [2, 3, 4])
def test_laws_are_standardised(name, shape, k):
    x = distribution(name, k=k, mean=-2.0, scale=3.0, **shape)
    assert x.mean == -2.0
    assert x.kth_moment(k) == pytest.approx(3.0**k)
    assert x.kth_moment(2) <= 9 * (1 + 1e-12)
    draws = x.sample(400_000, np.random.default_rng(7))
    # heavy tails: six standard errors, from the law's own variance
    assert abs(draws.mean() - x.mean) < 6 * math.sqrt(x.kth_moment(2) / len(draws))
    spread = np.abs(draws - x.mean) ** 1.5
    assert spread.mean() == pytest.approx(x.kth_moment(1.5), rel=0.05)


def test_moments_that_do_not_exist_are_infinite():
    assert distribution("t", nu=3, k=2).kth_moment(3) == math.inf


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hard_instance("D3"), "D1, D2, two-point, packing"),
        (lambda: hard_instance("D2", k=2), "alpha"),
        (lambda: hard_instance("D2", k=2, alpha=0.1, sign=1), "sign"),
        (lambda: hard_instance("D2", k=2, alpha=2.0), "below scale"),
        (lambda: hard_instance("D2", k=1.5, alpha=0.1), "at least 2"),
        (lambda: hard_instance("two-point", n=10, k=2, epsilon=1.0, sign=0), "sign="),
        (lambda: hard_instance("packing", d=16, alpha=0.1, index=2), "index="),
        (lambda: hard_instance("packing", d=16, alpha=4.0), "alpha="),
        (lambda: hard_instance("packing", d=257, alpha=0.1), "256"),
        (lambda: distribution("cauchy", k=2), "normal, t, pareto, lognormal"),
        (lambda: distribution("t", k=2), "nu"),
        (lambda: distribution("t", k=2, nu=1.0), "nu="),
        (lambda: distribution("t", k=3, nu=3.0), "no moment"),
        (lambda: distribution("normal", k=2, nu=3.0), "no shape"),
        (lambda: distribution("normal", k=2, scale=-1.0), "scale="),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ParameterError, match=message):
        call()


def test_one_hot_family_is_that_of_the_bound():
    rng = np.random.default_rng(3)
    signs = (1, -1, -1, 1, 1)
    made = hard_instance("one-hot", n=2_000, k=2, rho=0.1, signs=signs, scale=3.0)
    assert made.kth_moment(2) <= 9.0
    rows = made.sample(200_000, rng)
    assert rows.shape == (200_000, 5)
    assert ((rows != 0).sum(axis=1) <= 1).all()
    assert (np.sign(rows.sum(axis=0)) == signs).all()
    spread = made.tau * math.sqrt(made.p / 200_000)
    assert np.abs(rows.mean(axis=0) - made.mean).max() < 6 * spread
    # Nobody does worse than answering 0 there, so the norm of the mean is above the bound.
    bound = lower_bound(2_000, k=2, rho=0.1, d=5, scale=3.0)
    assert bound < np.linalg.norm(made.mean) < 3 * bound


@pytest.mark.parametrize("signs", [(1,), (), (1, 0), (2, 1)])
def test_one_hot_needs_signs(signs):
    with pytest.raises(ParameterError, match="signs="):
        hard_instance("one-hot", n=100, k=2, rho=0.1, signs=signs)


def test_one_hot_mass_is_a_probability():
    with pytest.raises(ParameterError, match="p="):
        OneHot(0.6, 1.0, (1, 1))
