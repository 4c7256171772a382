"""The ball and the tournament: derivations checked by simulation and by counting."""

import math

import numpy as np
import pytest
from scipy import stats

from tametail.errors import ParameterError
from tametail.privacy.budget import Pure, Zcdp
from tametail.theory import (
    ball_radius,
    ball_sample_size,
    hard_instance,
    mean_sample_size,
    median_of_means_blocks,
    tournament,
    tournament_sample_size,
    truncation_bias,
)
from tametail.theory.multivariate import ball_records

BALL = [{"rho": 0.5}, {"epsilon": 1.0, "delta": 1e-6}]


@pytest.mark.parametrize("k", [2, 2.5, 3, 8])
@pytest.mark.parametrize("constants", ["paper", "tight"])
def test_ball_radius_bounds_bias_and_loss(k, constants):
    for alpha in (0.01, 0.3, 1.0):
        for d in (1, 7, 100):
            beyond = ball_radius(alpha, d, k, constants=constants) / math.sqrt(d) - 1
            assert beyond ** -(k - 1) <= alpha / 3 * (1 + 1e-12)
            # P(outside) is small enough for 3/4 to stay among 720 records, up to 0.05.
            assert stats.binom.sf(180, 720, beyond**-k) <= 0.05
    assert ball_radius(3.0, 4, k, constants=constants) == ball_radius(
        1.0, 4, k, constants=constants
    )


@pytest.mark.parametrize("privacy", BALL)
@pytest.mark.parametrize("constants", ["paper", "tight"])
def test_ball_sizes_move_the_right_way(privacy, constants):
    def size(alpha=0.2, k=2, R=1e3, d=30, scale=1.0):
        return ball_sample_size(alpha, k, R, d, scale=scale, constants=constants, **privacy)

    # The coarse step, which does not depend on alpha, rules at first.
    assert size(alpha=0.002) > size()
    assert size(d=50) > size()
    assert size(k=4) <= size()
    assert size(alpha=2.0, R=1e4, scale=10.0) == pytest.approx(size(), rel=1e-6)


def test_paper_ball_has_the_papers_noise_term():
    # 16 d/(sqrt(3 rho) a^(k/(k-1))) with a noise of a/3, for the half that is estimated from.
    d, k, rho, alpha = 400, 2, 1e-6, 0.5
    printed = 3 * 16 * d / (math.sqrt(3 * rho) * alpha ** (k / (k - 1)))
    size = ball_sample_size(alpha, k, 1.0, d, rho=rho, constants="paper")
    coarse = mean_sample_size(1.0, 0.1 / d, k, 1.0, rho=rho / d, constants="paper")
    assert size == max(2 * math.ceil(printed), 2 * coarse)


@pytest.mark.parametrize("d", [2, 16])
def test_ball_estimate_keeps_its_promise(d):
    """The second step in floats, from a center as far off as allowed, on the packing law."""
    rng = np.random.default_rng(5)
    alpha, rho, runs = 1.0, 0.02, 50
    n = ball_sample_size(alpha, 2, 10.0, d, rho=rho) // 2
    r = ball_radius(alpha, d, 2)
    law = hard_instance("packing", d=d, alpha=0.5)
    failed = 0
    for _ in range(runs):
        center = law.mean + 1.0
        x = law.sample(n, rng) - center
        kept = x[np.linalg.norm(x, axis=1) <= r]
        noise = rng.normal(0, math.sqrt(32 * r**2 / (9 * rho * n**2)), d)
        estimate = kept.sum(axis=0) / max(len(kept), 0.75 * n) + noise + center
        failed += np.linalg.norm(estimate - law.mean) > alpha
    # The coarse step, given here, has the other 0.1 of the 0.3.
    assert failed <= 0.2 * runs


