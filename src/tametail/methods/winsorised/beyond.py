"""How far apart the records clipped here and the records clipped there can be, on average.

One side of the centre at a time; the other one is its mirror image. Proofs:
docs/explanation/interval-proofs.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tametail.methods.winsorised import constants as tuned
from tametail.methods.winsorised.budget_split import is_cut_short
from tametail.methods.winsorised.reference import Answers
from tametail.methods.winsorised.tail_histogram import Array, Tails
from tametail.queries.column import SOFT_ONE

#: Sum over all whole numbers j of (1 + |j|)^-2.
OCTAVES_WEIGH = 2.29


@dataclass(frozen=True, slots=True)
class Side:
    """Bounds the distance of mean(r) from mean(y) that one clip point, U, accounts for.

    ``start`` is a distance from the centre, ``slack`` beyond U; ``first`` is a first, coarse bound
    of mu, and ``located`` says whether it came from the sum.
    """

    answers: Answers
    tails: Tails
    start: float
    slack: float
    first: float = math.inf
    located: bool = False

    @classmethod
    def of(cls, answers: Answers, tails: Tails) -> Side:
        """Look at the clip point above the centre, or the mirrored one below."""
        (low, high), (inner, outer) = answers.ends, answers.reference_ends
        centre, reference = answers.centre, answers.reference
        distance = answers.clip.above if answers.sign > 0 else answers.clip.below
        distance = max(min(distance, high - centre), 0.0)
        # A clip point at the centre would need the noise of all nodes down to the first.
        start = max(distance, (outer - inner) / answers.fewest)
        side = cls(answers, tails, start, start - distance, first=outer)
        if not reference.moves:
            return side
        outside, few = answers.shares
        margin = answers.noise + answers.total.rounding
        if answers.sign * answers.total.mean + margin < high - (high - low) * outside:
            # mu >= U + R would put all but a few records above U, and mean(y) near U.
            return replace(side, first=high + outer, located=True)
        records = tails.beyond(side._counts, reference.far, tuned.LOCATING * answers.risk.beyond)
        if records / answers.fewest + few < 1:
            # mu >= c + 2 far would put all but a few records beyond c + far.
            return replace(side, first=centre + 2 * reference.far)
        return replace(side, first=math.inf)

    def clipped(self, mu: float) -> float:
        """Bound the mean of (min(x, B) - U)+, if U lies inside the reference."""
        excess = self._end(mu) - self.answers.centre - self.start
        if self.answers.plan.tail is None or excess <= -self.slack:
            return 0.0
        return self.slack + self._excess(self.start, excess)

    def wide(self, mu: float) -> float:
        """Bound the mean of (min(x, U) - B)+, if U lies outside the reference."""
        outer = self._end(mu)
        excess = self.answers.ends[1] - outer
        if not self.answers.reference.moves or excess <= 0:
            return 0.0
        bound = self.answers.shares[0] * excess
        start = outer - self.answers.centre
        return min(bound, self._excess(start, excess)) if start > 0 else bound

    def _end(self, mu: float) -> float:
        """The reference's end B."""
        return self.answers.reference_ends[1] + (mu if self.answers.reference.moves else 0.0)

    def _excess(self, start: float, excess: float) -> float:
        """Bound the mean of (min(d, start + excess) - start)+ over the distances d of this side."""
        few = self.answers.shares[1] * max(excess, 0.0)
        return self._share(math.frexp(start)[1]) * per_count(start, excess) + few

    def _share(self, octave: int) -> float:
        """Bound the soft count at the nodes from 2^octave on, as a share of the records.

        Which octave is of interest depends on the noisy counts, so the risk is divided among all.
        """
        answers, node = self.answers, math.ldexp(1.0, min(octave, 1023))
        inner, outer = answers.reference_ends
        away = abs(octave - math.frexp(outer - inner)[1] + 2)
        risk = answers.risk.beyond / 2 / (OCTAVES_WEIGH * (1 + away) ** 2)
        far = answers.reference.far
        if not answers.reference.moves:
            farthest = outer - answers.centre
            if is_cut_short(answers.plan):  # whether there is a second look depends on the first
                risk *= tuned.EITHER_LOOK
        elif self.located:
            farthest, risk = node + outer + far, tuned.LOCATED * risk
        else:
            farthest, risk = max(node, 2 * far) + far, tuned.UNLOCATED * risk
        records = self.tails.beyond(self._counts, node, risk, farthest=farthest)
        return records / answers.fewest

    @property
    def _counts(self) -> Array:
        return self.tails.above if self.answers.sign > 0 else self.tails.below


def per_count(start: float, excess: float) -> float:
    """Bound (min(d, start + excess) - start)+ by a multiple of what d counts at higher nodes.

    In the octave 2^j of ``start`` a distance in the i-th sixteenth counts (2i + 1)/32 at the
    nodes above j, and beyond that octave it counts 1.

    >>> per_count(4.0, 100.0), round(per_count(6.0, 1.0), 2)
    (100.0, 1.39)
    """
    octave = math.ldexp(1.0, math.frexp(start)[1] - 1)
    needed = (
        min(octave * (17 + i) / 16 - start, excess) * SOFT_ONE / (2 * i + 1) for i in range(16)
    )
    return max(excess, 0.0, *needed)
