"""From the noisy octave counts of one side to what each clip point would cost. No data here.

The number of records beyond a distance T of the center is taken to be one of some thousand curves

    m(T) = level * exp(-integral of the slope),   slope = max(start + curvature * ln(T/anchor), 0):

power laws (no curvature), lognormal-like and exponential tails, and sudden ends. Each curve
predicts the soft counts at the nodes; the noisy counts give it a likelihood. A clip point is then
judged by its squared bias and variance, averaged over the curves, each in proportion to what the
best clip point would have for it: a choice that is never far from the best, whatever the tail.

If the counts of both sides look alike, the sides may have one curve in common. What clipping takes
away then nearly cancels, and clip points closer to the center are better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tametail.inequalities.quantiles import scaled_tail
from tametail.methods.winsorized import constants as tuned

Array = npt.NDArray[np.float64]

#: A curve of this part of the largest weight adds nothing that matters, whatever it predicts.
_UNFELT = 2.0**-60


@dataclass(frozen=True, slots=True)
class Prior:
    """What an interval believes of what lies beyond a clip point before it looks at the counts.

    Their likelihood has the power ``evidence``; a curve is believed less by the power ``lightness``
    of how heavy it is, and a group across a gap is ``group`` times as likely as among records.
    """

    evidence: float = 1.0
    lightness: float = 0.0
    group: float = 1.0


#: Of numbers that are records.
RECORDS = Prior()


@dataclass(frozen=True, slots=True)
class ClippingScores:
    """Clip points, in units of the anchor's distance, and what each would cost.

    ``risk`` is the expected squared bias and the variance of the clipped records, for the sum;
    ``excess`` is what to add back to the sum for the records beyond.
    """

    distances: Array
    risk: Array
    excess: Array

    def scaled(self, unit: float) -> ClippingScores:
        """Return the same in other units of distance."""
        return ClippingScores(self.distances * unit, self.risk * unit**2, self.excess * unit)


@dataclass(frozen=True, slots=True)
class TailFit:
    """How well every curve fits the noisy counts of one side."""

    costs: _Costs
    log_likelihood: Array

    @classmethod
    def of(cls, counts: Array, noise: float, final_noise: float) -> TailFit:
        """Compare the noisy counts at the nodes around the anchor with all curves.

        ``noise`` is the scale of the noise on a count (for Gaussian noise its standard deviation
        over sqrt 2), ``final_noise`` the standard deviation of the noise on a sum of records up to
        1, were the whole budget spent on it.
        """
        return _fit(counts.tobytes(), noise, final_noise)

    def score(self) -> ClippingScores:
        """Judge all clip points of this side."""
        costs, weight = self.costs, self._weights(_curves().log_prior + self.log_likelihood)
        once, twice = costs.records(weight)
        expected = once @ costs.excess
        square = twice @ costs.excess**2 + once @ costs.square
        # Adding back a part c of the expected excess e changes e^2 to (1 - c)^2 e^2 on average.
        risk = square - tuned.CORRECTION * (2 - tuned.CORRECTION) * expected**2
        return ClippingScores(costs.distances, risk, tuned.CORRECTION * expected)

    def beyond(self, distance: float, prior: Prior = RECORDS) -> tuple[Array, Array, float]:
        """Return what the curves have beyond a clip point, in sums of excesses, and their weights.

        And the weight of those that have no finite mean. Without the fairness of a choice: this is
        about what is, not about what to do, and it goes on to infinity.
        """
        costs, curves = self.costs, _curves()
        posterior = curves.log_prior + curves.log_belief + prior.evidence * self.log_likelihood
        if prior.lightness:
            posterior -= prior.lightness * curves.heaviness
        weight = np.exp(posterior - posterior.max())
        some = _felt(weight)
        weight = weight[some] / weight[some].sum()
        place = float(np.interp(distance, costs.distances, np.arange(len(costs.distances))))
        left = min(int(place), len(costs.distances) - 2)
        part = place - left
        near, far = curves.excess[some, left], curves.excess[some, left + 1]
        excess = ((1 - part) * near + part * far + curves.rest[some]) * costs.noise
        return excess, weight, float(weight[curves.unbounded[some]].sum())

    def score_symmetric(self, other: TailFit, asymmetry: float) -> tuple[float, Array, Array]:
        """Judge all pairs of clip points, one on each side, if both sides have the same tail.

        Then what clipping takes away on either side nearly cancels: it differs by about the part
        ``asymmetry`` of it. Return how probable that is, the risk of each pair, and what to add
        back on each side.
        """
        costs, prior = self.costs, _curves().log_prior
        one, two = self.log_likelihood, other.log_likelihood
        log_odds = _log_sum(prior + one + two) - _log_sum(prior + one) - _log_sum(prior + two)
        alike = 1 / (1 + (1 - tuned.ALIKE) / tuned.ALIKE * math.exp(-max(log_odds, -500.0)))
        weight = self._weights(prior + one + two)
        once, twice = costs.records(weight)
        products = (costs.excess.T * twice) @ costs.excess
        # E(e_i - e_j)^2, and what an asymmetry of this size would add to it.
        single = (1 + asymmetry**2 / 2) * np.diag(products) + once @ costs.square
        risk = single[:, None] + single[None, :] - 2 * products
        return alike, risk, tuned.CORRECTION * (once @ costs.excess)

    def _weights(self, log_posterior: Array) -> Array:
        weight: Array = np.exp(log_posterior - log_posterior.max()) * self.costs.fairness
        weight /= weight.sum()
        return weight


def _felt(weight: Array) -> npt.NDArray[np.int64]:
    """Return which curves' weights can be felt in a sum over all: about one in five."""
    return np.flatnonzero(weight > _UNFELT * weight.max())


