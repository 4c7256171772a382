"""Notes: what is to be said about a release, in one vocabulary for Python, JSON and people.

A note is a function of public numbers and noisy answers, as all else in a release. One of the kind
"warning" says that value or interval may mislead; one of the kind "info" explains. A release is
without warnings if there is none of that kind. Codes are for programs, and stay.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Final

from tametail._json import Json
from tametail.errors import ParameterError

KINDS: Final = ("warning", "info")

#: What only callers of Python can do.
FOR_LISTS: Final = " Pass a list of rows as an array."

#: How advice begins that belongs to the warning before it.
HELPS: Final = "It helps to "


#: How sentences begin that tell the analyst what to do; whoever reads a publication cannot.
_ADVICE: Final = (
    "Use ", HELPS, "You need about ", "Ask for fewer ", "A narrow within=", "Check ", "Pass a list",
    "If they are in another format", "If each person belongs to one group, groups_per_person=1",
)  # fmt: skip

_END_OF_SENTENCE: Final = re.compile(r"(?<=[.!?]) (?=[A-Z])")


def without_advice(text: str) -> str:
    """Return the sentences of a note that are about the result, for who only reads it.

    >>> without_advice("The error is unknown. Use more records or a larger epsilon.")
    'The error is unknown.'
    """
    sentences = _END_OF_SENTENCE.split(text)
    return " ".join(one for one in sentences if not one.startswith(_ADVICE)) or text


@dataclass(frozen=True, slots=True)
class Note:
    """One fact that a reader should know.

    >>> print(MEDIAN)
    This is a private median, not a mean. For skewed data the two can differ a lot.
    >>> MEDIAN.kind, MEDIAN.code
    ('warning', 'median')
    """

    kind: str
    code: str
    text: str

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ParameterError(f"Invalid kind={self.kind!r} of a note. Use one of {KINDS}.")

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
    """Return the note that there is no signal; ``untold`` are arguments that would help.

    For bounded data the error is bounded all the same.

    >>> nothing_seen(("tail=",)).text[-51:]
    'Use more records, a larger epsilon, or state tail=.'
    """
    text = (
        "There are too few records for this budget: the noise hides how the values are spread, so "
        "the error of this estimate is unknown."
    )
    if bounded:
        text = (
            "There are too few records for this budget to estimate how the values are spread "
            "within their bounds. The interval accounts for this."
        )
    state = f", or state {' or '.join(untold)}" if untold else ""
    helps = "a larger epsilon" if untold else "or a larger epsilon"
    return Note(
        "warning", "no-signal", f"{text} Use more records{',' if untold else ''} {helps}{state}."
    )


NOTHING_SEEN: Final = nothing_seen(("within=", "tail="))

SAYS_NOTHING: Final = Note(
    "warning",
    "no-signal",
    "There are too few records for this budget: the interval holds all that is possible. Ignore "
    "the value, or use more records or a larger epsilon.",
)

MEDIAN: Final = Note(
    "warning",
    "median",
    ("This is a private median, not a mean. For skewed data the two can differ a lot."),
)

TOO_FEW: Final = Note(
    "warning",
    "few-records",
    "There are so few records for this budget that the result may be mostly noise. Its error is "
    "unknown, except that the mean lies in within=. Use more records or a larger epsilon.",
)

MISPLACED: Final = Note(
    "warning",
    "low-precision-location",
    "The values are very close together compared with their distance from zero, and this budget "
    "could not locate them precisely. The estimate is much less accurate than it could be. A "
    "narrow within= helps most; more records or a larger epsilon help, too.",
)

CLAMPED: Final = Note(
    "info",
    "at-range-limit",
    "The estimate equals a limit of within= or of the bounds. Noise alone can cause this.",
)

CONTRADICTED: Final = Note(
    "warning",
    "at-range-limit",
    "The data point to a mean outside within=. The estimate was moved into that range; the "
    "interval was not. Check within=.",
)

CUT: Final = Note(
    "info",
    "interval-cut-to-range",
    "One limit of the interval is the limit of within=. It comes from your assumption, not from "
    "the data.",
)

BEYOND_RANGE: Final = Note(
    "warning",
    "out-of-float-range",
    "Some values are infinite or at least 1e38 in size, which is outside the supported range. The "
    "mean cannot be estimated.",
)

#: The same without clip points, where a few records of 1e38 and all of 1e30 look alike.
BEYOND_RANGE_OF_VALUES: Final = Note(
    "warning",
    "out-of-float-range",
    "The estimate is 1e30 or more in size. A few infinite values, or values of at least 1e38, "
    "which are outside the supported range, would give the same result. The mean cannot be "
    "estimated.",
)

LOST: Final = Note(
    "warning",
    "location-error",
    "Most values may lie outside the clipping bounds, so the estimate may be far from the mean.",
)

NO_ENDS: Final = Note(
    "warning",
    "unbounded-interval",
    "The confidence interval is unbounded on at least one side. Use more records, a larger "
    "epsilon, or a within= with two limits.",
)

NO_UPPER_LIMIT: Final = Note(
    "warning",
    "no-upper-limit",
    "The largest values dominate: no upper limit can be given. Use more records, a larger "
    "epsilon, or a within= with an upper limit.",
)

NO_LOWER_LIMIT: Final = Note(
    "warning",
    "no-lower-limit",
    "The lowest values dominate: no lower limit can be given. Use more records, a larger epsilon, "
    "or a within= with a lower limit.",
)

FAR_GROUP: Final = Note(
    "warning",
    "far-group",
    "A small group of records may be far away from all others. If so, the estimate has a large "
    "error. Use more records, a larger epsilon, or tail=Bounded(...).",
)

DOUBTFUL: Final = Note(
    "warning",
    "assumption-contradicted",
    "The data contradict the assumption. Do not use the interval. Privacy is not affected.",
)


COLLINEAR: Final = Note(
    "warning",
    "collinear",
    "No coefficient can be estimated: columns of x are nearly collinear (or constant), or noise "
    "hides that they are not. Remove a column that follows from the others, or use more records "
    "or more budget.",
)

EXPERIMENTAL: Final = Note(
    "info",
    "experimental",
    "Regression is experimental. Its intervals were tested by simulation, not proved, and are "
    "wider than they need to be. Privacy is not affected.",
)

FAKE: Final = Note(
    "info",
    "fake",
    "FAKE: made up by tametail.testing. No data were read. Do not publish or use it.",
)


def few_records(text: str) -> Note:
    """Return the note that there are few records for this budget; ``text`` says how few."""
    return Note("warning", "few-records", text)


def hint(text: str) -> Note:
    """Return a remark on what would help where there are few records."""
    return Note("info", "few-records", text)


def shared_scale(text: str) -> Note:
    """Return the note that columns had to share a scale."""
    return Note("warning", "shared-scale", text)


#: A smaller share of the records than this, and means may be those of other groups.
MOSTLY_KEPT: Final = 0.95


KEPT_UNKNOWN: Final = Note(
    "info",
    "kept-records",
    "Each person stays in the group with most of their records, and the others were left out. The "
    "noise hides what share of the records was kept.",
)


def kept_records(share: float) -> Note:
    """Return the note on records that were left out, since their person is in another group.

    >>> kept_records(0.992).kind, kept_records(0.9).kind
    ('info', 'warning')
    """
    given = (
        f"About {share:.0%} of the records were kept: each person stays in the group with most of "
        "their records, and the others were left out"
    )
    if share >= MOSTLY_KEPT:
        return Note("info", "kept-records", f"{given}.")
    return Note(
        "warning",
        "few-kept",
        f"{given}. Many people are in several groups, so the means may be far from those of all "
        "records: remove groups_per_person=1.",
    )


def few_numbers(used: float, *, warn: bool) -> Note:
    """Return the note on cells that were not numbers; ``used`` is the share that were.

    >>> few_numbers(0.314, warn=True).text[:57]
    'Only about 31% of the cells could be read as numbers; the'
    >>> few_numbers(0.9932, warn=False).text
    'About 99.3% of the cells could be read as numbers; the rest were ignored.'
    """
    share = f"{used:.0%}" if used < 0.98 else f"{used:.1%}"
    given = (
        f"{'Only about' if warn else 'About'} {share} of the cells could be read as numbers; the "
        "rest were ignored."
    )
    if not warn:
        return Note("info", "cells-used", given)
    return Note(
        "warning",
        "many-unparsed-cells",
        f"{given} Check that this is a column of numbers. If they are in another format (1,200 or "
        f"$5), set parse=.{FOR_LISTS}",
    )


EXCEEDS: Final = few_records(
    "The expected error is larger than the standard deviation of the data. Use more records, a "
    "larger epsilon or fewer columns."
)
