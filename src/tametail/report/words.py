"""What a report says in sentences: the result, what was assumed, the method, how to cite."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tametail.explain import covers, ends_of, mark, name_of, percent, plural
from tametail.means import Mean
from tametail.plans import PricedRequest
from tametail.released import Released
from tametail.tail import Bounded, Moment, Tail


def title_of(release: Released) -> str:
    """Return what was released, as a title.

    >>> import tametail as tt
    >>> title_of(tt.mean([1.0, 2.0] * 500, epsilon=1))
    'A private mean'
    """
    names = list(dict.fromkeys(row.column for row in release)) or list(release.plan.columns)
    if all(name.isdigit() for name in names):
        what = "A private mean" if len(names) == 1 else f"{len(names)} private means"
    elif len(names) <= 3:
        what = f"Mean of {' and '.join([', '.join(names[:-1]), names[-1]] if names[1:] else names)}"
    else:
        what = f"Means of {len(names)} columns"
    groups = release.groups
    by = "" if groups is None else f" by {' and '.join(groups.by)}"
    return f"{mark(release)}{what}{by}"


def sentence(release: Released) -> str:
    """Return the result in a few sentences that may be published as they are.

    Value and interval with what that is for, the share of records that was clipped, the budget;
    then every warning, so that who reads these words alone is warned.

    >>> import tametail as tt
    >>> words = sentence(tt.mean([1.0, 2.0] * 5_000, epsilon=1))
    >>> words.startswith("The mean is 1."), "epsilon = 1" in words
    (True, True)
    >>> sentence(tt.mean([7.0] * 2_000, epsilon=1))[-46:]
    'private median of the records, not their mean.'
    """
    return " ".join([findings(release), *_warnings(release)])


def findings(release: Released) -> str:
    """Return the sentences without the warnings, for where these are shown beside them."""
    fake = mark(release)
    if not release.means:
        return f"{fake}No group was large enough to be seen. {_budget(release)}"
    if len(release) > 1 or release.groups is not None:
        return f"{fake}{_sentence_of_many(release)} {_budget(release)}"
    row = release.means[0]
    return fake + " ".join(
        [_result(release, row), *_clipped(row, release.plan.tails[0]), _budget(release)]
    )


def _warnings(release: Released) -> Iterator[str]:
    """Yield each warning once; of several rows, how many carry it."""
    for note in release.notes:
        if note.kind == "warning":
            carry = sum(note in row.notes for row in release)
            every = note in release.remarks or len(release) == 1
            rows = f"{len(release)} {plural(release)}"
            yield f"Warning{'' if every else f' ({carry} of {rows})'}: {note}."


def _result(release: Released, row: Mean) -> str:
    name = "" if row.column.isdigit() else f" of {row.column}"
    found = f"The {row.label}{name} is {row.measured(number(row.value))}"
    if release.confidence is None or not row.intervals:
        return f"{found}."
    first = row.intervals[0]
    if first.low == -math.inf and first.high == math.inf:
        return f"{found}; how far off that may be is not known."
    ends = row.measured(f"{number(first.low)} to {number(first.high)}")
    return f"{found} ({percent(release.confidence)} interval {ends}, {covers(first)})."


def _clipped(row: Mean, tail: Tail) -> Iterator[str]:
    """Yield what clipping did, if there was any, and to which share as far as private counts tell.

    >>> from tametail.shape import Knot, Shape
    >>> shape = Shape(10.0, (), (Knot(1.0, 0.2, 1e-5), Knot(2.0, 0.05, 1e-5)))
    >>> row = Mean("0", None, 11.0, clip=(9.0, 12.5), shape=shape)
    >>> print(next(_clipped(row, None)))
    Records below 9 or above 12.5 (at most about 5%, by private counts) were set to these limits.
    """
    if row.clip is None or row.clip[0] >= row.clip[1]:
        return
    if isinstance(tail, Bounded) and row.clip[0] <= tail.low and tail.high <= row.clip[1]:
        return  # there are no such records, as far as was told
    share = ""
    if row.shape is not None:
        part, at_most = row.shape.beyond(*row.clip)
        share = f" ({'at most ' * at_most}about {100 * part:.2g}%, by private counts)"
    low, high = (row.measured(number(end)) for end in row.clip)
    yield f"Records below {low} or above {high}{share} were set to these limits."


def _budget(release: Released) -> str:
    """Say what was spent; what that implies for other units is in the guarantee."""
    spent, _, _ = str(release.guarantee).rstrip(".").partition(";")
    return f"The privacy loss is bounded: {spent}."


def _sentence_of_many(release: Released) -> str:
    rows = sorted(release.means, key=lambda row: row.value)
    least, most = rows[0], rows[-1]
    what = plural(release)
    if len(rows) == 1:
        return (
            f"The {most.label} for {name_of(release, most)} is {most.measured(number(most.value))}."
        )
    if release.groups is None or len({row.label for row in rows}) > 1:
        return f"The {len(rows)} {what} are in the table, with what is known of their error."
    what += f" by {' and '.join(release.groups.by)}"
    return (
        f"The {len(rows)} {what} lie between {least.measured(number(least.value))} "
        f"({name_of(release, least)}) and {most.measured(number(most.value))} "
        f"({name_of(release, most)}). Where intervals overlap, noise may have made the order."
    )


def number(value: float) -> str:
    """Return a number for a sentence: digits that mean something, and signs between thousands.

    >>> number(1474.98), number(0.0123456), number(12_345_678.9), number(math.inf)
    ('1,475', '0.01235', '12,350,000', 'infinity')
    """
    if not math.isfinite(value):
        return "minus infinity" if value < 0 else "infinity"
    if value == 0 or not 1e-4 <= abs(value) < 1e15:
        return f"{value:.4g}"
    digits = 3 - math.floor(math.log10(abs(value)))
    written = f"{round(value, digits):,.{max(digits, 0)}f}"
    return written.rstrip("0").rstrip(".") if digits > 0 else written


def assumptions(plan: PricedRequest) -> list[tuple[str, str]]:
    """Return what was assumed and chosen, as names and words; public numbers all."""
    request, unit = plan.request, plan.unit
    found = [("Protected", f"any one {unit.thing}" + _who(plan))]
    for column in request.columns:
        about = "" if column.name.isdigit() else f" of {column.name}"
        found.append((f"About the records{about}", _tail(column.said)))
        low, high = column.within
        if math.isfinite(low) or math.isfinite(high):
            found.append((f"The mean{about} lies", f"within {number(low)} and {number(high)}"))
    if request.missing == "none":
        found.append(("Missing cells", "promised to be none"))
    else:
        found.append(("Missing cells", "left out; a cell that is not a number counts as missing"))
    if request.n is not None:
        found.append((f"Number of {unit.thing}s", f"{request.n:,}, as told"))
    else:
        found.append((f"Number of {unit.thing}s", "not told; counted privately"))
    if request.where is not None:
        found.append(("Only records with", request.where))
    if request.written is not None:
        said = request.written.to_dict()
        found.append(("Numbers are written with", ", ".join(f"{k} {said[k]!r}" for k in said)))
    if request.each == "person":
        found.append(("What counts once", "a person, by the mean of their own records"))
    groups = request.groups
    if groups is not None:
        keys = "chosen privately" if groups.keys is None else f"{len(groups.keys)} public keys"
        found.append(("Groups", f"by {', '.join(groups.by)}, {keys}"))
    return found


def _who(plan: PricedRequest) -> str:
    person = plan.unit.person
    if person is None:
        return ""
    names = person if isinstance(person, str) else ", ".join(person)
    return f", with all of their records, as column {names} tells them apart"


def _tail(tail: object) -> str:
    if tail is None:
        return "nothing was assumed"
    if isinstance(tail, Moment):
        if tail.k == 2:
            return f"standard deviation at most {number(tail.scale)}"
        return f"E|X - mean|^{tail.k:g} at most ({number(tail.scale)})^{tail.k:g}"
    if isinstance(tail, Bounded):
        low, high = tail.said
        ends = [
            "" if low is None else f"at least {number(low)}",
            "" if high is None else f"at most {number(high)}",
        ]
        return f"every record {' and '.join(end for end in ends if end)}"
    return str(tail)


def method_text(release: Released, version: str) -> str:
    """Return a paragraph for a methods section."""
    several = len(release) > 1
    return (
        f"The {_what(release)} {'were' if several else 'was'} released under differential privacy "
        f"with tametail {version} (method: {release.method}). {_steps(release)}"
        f"The guarantee is {release.guarantee} It holds for every data set, whatever was assumed. "
        f"{_interval(release)}"
    )


def _what(release: Released) -> str:
    """Return what was released, in words."""
    return release.means[0].label if len(release) == 1 else plural(release)


def _steps(release: Released) -> str:
    if "winsorised" not in release.method:
        return ""
    return (
        "A private median found the centre and noisy counts of distances from it the clip points; "
        "records beyond those counted as if they were there, and the noisy mean of the clipped "
        "records was released. No bounds were taken from the data themselves. "
    )


def _interval(release: Released) -> str:
    if release.confidence is None or not release.means or not release.means[0].intervals:
        return ""
    told = [
        f"{covers(one)} ({'proved' if one.proved else 'measured, not proved'})"
        for one in release.means[0].intervals
    ]
    return f"Intervals have a confidence of {percent(release.confidence)}: {'; '.join(told)}."


def intervals_told(row: Mean) -> list[tuple[str, str, str, str]]:
    """Return of each interval: its ends, what it is for, whether proved, what it is made of."""
    return [
        (
            ends_of(one, row),
            covers(one),
            "proved" if one.proved else "measured, not proved",
            ", ".join(
                f"{name} {'not bounded' if size is None else format(size, '.3g')}"
                for name, size in one.parts.items()
            ),
        )
        for one in row.intervals
    ]


def citation(version: str, date: str) -> str:
    """Return how to cite the software, as BibTeX."""
    return (
        "@software{tametail,\n"
        "  title   = {tametail: means of heavy-tailed data under differential privacy},\n"
        "  author  = {{The tametail developers}},\n"
        f"  version = {{{version}}},\n"
        f"  year    = {{{date[:4]}}}\n"
        "}"
    )
