"""The columns of a request: what is assumed of their records, and where their means can be."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeVar

from tametail._json import Json
from tametail.errors import ParameterError
from tametail.tail import Bounded, Tail, parse_tail, parse_within

Range = tuple[float, float]
Kind = TypeVar("Kind")

#: Where a mean can be of which nothing is said.
EVERYWHERE: Final[Range] = parse_within(None)


@dataclass(frozen=True, slots=True)
class Column:
    """A column, what is assumed about its records, and where its mean can be.

    Bounds with an open side stand in ``half``: they bound no tail, so that methods go on as without
    one, and clip at the bound.
    """

    name: str
    tail: Tail = None
    within: Range = EVERYWHERE
    half: Bounded | None = None
    units: str | None = None
    """What its numbers are measured in, if its declared type says so: "s" for durations."""
    is_condition: bool = False
    """Whether it is a condition, so that its mean is a share."""

    @classmethod
    def about(cls, name: str, said: Tail, within: Range) -> Column:
        """Return a column of which this was said."""
        if isinstance(said, Bounded) and said.one_sided:
            return cls(name, None, within, said)
        return cls(name, said, within)

    @property
    def said(self) -> Tail:
        """What was said about the records."""
        return self.half or self.tail

    @property
    def possible(self) -> Range:
        """Where the mean can be, by ``within`` and by bounds on the records."""
        (low, high), said = self.within, self.said
        if isinstance(said, Bounded):
            return max(low, said.low), min(high, said.high)
        return low, high

    @property
    def answer_range(self) -> Range:
        """Where the mean is looked for: a condition is 0 or 1, so that its mean is a share."""
        low, high = self.possible
        return (max(low, 0.0), min(high, 1.0)) if self.is_condition else (low, high)

    def to_dict(self) -> Json:
        """Return plain values, ready for JSON."""
        tail = None if self.said is None else self.said.to_dict()
        measured = {} if self.units is None else {"units": self.units}
        within = [str(end) for end in self.within]
        kind = {"condition": True} if self.is_condition else {}
        return {"name": self.name, "tail": tail, "within": within} | measured | kind


def _each(value: object, parse: Callable[[object], Kind], example: str) -> Kind | list[Kind]:
    """Parse one value for all columns, or a list with one for each."""
    if not isinstance(value, list):
        return parse(value)
    parsed: list[Kind] = []
    for entry in value:
        with suppress(ParameterError):
            parsed.append(parse(entry))
            continue
        raise ParameterError(
            f"Entry {len(parsed) + 1} of a list has type {type(entry).__name__}, which does not "
            f"describe a column. Use a list such as {example}."
        )
    return parsed


def columns_of(tail: object, within: object) -> tuple[Column, ...]:
    """Return the columns, as many as a list has entries; else one that stands for any number."""
    tails = _each(tail, parse_tail, "tail=[Moment(2, scale), None]")
    ranges = _each(within, parse_within, "within=[(low, high), R, None]")
    n_columns = next((len(given) for given in (tails, ranges) if isinstance(given, list)), 1)
    given = zip(_spread(tails, n_columns), _spread(ranges, n_columns), strict=True)
    return tuple(Column.about(str(place), *said) for place, said in enumerate(given))


def _spread(value: Kind | list[Kind], n_columns: int) -> list[Kind]:
    if not isinstance(value, list):
        return [value] * n_columns
    check_length(value, n_columns)
    return value


def check_length(given: list[Kind], n_columns: int) -> None:
    """Refuse a list that has not one entry for each column."""
    if len(given) != n_columns:
        raise ParameterError(
            f"A list has {len(given)} entries for {columns_told(n_columns)}. Use one entry for all "
            "columns, or a list with one entry per column."
        )


def columns_told(count: int) -> str:
    """Return so many columns in words."""
    return f"{count} column{'s' * (count != 1)}"
