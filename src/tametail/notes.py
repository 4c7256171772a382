"""Notes: what is to be said about a release, in one vocabulary for Python, JSON and people.

A note is a function of public numbers and noisy answers, as all else in a release. One of the kind
"warning" says that value or interval may mislead; one of the kind "remark" explains. A release is
``reliable`` unless there is a warning. Codes are for programs, and stay.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final

from tametail._json import Json
from tametail.errors import ParameterError

KINDS: Final = ("warning", "remark")


@dataclass(frozen=True, slots=True)
class Note:
    """One thing to be said.

    >>> print(MEDIAN)
    the answer is a private median of the records, not their mean
    >>> MEDIAN.kind, MEDIAN.code
    ('warning', 'median')
    """

    kind: str
    code: str
    text: str

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ParameterError(f"kind={self.kind!r} is not a kind of note: it is one of {KINDS}.")

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, record: Json) -> Note:
        """Undo :meth:`to_dict`."""
        return cls(str(record["kind"]), str(record["code"]), str(record["text"]))


def nothing_seen(untold: tuple[str, ...], *, bounded: bool = False) -> Note:
    """Return the note that nothing stands out; ``untold`` are arguments that would help.

    Between bounds it is known how far off the answer may be, all the same.

    >>> nothing_seen(("tail=",)).text[-51:]
    'More records or more budget help, and so does tail='
    """
    also = f", and so do{'es' * (len(untold) == 1)} {' and '.join(untold)}" if untold else ""
    unknown = "how the records spread, and so how far off the answer is, is not known"
    if bounded:
        unknown = "how the records spread between their bounds is not known"
    text = f"nothing stands out of the noise: {unknown}. More records or more budget help{also}"
    return Note("warning", "nothing-seen", text)


NOTHING_SEEN: Final = nothing_seen(("within=", "tail="))

MEDIAN: Final = Note(
    "warning", "median", "the answer is a private median of the records, not their mean"
)

TOO_FEW: Final = Note(
    "warning",
    "few-records",
    "there are so few records for this budget that what stands out may be noise: the answer may be "
    "far off, and how far is not known beyond what within= says. More records or more budget help",
)

MISPLACED: Final = Note(
    "warning",
    "misplaced",
    "the records agree in more digits than the budget could find: nearly all lie together, away "
    "from the centre that was found, so the answer is much less accurate than it could be. Saying "
    "closely where the mean is (within=) helps, and so do more records or more budget",
)

CLAMPED: Final = Note(
    "remark",
    "clamped",
    "the answer is at the end of where the mean can be by within= or bounds; noise alone can do "
    "that",
)

CONTRADICTED: Final = Note(
    "warning",
    "clamped",
    "within= holds the answer back: the records put the mean elsewhere. If within= is wrong, so is "
    "the answer; the interval was not cut to it",
)

CUT: Final = Note(
    "remark",
    "cut",
    "the interval ends where within= says that the mean can be: there it rests on that, and not on "
    "the records",
)

BEYOND_RANGE: Final = Note(
    "warning",
    "beyond-range",
    "records lie where numbers are no longer told apart, at 1e38 or beyond; infinities, and whole "
    "numbers too large for a double, are such. The mean is not known, and the answer says no more "
    "than that",
)

#: The same without clip points, where a few records of 1e38 and all of 1e30 look alike.
BEYOND_RANGE_OF_VALUES: Final = Note(
    "warning",
    "beyond-range",
    "the answer is 1e30 or more in size, and cannot be told from that of a few records at 1e38 or "
    "beyond, where numbers are no longer told apart; infinities, and whole numbers too large for a "
    "double, are such. The mean is not known, and the answer says no more than that",
)

LOST: Final = Note(
    "warning",
    "lost",
    "the records may lie elsewhere: most of them may be beyond where they were clipped, so the "
    "answer may say little about their mean",
)

NO_ENDS: Final = Note(
    "warning",
    "no-ends",
    "the interval has no end on at least one side: how far off the answer is, is not known. More "
    "records or more budget help, and so does within= with two ends",
)

NO_UPPER_LIMIT: Final = Note(
    "warning",
    "no-upper-limit",
    "the largest values dominate: no upper limit can be given. More records, more budget, or "
    "within= with an upper end help",
)

NO_LOWER_LIMIT: Final = Note(
    "warning",
    "no-lower-limit",
    "the lowest values dominate: no lower limit can be given. More records, more budget, or "
    "within= with a lower end help",
)

FAR_GROUP: Final = Note(
    "warning",
    "far-group",
    "a small group of records may be far away from all others: if so, the value has a large "
    "error. More records or more budget help, and so does tail=Bounded(...)",
)

DOUBTFUL: Final = Note(
    "warning",
    "doubtful",
    "the records do not look as assumed: do not trust the interval. Privacy is not affected",
)


FAKE: Final = Note(
    "remark",
    "fake",
    "FAKE: tametail.testing made this up. No data were read. Do not publish or use it",
)


def few_records(text: str) -> Note:
    """Return the note that there are few records for this budget; ``text`` says how few."""
    return Note("warning", "few-records", text)


def hint(text: str) -> Note:
    """Return a remark on what would help where there are few records."""
    return Note("remark", "few-records", text)


def shared_scale(text: str) -> Note:
    """Return the note that columns had to share a scale."""
    return Note("warning", "shared-scale", text)


#: A smaller share of the records than this, and means may be those of other groups.
MOSTLY_KEPT: Final = 0.95


def kept_records(share: float) -> Note:
    """Return the note on records that were left out, since their person is in another group.

    >>> kept_records(0.992).kind, kept_records(0.9).kind
    ('remark', 'warning')
    """
    told = (
        f"About {share:.0%} of the records were kept: each person stays in the group with most of "
        "their records, and the others were left out"
    )
    if share >= MOSTLY_KEPT:
        return Note("remark", "kept-records", f"{told}.")
    return Note(
        "warning",
        "few-kept",
        f"{told}. Many people are in several groups, so the means may be far from those of all "
        "records: remove groups_per_person=1.",
    )


def few_numbers(used: float, *, warn: bool) -> Note:
    """Return the note on cells that were not numbers; ``used`` is the share that were.

    >>> few_numbers(0.314, warn=True).text[:57]
    'used about 31% of the cells: the others were not numbers '
    >>> few_numbers(0.9932, warn=False).text
    'used about 99.3% of the cells: the others were not numbers'
    """
    share = f"{used:.0%}" if used < 0.98 else f"{used:.1%}"
    told = f"used about {share} of the cells: the others were not numbers"
    if not warn:
        return Note("remark", "cells-used", told)
    return Note(
        "warning",
        "few-numbers",
        f"{told} and were left out, so the mean is that of the rest. If they hold numbers that are "
        "written in another way, say how with parse=; rows in a list are passed as an array",
    )


EXCEEDS: Final = few_records(
    "the error is expected to exceed the standard deviation of the records: more records, more "
    "budget or fewer columns help"
)
