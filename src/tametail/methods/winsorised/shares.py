"""How a plan divides its budget between the steps: by the least predicted error.

The prediction is about a reference law, lognormal with sigma = 1.5, between light and heavy tails,
and uses public numbers alone. With shares f1, f2, f3 of centre, tail and sum,

    error^2 = (bias/2)^2 + noise^2 + failure:

* the octave counts show the tail down to a rank of about their noise, which f2 decides: records are
  clipped where as many are expected beyond, and half of the bias is corrected;
* noise: that on the sum at this clip point, with f3;
* failure: a median must stand out among all doubles by as many nats as its digits take. f1 pays for
  some; the share of columns that need more is taken to fall by a factor e every four nats.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from tametail.privacy.budget import Budget, Zcdp
from tametail.privacy.unit import Unit

Array = npt.NDArray[np.float64]

#: The private count of add-remove, when the caller gives no n.
COUNT_SHARE = 0.015

#: The second moment for the interval: more where its noise makes the interval wide.
LEAST_SPREAD, MOST_SPREAD = 0.02, 0.06

#: The reference law is lognormal with this sigma and median 1.
SIGMA = 1.5

#: Records are clipped at the rank of so many standard deviations of the noise on a count: of
#: Laplace noise, and of Gaussian noise, which is far smaller.
CLIP_RANK, GAUSSIAN_CLIP_RANK = 0.8, 1.4

#: Squared error when the centre fails, in squared medians, and nats per factor e. Below an
#: n epsilon of HOPELESS a failure is seldom noticed, or cannot be made good, and costs more.
FAILURE, NATS = 0.3, 4.0
HOPELESS = 500.0

#: The shares that are tried. With less than a quarter for the tail, real columns did worse than
#: predicted, and so did intervals.
LEAST_CENTRE, MOST_CENTRE, LEAST_SUM = 0.01, 0.6, 0.1
_CENTRES = np.geomspace(LEAST_CENTRE, MOST_CENTRE, 60)[:, None]
_TAILS = np.arange(0.25, 0.5, 0.01)[None, :]

#: How the sum's budget is divided if the first centre was misplaced: then digits are what it takes.
NEW_CENTRE = {"centre": 0.3, "tail": 0.28, "sum": 0.42}

#: Records that the centre looks at; more are sampled down to between this and twice this. Of many
#: records half as many will do: their sample may spend far more.
CENTRE_SAMPLE = 1024
MANY = 1 << 17

#: Far beyond any data, and far within what the sampler can count.
MOST_HALVINGS = 40


def halvings(n: int) -> int:
    """Return how often to halve n records to get a sample for the centre.

    >>> halvings(1_000), halvings(100_000)
    (0, 6)
    """
    least = CENTRE_SAMPLE if n < MANY else CENTRE_SAMPLE // 2
    return min(max(0, (n // least).bit_length() - 1), MOST_HALVINGS)


def spread_share(budget: Budget, n: int) -> float:
    """Return the share of the second moment, which an interval needs, beside the others.

    >>> from tametail.privacy.budget import pure
    >>> [round(spread_share(pure(1.0), n), 2) for n in (1_000, 100_000, 10**7)]
    [0.06, 0.03, 0.02]
    """
    wanted: float = MOST_SPREAD * (1e4 / (max(n, 1) * budget.strength)) ** 0.3
    return min(max(wanted, LEAST_SPREAD), MOST_SPREAD)


def shares(budget: Budget, unit: Unit, n: int) -> dict[str, float]:
    """Return the shares of centre, tail and sum with the least predicted error.

    They add up to 1.

    >>> from tametail.privacy.budget import pure
    >>> {name: round(share, 2) for name, share in shares(pure(1.0), Unit.ADD_REMOVE, 900).items()}
    {'centre': 0.06, 'tail': 0.25, 'sum': 0.69}
    """
    centre, tail = _least(isinstance(budget, Zcdp), budget.strength, unit, _rounded(max(n, 1)))
    return {"centre": centre, "tail": tail, "sum": 1.0 - centre - tail}


def _rounded(n: int) -> int:
    """Round down to four bits: a noisy count then finds in memory what the last one led to.

    >>> [_rounded(n) for n in (9, 1000, 1030)]
    [9, 960, 1024]
    """
    spare = max(n.bit_length() - 4, 0)
    return n >> spare << spare


@lru_cache(maxsize=256)
@np.errstate(under="ignore")
def _least(concentrated: bool, strength: float, unit: Unit, n: int) -> tuple[float, float]:
    replaced = 2 if unit is Unit.REPLACE_ONE else 1
    if concentrated:
        # Gaussian noise; the exponential mechanism of range e costs e^2/8, on a sample e^2/2.
        power, deviation, rank = 0.5, 1.0, GAUSSIAN_CLIP_RANK * math.sqrt(replaced)
        evidence = n * strength * (0.25 if halvings(n) else 0.5) * np.sqrt(_CENTRES)
    else:
        power, deviation, rank = 1.0, math.sqrt(2), CLIP_RANK * math.sqrt(2) * replaced
        evidence = n * strength * _CENTRES / 4
    evidence = evidence * 2 / replaced  # under add-remove a score falls twice as fast
    clip, bias = _reference(np.minimum(rank / (n * strength * _TAILS**power), 0.25))
    rest = np.maximum(1.0 - _CENTRES - _TAILS, LEAST_SUM)
    noise = deviation * clip / (n * strength * rest**power)
    failure = FAILURE * max(HOPELESS / (n * strength), 1.0) ** 2
    error = (bias / 2) ** 2 + noise**2 + failure * np.exp(-evidence / NATS)
    error[rest <= LEAST_SUM] = np.inf
    row, column = np.unravel_index(np.argmin(error), error.shape)
    return float(_CENTRES[row, 0]), float(_TAILS[0, column])


def _reference(beyond: Array) -> tuple[Array, Array]:
    """Return the clip points beyond which these shares of the reference law lie, and the biases.

    With z the normal quantile: clip at t = e^(sigma z), E(X - t)+ = e^(sigma^2/2) Phi(sigma - z)
    - t Phi(-z).
    """
    normal = NormalDist()
    z = -np.array([normal.inv_cdf(share) for share in beyond.ravel()]).reshape(beyond.shape)
    upper = np.array([normal.cdf(SIGMA - point) for point in z.ravel()]).reshape(z.shape)
    clip = np.exp(SIGMA * z)
    return clip, math.exp(SIGMA**2 / 2) * upper - clip * beyond
