"""AboveThreshold: the first of many counts that crosses a threshold, at the price of one question.

The counts must move one way: whatever changes from one neighbour to the other, either no count
falls or no count rises, and none moves by more than 1. Counts of records beyond a rising sequence
of points are of this kind for both units of protection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, get_args

from tametail._validate import one_of, probability
from tametail.mechanisms.noise import add_laplace
from tametail.privacy.budget import Pure

Direction = Literal["at-or-above", "below"]

BATCH = 64
"""Noises drawn at a time: one call to OpenDP costs as much as some ten noises."""


def above_threshold(
    counts: Iterable[int],
    threshold: int,
    epsilon: float,
    *,
    share: float = 0.75,
    direction: Direction = "at-or-above",
) -> int | None:
    """Return the index of the first count that crosses a threshold, with noise on both.

    With W discrete Laplace of scale 1 / e1 drawn once, and Z_i discrete Laplace of scale 1 / e2
    drawn for each count, the answer is the first i with

        counts[i] + Z_i >= threshold + W    for "at-or-above",
        counts[i] + Z_i <  threshold + W    for "below",

    and None if there is none. Here e1 = share * epsilon and e1 + e2 <= epsilon.

    Parameters
    ----------
    counts
        Integers that move one way by at most 1. Read one by one, and only as far as needed.
    threshold
        A public integer.
    epsilon
        What the answer costs, however many counts are read.
    share
        The part of epsilon for the threshold. Its noise is common to all steps, so an unlucky one
        is not made good by a later step: it deserves most of the budget.
    direction
        Whether to stop at the first noisy count at or above the noisy threshold, or below it.

    Notes
    -----
    **Formal guarantee**: epsilon-DP, hence epsilon^2 / 2-zCDP, for every unit of protection under
    which the counts move one way by at most 1. See ``docs/proofs/above-threshold.md``.

    Examples
    --------
    >>> above_threshold([3, 8, 120, 950], threshold=100, epsilon=1000.0)
    2
    >>> above_threshold([950, 120, 8, 3], threshold=100, epsilon=1000.0, direction="below")
    2
    >>> above_threshold([3, 8], threshold=100, epsilon=1000.0) is None
    True
    """
    one_of(get_args(Direction), direction=direction)
    # The parts never add up to more than epsilon.
    e1, e2 = Pure(epsilon).split(probability(share=share), 1 - share)
    (noisy_threshold,) = add_laplace([threshold], 1, e1.epsilon)
    noises = _noises(e2.epsilon)
    stop_when_above = direction == "at-or-above"
    for index, count in enumerate(counts):
        is_above = count + next(noises) >= noisy_threshold
        if is_above == stop_when_above:
            return index
    return None


def _noises(epsilon: float) -> Iterator[int]:
    """Yield discrete Laplace noises of scale 1 / epsilon, without end."""
    while True:
        yield from add_laplace([0] * BATCH, 1, epsilon)
