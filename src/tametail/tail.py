"""What the caller is willing to say about the records (tails) and about the mean (within)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

from tametail._json import Json
from tametail._shown import shown
from tametail._validate import finite_number, number, positive
from tametail.errors import ParameterError

#: Scales beyond these would overflow in a fourth power.
_SMALLEST, _LARGEST = 1e-60, 1e60

#: Bounds that are closer leave no room for a lattice of doubles between them.
_NARROWEST = 1e-300

#: Moments beyond this one say no more than bounds do.
_HIGHEST_MOMENT = 100.0


@dataclass(frozen=True, slots=True)
class Moment:
    """The k-th central moment is bounded: ``E|X - mean|**k <= scale**k``.

    The paper's assumption, with its remark on M and sigma: ``scale = M * sigma``.
    ``Moment(2, s)`` says that the standard deviation is at most s.

    >>> Moment(2, 1000)
    Moment(k=2.0, scale=1000.0)
    """

    k: float
    scale: float

    def __post_init__(self) -> None:
        k = finite_number(k=self.k)
        if k <= 1:
            raise ParameterError(
                f"k={shown(self.k)} is too small. Use k > 1, such as Moment(2, scale) for a "
                "maximum standard deviation."
            )
        if k > _HIGHEST_MOMENT:
            raise ParameterError(
                f"k={shown(self.k)} is above {_HIGHEST_MOMENT:g}. Use a smaller k, or Bounded(low, "
                "high) if the data are bounded."
            )
        scale = positive(scale=self.scale)
        if not _SMALLEST <= scale <= _LARGEST:
            raise ParameterError(
                f"scale={shown(self.scale)} is outside {_SMALLEST:g} to {_LARGEST:g}. Convert the "
                "data to other units."
            )
        object.__setattr__(self, "k", k)
        object.__setattr__(self, "scale", scale)

    def to_dict(self) -> dict[str, object]:
        """Return a JSON-ready description."""
        return {"kind": "moment", "k": self.k, "scale": self.scale}


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Bounded:
    """Every record lies in [low, high].

    None leaves a side open: amounts that are never negative are ``Bounded(0, None)``. Only that
    side is then bounded; the other one is as without a tail.

    >>> Bounded(0, 120), Bounded(0, None)
    (Bounded(low=0.0, high=120.0), Bounded(low=0.0, high=None))
    """

    low: float
    high: float

    def __init__(self, low: float | None, high: float | None) -> None:
        if low is None and high is None:
            raise ParameterError(
                "Bounded(None, None) has no bound. Give at least one, or remove the assumption."
            )
        ends = -math.inf, math.inf
        found = (
            ends[0] if low is None else finite_number(low=low),
            ends[1] if high is None else finite_number(high=high),
        )
        if found[0] >= found[1]:
            raise ParameterError(
                f"low={shown(low)} is not below high={shown(high)}. Use Bounded(low, high) with "
                "low < high."
            )
        if max(abs(end) for end in found if math.isfinite(end)) > _LARGEST:
            raise ParameterError(
                f"low={shown(low)} or high={shown(high)} is larger than {_LARGEST:g}. Convert the "
                "data to other units."
            )
        if found[1] - found[0] < _NARROWEST:
            raise ParameterError(
                f"low={shown(low)} and high={shown(high)} differ by less than {_NARROWEST:g}. "
                "Convert the data to other units."
            )
        object.__setattr__(self, "low", found[0])
        object.__setattr__(self, "high", found[1])

    @property
    def one_sided(self) -> bool:
        """Whether a side is open."""
        return math.isinf(self.low) or math.isinf(self.high)

    @property
    def said(self) -> tuple[float | None, float | None]:
        """Both ends, None for an open one."""
        low, high = (end if math.isfinite(end) else None for end in (self.low, self.high))
        return low, high

    def __repr__(self) -> str:
        return "Bounded(low={!r}, high={!r})".format(*self.said)

    def to_dict(self) -> dict[str, object]:
        """Return a JSON-ready description; an open end is null."""
        low, high = self.said
        return {"kind": "bounded", "low": low, "high": high}


Tail = Moment | Bounded | None


def parse_tail(value: object) -> Tail:
    """Return ``value`` if it is a tail, else say what one looks like."""
    if value is None or isinstance(value, Moment | Bounded):
        return value
    raise ParameterError(
        f"Invalid tail={shown(value)}. Use tail=Moment(2, scale) or tail=Bounded(low, high), or "
        "remove it."
    )


def tail_from_dict(record: Json | None) -> Tail:
    """Undo ``to_dict``."""
    if record is None:
        return None
    if record["kind"] == "moment":
        return Moment(record["k"], record["scale"])
    return Bounded(record["low"], record["high"])


def parse_within(value: object) -> tuple[float, float]:
    """Return (low, high) for the *mean* from R, (low, high) or None.

    >>> parse_within(1e6)
    (-1000000.0, 1000000.0)
    >>> parse_within((0, math.inf))
    (0.0, inf)
    """
    if value is None:
        return -math.inf, math.inf
    if isinstance(value, tuple | list):
        if len(value) != 2 or not all(isinstance(end, Real) for end in value):
            raise ParameterError(
                f"Invalid within={shown(value)}. Use within=R or within=(low, high)."
            )
        low, high = number(low=value[0]), number(high=value[1])
        if not low < high:
            raise ParameterError(
                "The range of within= is empty. Use within=(low, high) with low < high."
            )
        return low, high
    radius = number(within=value)
    if radius <= 0:
        raise ParameterError(
            f"Invalid within={shown(value)}. Use within=R with R > 0 for a mean in [-R, R], or "
            "within=(low, high)."
        )
    return -radius, radius
