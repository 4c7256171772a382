"""AboveThreshold: its law and its cost by exact summation, and real draws."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from tametail.errors import ParameterError
from tametail.mechanisms.threshold import above_threshold

DIRECTIONS = ["at-or-above", "below"]
REACH = 150  # noise beyond this has probability below e^-30 in all tests


def output_law(counts, threshold, epsilon, share, direction):
    """Sum over the noise of the threshold; the tail of the other noise has a closed form."""
    first, second = share * epsilon, (1 - share) * epsilon
    p, q = math.exp(-first), math.exp(-second)

    def at_least(point):  # P(Z >= point)
        return q**point / (1 + q) if point > 0 else 1 - q ** (1 - point) / (1 + q)

    law = dict.fromkeys([*range(len(counts)), None], 0.0)
    for w in range(-REACH, REACH + 1):
        left = (1 - p) / (1 + p) * p ** abs(w)
        for index, count in enumerate(counts):
            above = at_least(threshold + w - count)
            stop = above if direction == "at-or-above" else 1 - above
            law[index] += left * stop
            left *= 1 - stop
        law[None] += left
    return law


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("counts", [[1, 3, 5, 8], [8, 6, 3, 0], [4]])
def test_answers_follow_the_law(counts, direction):
    total = 1500
    drawn = Counter(
        above_threshold(counts, 5, 1.0, share=0.6, direction=direction) for _ in range(total)
    )
    law = output_law(counts, 5, 1.0, 0.6, direction)
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    expected = np.array(list(law.values())) * total
    assert stats.chisquare([drawn[answer] for answer in law], expected).pvalue > 1e-7


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("share", [0.5, 0.75])
def test_no_pair_of_neighbours_sees_a_ratio_above_epsilon(share, direction):
    epsilon, worst = 1.0, 0.0
    for counts in itertools.product([0, 3, 9], repeat=3):
        law = output_law(counts, 4, epsilon, share, direction)
        for moves in itertools.product([0, 1], repeat=3):
            moved = [count + move for count, move in zip(counts, moves, strict=True)]
            neighbour = output_law(moved, 4, epsilon, share, direction)
            ratios = [abs(math.log(law[answer] / neighbour[answer])) for answer in law]
            worst = max(worst, *ratios)
    assert worst <= epsilon + 1e-9


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_cost_is_tight_and_counts_that_move_both_ways_exceed_it(direction):
    # Many counts that all move, and one that stops and does not: the loss is close to epsilon.
    sign = 1 if direction == "at-or-above" else -1
    one = [-6 * sign] * 400 + [-30 * sign]
    other = [count + sign for count in one[:-1]] + [one[-1]]
    opposite = [count + sign for count in one[:-1]] + [one[-1] - sign]
    laws = [output_law(counts, 0, 1.0, 0.75, direction) for counts in (one, other, opposite)]
    assert 0.9 < math.log(laws[0][400] / laws[1][400]) <= 1 + 1e-9
    assert math.log(laws[0][400] / laws[2][400]) > 1


def test_counts_are_read_only_as_far_as_needed():
    read = []

    def counts():
        for value in itertools.count(0, 1000):
            read.append(value)
            yield value

    assert above_threshold(counts(), 99_500, 10.0) == 100
    assert len(read) == 101


def test_many_counts_use_many_batches_of_noise():
    assert above_threshold([0] * 1000, 10_000, 1.0) is None
    assert above_threshold([10**30] * 300 + [0], 10**20, 1.0, direction="below") == 300


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": 1.0, "share": 1.0}, "share=1.0"),
        ({"epsilon": 1.0, "direction": "up"}, "direction='at-or-above' or direction='below'"),
    ],
)
def test_mistakes_say_what_to_write(arguments, message):
    with pytest.raises(ParameterError, match=message):
        above_threshold([1, 2], 1, **arguments)
