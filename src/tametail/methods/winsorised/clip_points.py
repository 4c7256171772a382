"""The clip points: what is chosen once and used by all that follows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clip:
    """Records are clipped to [centre - below, centre + above]; both are 0 if nothing is seen.

    Both are on edges of sixteenths of octaves, where ``DistanceSum`` can clip.

    ``excess`` is what to add to the sum for what clipping takes away, ``offset`` estimates the
    distance of the mean from the centre, give or take ``doubt``. If it is to be ``counted``, the
    mean may be so far from there that the count beside the sum matters under both units.
    ``anchors`` are the highest nodes where records are seen.
    """

    centre: float
    below: float
    above: float
    excess: float = 0.0
    offset: float = 0.0
    doubt: float = 0.0
    counted: bool = False
    anchors: tuple[int | None, int | None] = (None, None)

    @property
    def side(self) -> float:
        """The larger distance of a clip point from the centre."""
        return max(self.below, self.above)

    @property
    def sees(self) -> bool:
        """Whether any records stand out of the noise."""
        return self.anchors != (None, None)
