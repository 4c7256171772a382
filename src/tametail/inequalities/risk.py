"""How the allowed probability of missing is divided among the parts of an interval."""

from __future__ import annotations

from dataclasses import dataclass

#: Most goes to sampling: it dominates, and the others cost only a logarithm.
SAMPLING, NOISE, SPREAD, BEYOND = 0.76, 0.06, 0.06, 0.12


@dataclass(frozen=True, slots=True)
class Risk:
    """Probabilities with which sampling, noise, spread and clipping may exceed their bounds."""

    sampling: float
    noise: float
    spread: float
    beyond: float


def split_risk(total: float, *, sampled: bool = True) -> Risk:
    """Divide the probability of missing; noise has what sampling does not need.

    >>> split_risk(0.5).sampling
    0.38
    >>> split_risk(0.5, sampled=False).noise
    0.44
    """
    if not sampled:
        return Risk(sampling=0.0, noise=(1 - BEYOND) * total, spread=0.0, beyond=BEYOND * total)
    return Risk(
        sampling=SAMPLING * total, noise=NOISE * total, spread=SPREAD * total, beyond=BEYOND * total
    )
