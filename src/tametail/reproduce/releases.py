"""Releases of the default estimator as the theorems have them: replace-one, a known moment."""

from __future__ import annotations

from typing import Unpack

from tametail.api.means import mean
from tametail.reproduce.trials import Numbers
from tametail.tail import Moment


def moment_releases(
    records: object,
    count: int,
    *,
    k: float,
    scale: float = 1.0,
    within: float | None = None,
    neighbors: str = "replace-one",
    **budget: Unpack[Numbers],
) -> list[float]:
    """Release the mean ``count`` times, told a moment and where the mean is: within one scale.

    >>> len(moment_releases([2.0] * 1000, 2, k=2, scale=5.0, epsilon=1.0))
    2
    """
    return [
        float(
            mean(
                records,
                tail=Moment(k, scale),
                within=scale if within is None else within,
                neighbors=neighbors,
                missing="none",
                confidence=None,
                **budget,
            )
        )
        for _ in range(count)
    ]
