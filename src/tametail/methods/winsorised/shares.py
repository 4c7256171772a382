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

from tametail.inequalities.lognormal import lognormal_excess
from tametail.methods.winsorised import constants as tuned
from tametail.privacy.budget import Budget, Zcdp, noise_for
from tametail.privacy.unit import Unit
from tametail.queries.column import MOST_HALVINGS

Array = npt.NDArray[np.float64]

_CENTRES_TRIED, _TAIL_STEP = 60, 0.01


def halvings(n: int) -> int:
    """Return how often to halve n records to get a sample for the centre.

    >>> halvings(1_000), halvings(100_000)
    (0, 6)
    """
    least = tuned.CENTRE_SAMPLE if n < tuned.MANY else tuned.CENTRE_SAMPLE // 2
    return min(max(0, (n // least).bit_length() - 1), MOST_HALVINGS)


def sample_halvings(n: int, counted: float, doubt: float) -> int:
    """Return how often to halve the records, if n is a guess and a noisy count was asked for.

    The rate follows the larger of the guess and what the count says at least, and is low enough for
    what it says at most; ``doubt`` is how far the count may be off. No sample is cut at a size:
    that would depend on other records.

    >>> sample_halvings(1_000, 8e6, 3e3), sample_halvings(1_000, 900.0, 3e3)
    (13, 0)
    >>> sample_halvings(1_000, -4e8, 3e9)  # almost no budget: the count says nothing
    12
    """
    least = halvings(max(n, math.floor(counted - doubt)))
    most = math.ceil((counted + doubt) / tuned.LARGEST_SAMPLE)
    return min(max(least, (most - 1).bit_length() if most > 1 else 0), MOST_HALVINGS)


def spread_share(budget: Budget, n: int) -> float:
    """Return the share of the second moment, which an interval needs, beside the others.

    >>> from tametail.privacy.budget import pure
    >>> [round(spread_share(pure(1.0), n), 2) for n in (1_000, 100_000, 10**7)]
    [0.06, 0.03, 0.02]
    """
    strength = _rounded(max(n, 1)) * budget.strength
    wanted: float = tuned.MOST_SPREAD * (tuned.SPREAD_FROM / strength) ** tuned.SPREAD_POWER
    return min(max(wanted, tuned.LEAST_SPREAD), tuned.MOST_SPREAD)


def shares(budget: Budget, unit: Unit, n: int) -> dict[str, float]:
    """Return the shares of centre, tail and sum with the least predicted error.

    They add up to 1.

    >>> from tametail.privacy.budget import pure
    >>> {name: round(share, 2) for name, share in shares(pure(1.0), Unit.ADD_REMOVE, 900).items()}
    {'centre': 0.06, 'tail': 0.25, 'sum': 0.69}
    """
    least, tail = _least(isinstance(budget, Zcdp), budget.strength, unit, _rounded(max(n, 1)))
    # Nothing else can be used without a centre.
    centre = max(least, min(share_of_nats(tuned.NEEDED_NATS, budget, unit, n), tuned.MOST_ALONE))
    tail *= (1 - centre) / (1 - least)
    return {"centre": centre, "tail": tail, "sum": 1.0 - centre - tail}


def share_of_nats(nats: float, budget: Budget, unit: Unit, n: int) -> float:
    """Return the share at which a median stands out of all that is elsewhere by so many nats."""
    power, each = _evidence(isinstance(budget, Zcdp), n)
    strength = max(n, 1) * budget.strength * each * 2 / unit.changes
    return float((nats / strength) ** (1 / power))


def nats_of_share(share: float, budget: Budget, unit: Unit, n: int) -> float:
    """Undo :func:`share_of_nats`.

    >>> from tametail.privacy.budget import pure
    >>> nats_of_share(0.1, pure(1.0), Unit.REPLACE_ONE, 1000)
    25.0
    """
    power, each = _evidence(isinstance(budget, Zcdp), n)
    return float(max(n, 1) * budget.strength * each * 2 / unit.changes * share**power)


def _evidence(concentrated: bool, n: int) -> tuple[float, float]:
    """Return p and c: a median stands out by c n epsilon f^p nats, under replace-one.

    Under add-remove a score falls twice as fast.
    """
    # The exponential mechanism of range e costs e^2/8 in zCDP, on a sample e^2/2.
    return (0.5, 0.25 if halvings(n) else 0.5) if concentrated else (1.0, 0.25)


def is_hopeless(budget: Budget, unit: Unit, n: int, part: float) -> bool:
    """Say whether counts by octaves would show next to nothing of n records.

    Records are seen where a window of octaves holds some twenty noise scales. If that is more than
    this ``part`` of all records, the look is paid for in vain.
    """
    noise = noise_for(budget.share(tuned.LEAST_TAIL), unit.changes, unit.changes)
    scale = math.sqrt(noise.variance / 2)
    threshold = tuned.THRESHOLD if noise.kind == "laplace" else tuned.GAUSSIAN_THRESHOLD
    return threshold * scale > part * n


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
    centres = np.geomspace(tuned.LEAST_CENTRE, tuned.MOST_CENTRE, _CENTRES_TRIED)[:, None]
    tails = np.arange(tuned.LEAST_TAIL, tuned.MOST_TAIL, _TAIL_STEP)[None, :]
    replaced = unit.changes
    if concentrated:
        deviation, rank = 1.0, tuned.GAUSSIAN_CLIP_RANK * math.sqrt(replaced)
    else:
        deviation, rank = math.sqrt(2), tuned.CLIP_RANK * math.sqrt(2) * replaced
    power, each = _evidence(concentrated, n)
    evidence = n * strength * each * centres**power * 2 / replaced
    clip, bias = _reference(np.minimum(rank / (n * strength * tails**power), 0.25))
    rest = np.maximum(1.0 - centres - tails, tuned.LEAST_SUM)
    noise = deviation * clip / (n * strength * rest**power)
    failure = tuned.FAILURE * max(tuned.HOPELESS / (n * strength), 1.0) ** 2
    error = (bias / 2) ** 2 + noise**2 + failure * np.exp(-evidence / tuned.NATS)
    error[rest <= tuned.LEAST_SUM] = np.inf
    row, column = np.unravel_index(np.argmin(error), error.shape)
    return float(centres[row, 0]), float(tails[0, column])


def _reference(beyond: Array) -> tuple[Array, Array]:
    """Return the clip points beyond which these shares of the reference law lie, and the biases.

    With z the normal quantile they are clipped at e^(sigma z).
    """
    z = -np.array([NormalDist().inv_cdf(share) for share in beyond.ravel()]).reshape(beyond.shape)
    clip = np.exp(tuned.SIGMA * z)
    bias = np.array([lognormal_excess(tuned.SIGMA, point) for point in clip.ravel()])
    return clip, bias.reshape(z.shape)