@pytest.mark.parametrize("d", [1, 2, 3, 20])
def test_tournament_is_decided_by_the_tie(d):
    alpha, k = 0.3, 3
    game = tournament(alpha, 0.05, k, d)
    fine = alpha / 5.5
    assert game.tie + fine / 2 == pytest.approx(alpha)
    assert game.step * math.sqrt(d) == pytest.approx(fine)
    assert game.half_width * math.sqrt(d) > game.tie  # otherwise everything ties
    # mu is within xi/2 of every point of the box, and winsorizing there is harmless
    assert 2 * game.half_width * math.sqrt(d) <= game.xi / 2 * (1 + 1e-12)
    assert truncation_bias(game.xi / 2, k) <= fine / 2 * (1 + 1e-12)
    # bad points lose to the point nearest to mu: |p - z| - errors > |p - z|/2 at the tie
    assert game.tie - fine / 2 - fine / 2 - game.block_accuracy > game.tie / 2
    assert game.margin == pytest.approx(game.tie / 2 - fine / 2 - fine / 2 - game.block_accuracy)


def test_tournament_blocks_are_the_least_odd_multiple_of_five():
    game = tournament(0.3, 0.05, 2, 3)
    level = math.log(0.05 / 6) - game.log_points
    m = game.blocks
    assert m % 10 == 5
    assert stats.binom.logsf(m // 5, m, 0.1) <= level
    assert stats.binom.logsf((m - 10) // 5, m - 10, 0.1) > level


def test_paper_tournament():
    game = tournament(0.21, 0.05, 2, 4, constants="paper")
    assert game.xi == pytest.approx(6000)
    assert game.tie == pytest.approx(0.2)
    assert game.margin == pytest.approx(0.03)
    assert math.exp(game.log_points) == pytest.approx(5**4)
    assert game.blocks == math.ceil(1600 * math.log(16 / 0.05)) | 1


@pytest.mark.parametrize("constants", ["paper", "tight"])
def test_tournament_sizes_move_the_right_way(constants):
    def size(*, alpha=0.2, beta=0.05, k=2, R=1e3, d=2, epsilon=0.5, scale=1.0):
        return tournament_sample_size(
            alpha, beta, k, R, d, epsilon=epsilon, scale=scale, constants=constants
        )

    assert size(alpha=0.1) > size()
    assert size(beta=0.001) > size()
    assert size(d=3) > size()
    assert size(epsilon=0.01) > size()
    assert size(k=4) <= size()
    assert size(alpha=2.0, R=1e4, scale=10.0) == pytest.approx(size(), rel=1e-6)
    # never cheaper than its coarse step, coordinate by coordinate
    accuracy = 0.2 if constants == "tight" else 0.2 / 21
    assert size() >= 2 * mean_sample_size(
        accuracy, 0.05 / 6, 2, 1e3, epsilon=0.25, constants=constants
    )


def test_the_wrong_notion_is_named():
    with pytest.raises(ParameterError, match="constants='tight'"):
        ball_sample_size(0.1, 2, 10.0, 3, epsilon=1.0, constants="paper")
    with pytest.raises(ParameterError, match="at least 2"):
        ball_sample_size(0.1, 1.5, 10.0, 3, rho=1.0)
    with pytest.raises(ParameterError, match="d="):
        tournament(0.1, 0.05, 2, 0)


def test_the_ball_for_pure_privacy_pays_the_root_of_d_more():
    """Noise of length d instead of sqrt(d), around a ball that grows with sqrt(d)."""

    def estimating(d, budget):
        return ball_records(1.0, 2, 1.0, d, budget=budget, constants="tight")[0]

    pure, zcdp = Pure(1e-9), Zcdp(1e-18 / 2)
    for budget, power in ((pure, 1.5), (zcdp, 1.0)):
        few, many = (estimating(d, budget) for d in (1_000, 100_000))
        assert math.log(many / few) / math.log(100) == pytest.approx(power, abs=0.02)
    # One column: gamma of order 1 has the quantile ln(20), and a normal number 1.96.
    ratio = estimating(1, pure) / estimating(1, zcdp)
    assert ratio == pytest.approx(math.log(20) / 1.96, rel=0.01)


def test_failure_of_coarse_calls_adds_up():
    assert median_of_means_blocks(0.1 / 50) > median_of_means_blocks(0.1)
