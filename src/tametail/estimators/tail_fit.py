"""From noisy octave counts to clip points: post-processing, no data.

To be replaced by the outcome of the accuracy research.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_FINE = 16
_BELOW, _ABOVE = 2, 5
_LN2 = math.log(2)


@dataclass(frozen=True, slots=True)
class Side:
    """A clip point, as a distance from the centre, and the excess expected beyond it."""

    distance: float
    excess: float


@dataclass(frozen=True)
class _Shapes:
    distances: Array
    survival: Array
    slopes: Array
    curvature: Array
    soft: Array
    log_prior: Array
    levels: Array
    anchor: int


@lru_cache(maxsize=1)
def _shapes() -> _Shapes:
    slopes0 = (0.45, 0.7, 0.95, 1.2, 1.6, 2, 2.6, 3.5, 5, 8)
    curves = (
        (0, 0.3),
        (0.3, 0.2),
        (0.7, 0.15),
        (1.5, 0.1),
        (3, 0.08),
        (7, 0.07),
        (15, 0.05),
        (40, 0.05),
    )
    family = [(s, g, p) for s in slopes0 for g, p in curves if s + 0.7 * g >= 0.65]
    anchor = (_BELOW + 2) * _FINE
    x = np.arange(-anchor, (_ABOVE + 1) * _FINE + 1) / _FINE * _LN2
    t = np.exp(x)
    slope = np.array([np.maximum(s + g * x, 0) for s, g, _ in family])
    steps = np.cumsum((slope[:, 1:] + slope[:, :-1]) / 2 * np.diff(x), axis=1)
    log_m = -np.concatenate([np.zeros((len(family), 1)), steps], axis=1)
    m = np.exp(np.clip(log_m - log_m[:, anchor : anchor + 1], -60, 8))
    area = np.concatenate(
        [np.zeros((len(family), 1)), np.cumsum((m[:, 1:] + m[:, :-1]) / 2 * np.diff(t), axis=1)],
        axis=1,
    )
    k = np.arange(-(_BELOW + 1), _ABOVE + 2) * _FINE + anchor
    average = np.diff(area[:, k], axis=1) / np.diff(t[k])
    log_prior = np.log([p for *_, p in family])
    log_prior -= np.log(np.exp(log_prior).sum())
    return _Shapes(
        t,
        m,
        slope,
        np.array([g for _, g, _ in family]),
        average[:, :-1] - average[:, 1:],
        log_prior,
        2.0 ** np.arange(-3, 11, 0.5),
        anchor,
    )


def clip_point(nodes: Array, first: int, noise: float, target: float) -> Side | None:
    """Return where to clip one side; None if nothing stands above the noise."""
    window = 4
    sums = np.concatenate([[0.0], np.cumsum(np.concatenate([nodes, np.zeros(window)]))]) / noise
    above = sums[window : window + len(nodes)] - sums[: len(nodes)]
    octaves = np.arange(first, first + len(nodes))
    found = np.flatnonzero(above >= 20 + np.abs(octaves - 5) / 12)
    if not len(found):
        return None
    anchor = base = int(found[-1])
    for step in range(1, 9):
        if base + step < len(nodes) and above[base + step] >= 10 + 2 * step:
            anchor = base + step
    index = anchor + np.arange(-_BELOW, _ABOVE + 1)
    seen = np.where(
        (index >= 0) & (index < len(nodes)), nodes[np.clip(index, 0, len(nodes) - 1)], 0.0
    )
    distance, excess = _fit(seen, noise, target)
    scale = 2.0 ** (first + anchor)
    return Side(distance * scale, excess * distance * scale)


def _fit(seen: Array, noise: float, target: float) -> tuple[float, float]:
    shapes = _shapes()
    power = 0.25
    expected = (noise * shapes.levels[:, None, None] * shapes.soft).reshape(
        -1, shapes.soft.shape[1]
    )
    width = np.sqrt(noise**2 + expected / 2 + (0.27 * expected) ** 2 / 2)
    log_like = np.tile(shapes.log_prior, len(shapes.levels)) - np.log(width).sum(1)
    log_like -= (np.abs(seen - expected) / width).sum(1)
    weight = np.exp(log_like - log_like.max())
    weight = (weight / weight.sum()).reshape(len(shapes.levels), -1)
    by_shape = ((noise * shapes.levels) ** power) @ weight
    beyond = (by_shape @ shapes.survival**power) ** (1 / power)
    hit = beyond <= target
    hit[: 2 * _FINE] = False
    hit[shapes.anchor + _ABOVE * _FINE :] = True
    i = int(np.argmax(hit))
    slope = np.maximum(shapes.slopes[:, i], 2.5) - 1 + 0.5 * np.sqrt(shapes.curvature)
    excess = (by_shape @ (shapes.survival[:, i] / slope) ** power) ** (1 / power)
    return float(shapes.distances[i]), float(excess)
