"""The bucket that most records are near: what is counted, and what candidates weigh beforehand."""

from __future__ import annotations

from dataclasses import dataclass

from tametail.privacy.adjacency import Adjacency
from tametail.queries.column import Buckets

#: Keys up to here are exact as doubles, and so are their octaves.
LARGEST_KEY = 2**52

#: Octaves of keys up to which falling candidates weigh all the same, and up to which every octave
#: has the same mass; beyond, a candidate's weight falls with the third power of its key.
_FLAT, _EVEN, _MOST = 6, 16, 53


@dataclass(frozen=True, slots=True)
class DensestBin(Buckets):
    """The counts of :class:`Buckets`, for a choice of the bucket that most records are near.

    A record that is m buckets away from a candidate adds ``weights[m]`` to its score: most, the
    ``peak``, up to a third of ``reach``, and from there ever less until 0 at ``reach``. Candidates
    are ``low..high``; if they are ``falling``, those far from 0 weigh less beforehand.

    >>> DensestBin(inverse_width=1.0, low=-9, high=9, reach=6, falling=False).weights
    (16, 16, 16, 15, 12, 7)
    """

    reach: int
    falling: bool

    @property
    def weights(self) -> tuple[int, ...]:
        """What a record adds to the score of a candidate, by its distance in buckets."""
        flat = self.reach // 3
        return tuple(
            (self.reach - flat) ** 2 - max(away - flat, 0) ** 2 for away in range(self.reach)
        )

    @property
    def peak(self) -> int:
        """The most that a record can add to a score."""
        return (self.reach - self.reach // 3) ** 2

    def score_sensitivity(self, adjacency: Adjacency) -> int:  # noqa: ARG002 - the same for both units
        """The peak: every record adds between 0 and that to every score."""
        return self.peak


def mass_of(query: DensestBin) -> int:
    """Return the weight of all candidates.

    >>> mass_of(DensestBin(inverse_width=1.0, low=-100, high=100, reach=6, falling=False))
    201
    """
    spans = octave_spans(query).items()
    return sum(
        weight_of(octave) * (last - first + 1) for octave, ends in spans for first, last in ends
    )


def octave_spans(query: DensestBin) -> dict[int, list[tuple[int, int]]]:
    """Return the candidates of every octave, as ranges; all are in -1 if they weigh the same.

    >>> octave_spans(DensestBin(inverse_width=1.0, low=-2, high=1, reach=6, falling=True))
    {0: [(0, 0)], 1: [(-1, -1), (1, 1)], 2: [(-2, -2)]}
    """
    if not query.falling:
        return {-1: [(query.low, query.high)]}
    found: dict[int, list[tuple[int, int]]] = {}
    for octave in range(_MOST + 1):
        least, most = (1 << octave) >> 1, (1 << octave) - 1
        both = [(-most, -least), (least, most)] if octave else [(0, 0)]
        cut = [(max(first, query.low), min(last, query.high)) for first, last in both]
        if ends := [(first, last) for first, last in cut if first <= last]:
            found[octave] = ends
    return found


def weight_of(octave: int) -> int:
    """The weight of every candidate of an octave; -1 stands for candidates that weigh the same.

    >>> [weight_of(octave).bit_length() - 1 for octave in (-1, 0, 6, 7, 16, 17, 53)]
    [0, 121, 121, 120, 111, 108, 0]
    """
    if octave < 0:
        return 1
    return 1 << (_EVEN - _FLAT + 3 * (_MOST - _EVEN)) - (
        min(max(octave - _FLAT, 0), _EVEN - _FLAT) + 3 * max(octave - _EVEN, 0)
    )
