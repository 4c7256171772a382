"""How often noise alone stands out of noise: computed from the law of the noise, not simulated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.signal import fftconvolve
from scipy.stats import norm

import tametail as tt
from tametail.inequalities.quantiles import sum_quantile
from tametail.inequalities.risk import split_risk
from tametail.methods.winsorized import constants as tuned
from tametail.methods.winsorized.guaranteed_interval import OCTAVES_WEIGH
from tametail.methods.winsorized.tail_histogram import TailHistogram, detection_threshold
from tametail.privacy.budget import Noise
from tametail.queries.column import SOFT_ONE

#: What a look may raise for false alarms, over all octaves of both sides.
MOST = 3e-6

_STEP, _REACH = 0.02, 90.0
_GRID = np.arange(-_REACH, _REACH + _STEP / 2, _STEP)


def _empty(scale: float, kind: str = "laplace") -> TailHistogram:
    """Return the counts of no records; the scale is in records."""
    nodes = np.zeros(2 * tuned.OCTAVES)
    return TailHistogram(nodes, nodes, -tuned.OCTAVES, Noise(kind, scale * SOFT_ONE))


def _masses(scale: float) -> np.ndarray:
    """Return the probabilities of a Laplace noise in the cells of the grid."""
    edges = np.append(_GRID - _STEP / 2, _GRID[-1] + _STEP / 2) / scale
    below = np.exp(np.minimum(edges, 0.0)) / 2
    return np.diff(np.where(edges < 0, below, 1 - np.exp(-np.maximum(edges, 0.0)) / 2))


def _exceeded(scales: list[float], bounds: np.ndarray) -> np.ndarray:
    """Return the probabilities that a sum of independent Laplace noises exceeds the bounds.

    The laws are tilted before they are convolved, so that tails of 1e-12 keep their digits.
    """
    tilt = 0.8 / max(scales)
    total, middle = None, len(_GRID) // 2
    for scale in scales:
        law = _masses(scale) * np.exp(tilt * _GRID)
        total = law if total is None else fftconvolve(total, law)[middle : middle + len(_GRID)]
    above = np.cumsum((total * np.exp(-tilt * _GRID))[::-1])[::-1]
    return np.interp(bounds, _GRID - _STEP / 2, above)


def _false_alarms(tails: TailHistogram, scales: list[float]) -> float:
    """Bound the probability of an anchor where there is no record, by the sum over all windows.

    ``scales`` are those of the independent noises on a node, in units of ``tails.scale``.
    """
    windows = 2 * len(tails.above)
    return windows * float(
        _exceeded(scales * tuned.WINDOW, np.array([tails.detection_threshold]))[0]
    )


def test_the_convolution_is_that_of_laplace_noises():
    # The closed form is that of inequalities.quantiles.sum_quantile.
    (found,) = _exceeded([1.0] * 4, np.array([20.0]))
    chances = [math.comb(3 + k, k) / 2.0 ** (4 + k) for k in range(4)]
    exact = sum(
        math.exp(-20) * 20.0**power / math.factorial(power) * sum(chances[: 4 - power])
        for power in range(4)
    )
    assert found == pytest.approx(exact, rel=1e-3)


def test_the_first_look_is_safe():
    assert 1e-6 < _false_alarms(_empty(1.0), [1.0]) < MOST
    gaussian = _empty(1.0, "gaussian")
    deviation = math.sqrt(2 * tuned.WINDOW)  # of a window, in units of tails.scale
    assert 2 * len(gaussian.above) * norm.sf(gaussian.detection_threshold / deviation) < MOST


@pytest.mark.parametrize("ratio", [0.1, 0.3, 0.7, 1.0, 1.2, 1.5, 2.0, 2.8, 4.0, 7.0, 20.0])
def test_the_second_look_is_at_least_as_safe_as_the_first(ratio):
    """Once 4.2e-5: a release of 95% zeros with mean 0.08 returned 2.1e14."""
    one, two = _empty(ratio), _empty(1.0)
    both = one.averaged_with(two)
    precisions = np.array([1 / one.scale**2, 1 / two.scale**2])
    parts = precisions / precisions.sum() * np.array([one.scale, two.scale]) / both.scale
    assert (parts**2).sum() == pytest.approx(1)
    assert _false_alarms(both, parts.tolist()) < MOST


@pytest.mark.parametrize("ratio", [0.2, 0.5, 0.8, 1.0, 1.3, 2.0, 5.0])
@pytest.mark.parametrize("nodes", [1, 2, 3, 5, 8, 13])
def test_averaged_noise_is_within_quantiles_of_one_of_its_variance(ratio, nodes):
    """Proved intervals bound the counts of two looks so: at no more than the largest risk there is.

    At risks above 0.04 it is not true of one node.
    """
    one, two = _empty(ratio), _empty(1.0)
    precisions = np.array([1 / one.scale**2, 1 / two.scale**2])
    parts = precisions / precisions.sum() * np.array([one.scale, two.scale])
    both = one.averaged_with(two)
    largest = split_risk(1.0).beyond / 2 / OCTAVES_WEIGH / 2
    for risk in (largest, largest / 20, largest / 1000):
        bound = sum_quantile(both.noise, risk, nodes) / SOFT_ONE
        assert _exceeded(parts.tolist() * nodes, np.array([bound]))[0] <= risk


def test_averaged_gaussian_noise_is_gaussian():
    both = _empty(2.0, "gaussian").averaged_with(_empty(1.0, "gaussian"))
    assert both.detection_threshold == pytest.approx(_empty(1.0, "gaussian").detection_threshold)


# --- next to what stands out ----------------------------------------------------------------------


def test_both_sides_together_are_as_safe_as_one():
    for tails, scale in ((_empty(1.0), 1.0), (_empty(1.0).averaged_with(_empty(1.0)), 0.5)):
        parts = [1.0] * 2 * tuned.WINDOW if scale == 1 else [math.sqrt(scale)] * 4 * tuned.WINDOW
        needed = np.array([detection_threshold(tails.noise.kind, sides=2)])
        assert len(tails.above) * _exceeded(parts, needed)[0] < MOST / 2
    gaussian = _empty(1.0, "gaussian")
    together = detection_threshold("gaussian", sides=2) / math.sqrt(4 * tuned.WINDOW)
    assert len(gaussian.above) * norm.sf(together) < MOST


def test_an_empty_side_beside_a_full_one_seldom_raises_an_alarm():
    windows = tuned.NEARBY + 1  # they overlap: it is less than their sum
    assert windows * _exceeded([1.0] * tuned.WINDOW, np.array([tuned.WEAK_THRESHOLD]))[0] < 0.03
    assert windows * norm.sf(tuned.WEAK_THRESHOLD / math.sqrt(2 * tuned.WINDOW)) < 0.03


def _counted(below: dict[int, float], above: dict[int, float]) -> TailHistogram:
    """Return counts at octaves, without noise where there are none; its scale is 1."""
    tails = _empty(1.0)
    sides = np.zeros((2, len(tails.above)))
    for side, counts in zip(sides, (below, above), strict=True):
        for octave, count in counts.items():
            side[octave + tuned.OCTAVES] = count
    return TailHistogram(*sides, -tuned.OCTAVES, tails.noise)


ANYWHERE = (math.inf, math.inf)


@pytest.mark.parametrize(
    ("below", "above", "seen"),
    [
        ({3: 12.0}, {3: 40.0}, (True, True)),  # enough, beside what is clear
        ({3: 8.0}, {3: 40.0}, (False, True)),
        ({30: 20.0}, {3: 40.0}, (False, True)),  # too far away
        ({3: 16.0}, {3: 16.0}, (True, True)),  # together
        ({3: 12.0}, {3: 12.0}, (False, False)),
        ({3: 40.0}, {}, (True, False)),
        ({}, {}, (False, False)),
    ],
)
def test_next_to_what_stands_out_less_will_do(below, above, seen):
    tails = _counted(below, above)
    found = tails.detected(ANYWHERE)
    assert tuple(last_bin is not None for last_bin in found) == seen
    mirrored = _counted(above, below)
    assert mirrored.detected(ANYWHERE) == found[::-1]


def test_no_half_of_the_records_is_clipped_at_the_center():
    """One side alone stood out in most releases: an error of a fourth of the deviation."""
    records = np.random.default_rng(4).lognormal(0, 1.5, 5_000)
    request = {"epsilon": 0.088, "neighbors": "replace-one", "confidence": None}
    errors = [float(tt.mean(records, **request)) - records.mean() for _ in range(8)]
    assert np.sqrt(np.mean(np.square(errors))) < 0.17 * records.std()