def _log_sum(logarithms: Array) -> float:
    """Return the logarithm of the sum."""
    largest = float(logarithms.max())
    return largest + math.log(float(np.exp(logarithms - largest).sum()))


@dataclass(frozen=True, slots=True)
class _Costs:
    """What the curves cost at a given noise, and how well they may fit: a column for each.

    ``excess`` and ``square`` are those beyond all clip points, for one record at the anchor: a row
    for each shape, as curves of one shape differ by their ``levels`` alone.
    """

    noise: float
    levels: Array
    distances: Array
    excess: Array
    square: Array
    fairness: Array
    width: Array
    log_normalizer: Array

    def records(self, weight: Array) -> tuple[Array, Array]:
        """Return, for every shape, the records at the anchor and their square, by these weights."""
        by_shape = weight.reshape(len(self.levels), -1)
        return self.levels @ by_shape, self.levels**2 @ by_shape


@lru_cache(maxsize=4)  # the clip points and the interval look at the same counts
def _fit(counts: bytes, noise: float, final_noise: float) -> TailFit:
    costs = _costs(noise, final_noise)
    away = np.frombuffer(counts)[:, None] / noise - _curves().soft
    np.abs(away, out=away)
    away /= costs.width
    return TailFit(costs, costs.log_normalizer - away.sum(axis=0))


@lru_cache(maxsize=4)
def _costs(noise: float, final_noise: float) -> _Costs:
    """Return all that does not depend on the counts: the same for both sides and every release."""
    curves = _curves()
    near = int(np.searchsorted(curves.distances, 2.0**tuned.FARTHEST, side="right"))
    # With x records at the anchor a clip point costs x^2 excess^2 + x square + noise on the sum: a
    # product of matrices is by far the quickest way to that at all levels x.
    levels = curves.levels * noise
    powers = np.stack([levels**2, levels, np.full(len(levels), final_noise**2)], axis=1)
    least = (powers @ curves.costs).min(axis=0)
    width = np.sqrt(curves.misfit + curves.soft * (1 / (2 * noise)))
    return _Costs(
        noise,
        levels,
        curves.distances[:near],
        curves.shapes[:, :near],
        curves.squares[:, :near],
        fairness=least.ravel() ** -tuned.FAIRNESS,
        width=width,
        log_normalizer=-np.log(width.prod(axis=0)),
    )


@dataclass(frozen=True, slots=True)
class _Curves:
    """One row per curve, in units of the noise, and one column per clip point."""

    distances: Array
    soft: Array
    """One row per node, and one column per curve."""
    misfit: Array
    """The squared width of its errors if it is wrong by a part, and of noise: 1."""
    excess: Array
    levels: Array
    shapes: Array
    """The excess of every shape at a level of 1."""
    squares: Array
    costs: Array
    """For each clip point what every curve costs at a level of 1, in squares, and the sum."""
    log_prior: Array
    rest: Array
    """What lies beyond the last octave that clip points are judged by."""
    log_belief: Array
    """How much less an interval believes in a curve, as a mean that is asked for exists."""
    unbounded: npt.NDArray[np.bool_]
    """Whether a curve has no finite mean."""
    heaviness: Array
    """How much more of its excess lies beyond 16 anchors than T^-1.75 has there, as a logarithm."""


@lru_cache(maxsize=1)
def _curves() -> _Curves:
    shapes = [
        (start, curvature, prior)
        for start in tuned.START_SLOPES
        for curvature, prior in tuned.CURVATURES.items()
    ]
    levels = 2.0 ** np.concatenate([np.arange(*span) for span in tuned.LEVELS])
    # All integrals are trapezoidal sums over 4 FINE points per octave.
    steps = 4 * tuned.FINE
    anchor = (tuned.NODES_BELOW + 2) * steps
    octave, part = np.divmod(np.arange(-anchor, (tuned.NEARBY + 1) * steps + 1), steps)
    t = (1 + part / steps) * 2.0**octave
    log_t = np.log(t)
    slope = np.array([np.maximum(start + bend * log_t, 0.0) for start, bend, _ in shapes])
    fall = _running((slope[:, 1:] + slope[:, :-1]) / 2 * np.diff(log_t))
    beyond = np.exp(np.clip(fall[:, anchor : anchor + 1] - fall, -60.0, 8.0))
    area = _running((beyond[:, 1:] + beyond[:, :-1]) / 2 * np.diff(t))
    edges = beyond * t
    square = _running((edges[:, 1:] + edges[:, :-1]) * np.diff(t)) + t[0] ** 2 * beyond[:, :1]
    # A soft count is a second difference of the area: the share between two nodes, spread linearly.
    nodes = np.arange(-tuned.NODES_BELOW - 1, tuned.NEARBY + 2) * steps + anchor
    average = np.diff(area[:, nodes], axis=1) / np.diff(t[nodes])
    last = anchor + tuned.NEARBY * steps
    clip_points = np.arange(anchor - 2 * steps, last + 1, steps // tuned.FINE)
    excess, square = (area[:, -1:] - area)[:, clip_points], square[:, clip_points]
    distances = np.broadcast_to(t[clip_points], excess.shape)

    def at_all_levels(table: Array) -> Array:
        return (levels[:, None, None] * table).reshape(-1, table.shape[1])

    soft = at_all_levels(np.maximum(average[:, :-1] - average[:, 1:], 0.0)).T.copy()

    prior = np.array([weight for *_, weight in shapes])
    starts, bends, _ = np.array(shapes).T
    rest = beyond[:, -1] * t[-1] * _rest(starts, bends, log_t[-1])
    near, far = (area[:, -1] - area[:, anchor + octaves * steps] + rest for octaves in (0, 4))
    unbounded = (bends == 0) & (starts <= 1)
    belief = np.log([tuned.BELIEF.get(start, 1.0) for start in starts])
    return _Curves(
        distances=t[clip_points],
        soft=soft,
        misfit=1 + (tuned.MISFIT * soft) ** 2 / 2,
        excess=at_all_levels(excess),
        levels=levels,
        shapes=excess,
        squares=square,
        costs=np.stack([excess.T**2, square.T, distances.T**2], axis=1),
        log_prior=np.tile(np.log(prior / prior.sum() / len(levels)), len(levels)),
        rest=np.outer(levels, rest).ravel(),
        log_belief=np.tile(np.where(unbounded, belief, 0.0), len(levels)),
        unbounded=np.tile(unbounded, len(levels)),
        heaviness=np.tile(np.log(np.maximum(8 * far / near, 1.0)), len(levels)),
    )


def _rest(start: Array, bend: Array, log_t: float) -> Array:
    """Return the integrals of curves from t on, over t times their heights there.

    With s the slope at t it is that of exp(-(s - 1) u - bend u^2 / 2) over u >= 0.
    """
    falling = np.where(start > 1, start, tuned.LAST_SLOPE) - 1
    root = np.sqrt(np.where(bend > 0, bend, 1.0))
    bent = math.sqrt(2 * math.pi) / root * scaled_tail(np.abs(start + bend * log_t - 1) / root)
    return np.where(bend > 0, bent, 1 / falling)


def _running(parts: Array) -> Array:
    """Running sums that start at 0."""
    return np.concatenate([np.zeros((len(parts), 1)), np.cumsum(parts, axis=1)], axis=1)
