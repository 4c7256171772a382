"""A release in sentences: the result, what was assumed, the method, how to cite."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tametail.means import Mean
from tametail.notes import without_advice
from tametail.plans import PricedRequest
from tametail.purposes import PURPOSES
from tametail.released import Released
from tametail.show import numbers
from tametail.show.intervals import NO_ESTIMATE, Quoted, assumption, quote
from tametail.show.release import mark
from tametail.show.rows import is_usable, name_of, per_person, plural, value_of, where_of
from tametail.show.tables import Row, Table, about_of, table_of
from tametail.show.warnings import notes_shown
from tametail.statistic import RECORDS, REGRESSION
from tametail.tail import Bounded, Tail


def stored_words(release: Released) -> str:
    """Say that a release is one that a ledger had stored; "" if it was made now."""
    if not release.is_stored or release.issued is None:
        return ""
    date, _, clock = release.issued.date.partition("T")
    return (
        f"This is the stored result of release {release.issued.release_id}, made on {date}, "
        f"{clock.removesuffix('Z')} UTC. Nothing was read or spent now, so later changes of the "
        "data are not in it."
    )


def title_of(release: Released) -> str:
    """Return what was released, as a title.

    >>> import tametail as tt
    >>> title_of(tt.mean([1.0, 2.0] * 500, epsilon=1))
    'A private mean'
    """
    if release.plan.request.statistic == REGRESSION:
        y, *x = release.plan.columns
        return f"{mark(release)}Regression of {y} on {', '.join(x)}{_where_after(release)}"
    names = list(dict.fromkeys(row.column for row in release)) or list(release.plan.columns)
    labels = {row.label for row in release} or {release.plan.request.statistic}
    word = labels.pop() if len(labels) == 1 else plural(release)
    if all(name.isdigit() for name in names):
        alone = f"Private {word}" if labels else f"A private {word}"
        what = alone if len(names) == 1 else f"{len(names)} private means"
    elif len(names) <= 3:
        listed = " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
        what = f"{word.capitalize()} of {listed}"
    else:
        what = f"Means of {len(names)} columns"
    groups = release.groups
    by = "" if groups is None else f" by {' and '.join(groups.by)}"
    return f"{mark(release)}{what}{by}{per_person(release)}{_where_after(release)}"


def _where_after(release: Released) -> str:
    where = where_of(release)
    return f",{where}" if where else ""


def sentence(release: Released) -> str:
    """Return the result in a few sentences that may be published as they are.

    The value and its interval, of up to a dozen rows each; what was clipped, the privacy loss; then
    every warning and note but for its advice, so that who reads these words alone is warned.

    >>> import tametail as tt
    >>> words = sentence(tt.mean([1.0, 2.0] * 5_000, epsilon=1))
    >>> words.startswith("The mean is 1."), "epsilon = 1" in words
    (True, True)
    >>> sentence(tt.mean([7.0] * 2_000, epsilon=1))[:36]
    'No reliable estimate of the mean: th'
    """
    has_result = any(map(is_usable, release))  # else a note quotes a median that says little
    notes = (note for note in notes_shown(release) if has_result or note.kind == "warning")
    said = (f"{note.kind.capitalize()}: {without_advice(note.text)}" for note in notes)
    return " ".join([_listed(release) or lead(release), rest(release), *said])


def findings(release: Released) -> str:
    """Return the sentences without the warnings, for where these are shown beside them."""
    return f"{lead(release)} {rest(release)}"


def lead(release: Released) -> str:
    """Return the result alone, in a sentence or two."""
    fake = mark(release)
    if not release.means:
        return f"{fake}No group{where_of(release)} was large enough to be released."
    if len(release) > 1 or release.groups is not None:
        return f"{fake}{_sentence_of_many(release)}"
    return fake + _result(release, release.means[0])


def rest(release: Released) -> str:
    """Return what was clipped, of one mean, and the privacy loss."""
    one = release.means[0] if len(release) == 1 and release.groups is None else None
    clipped = _clipped(one, release.plan.tails[0]) if one is not None and is_usable(one) else ()
    return " ".join([*clipped, privacy_loss(release)])


def _result(release: Released, row: Mean) -> str:
    people = release.plan.adjacency.person is not None
    column = ("people" if people else "records") if row.column == RECORDS else row.column
    name = ("" if column.isdigit() else f" of {column}") + per_person(release) + where_of(release)
    if not is_usable(row):
        return f"No reliable estimate of the {row.label}{name}: {_why_none(row)}."
    found = f"The {row.label}{name} is {value_of(row)}"
    shown = quote(release, row)
    if shown.limits is None:
        return f"{found}."
    if not shown.mark:
        return f"{found}. The error of this estimate is unknown."
    if shown.mark == "x":
        return f"{found}. Do not use its interval: the data contradict the stated assumption."
    level = numbers.percent(release.confidence or 0.0)
    return f"{found} ({level} confidence interval {shown.limits}{_how(shown)}).{_after(shown)}"


def _why_none(row: Mean) -> str:
    codes = {note.code for note in row.notes}
    if "out-of-float-range" in codes:
        return "some values are outside the supported range"
    if "many-unparsed-cells" in codes and (row.share_used or 0.0) < 0.5:
        return "almost none of its cells are numbers"
    return "there are too few records for this privacy budget"


def _how(shown: Quoted) -> str:
    """Return the qualifier of an interval in a sentence."""
    words = shown.qualifier
    if shown.mark == "e":
        return f", {words.replace(' (tail extrapolated)', '').replace('; ', ', ')}"
    if shown.mark == "c":
        return " for the clipped mean, approximate"
    if shown.mark == "g":
        return f", {words.replace('guaranteed if', 'valid if').replace('; ', ', ')}"
    return f", {words.replace('; ', ', ')}"


def _after(shown: Quoted) -> str:
    return " The effect of clipping is not included." if shown.mark == "c" else ""


def _clipped(row: Mean, tail: Tail) -> Iterator[str]:
    """Yield what clipping did, if there was any, and to which share as far as noisy counts show.

    >>> from tametail.shape import CurvePoint, Shape
    >>> shape = Shape(10.0, (), (CurvePoint(1.0, 0.2, 1e-5), CurvePoint(2.0, 0.05, 1e-5)))
    >>> row = Mean("0", None, 11.0, clip=(9.0, 12.5), shape=shape)
    >>> print(next(_clipped(row, None)))
    Values below 9 or above 12.5 (at most about 5% of records) were clipped to these limits.
    """
    if row.clip is None or row.clip[0] >= row.clip[1]:
        return
    if isinstance(tail, Bounded) and row.clip[0] <= tail.low and tail.high <= row.clip[1]:
        return  # there are no such values, by the assumption
    share = ""
    if row.shape is not None:
        part, at_most = row.shape.beyond(*row.clip)
        share = f" ({'at most ' * at_most}about {100 * part:.2g}% of records)"
    low, high = (row.measured(numbers.significant(end)) for end in row.clip)
    yield f"Values below {low} or above {high}{share} were clipped to these limits."


def privacy_loss(release: Released) -> str:
    """Say what was spent; what that implies for other units is in the guarantee."""
    guarantee = release.guarantee
    return f"Privacy loss: at most {guarantee.short} for {guarantee.protects.description}."


def _sentence_of_many(release: Released) -> str:
    where = where_of(release)
    rows = sorted((row for row in release if is_usable(row)), key=lambda row: row.value)
    if not rows:
        known = release.plan.request.statistic != REGRESSION  # else a warning says why
        why = ": there are too few records for this privacy budget" if known else ""
        return f"No reliable estimate of any {_kind(release)}{where}{why}."
    least, most = rows[0], rows[-1]
    if len(rows) == 1:
        name = f"{name_of(release, most)}{per_person(release)}{where}"
        return f"The only usable {most.label} is that for {name}: {value_of(most)}."
    if release.plan.request.statistic == REGRESSION:
        words = ", ".join(f"{value_of(row)} for {name_of(release, row)}" for row in release)
        y = release.plan.columns[0]
        return f"In the regression of {y}{where}, the coefficients are {words}."
    if release.groups is None or len({(row.label, row.column) for row in rows}) > 1:
        return f"The {len(release)} {plural(release)}{where} are in the table."
    by = " and ".join(release.groups.by)
    within = "" if release.confidence is None else " within the confidence intervals"
    return (
        f"{plural(release).capitalize()} by {by}{per_person(release)}{where} range from "
        f"{value_of(least)} ({name_of(release, least)}) to {value_of(most)} "
        f"({name_of(release, most)}). "
        f"Differences{within} may be noise."
    )


#: So many rows are listed in a sentence; of more it says only from where to where they go.
_MOST_LISTED = 12


def has_a_table(release: Released) -> bool:
    """Say whether there are too many rows for a sentence, which then speaks of a table."""
    return len(release) > _MOST_LISTED


def _listed(release: Released) -> str:
    """Return several rows with their intervals, one after the other; "" if there is no table."""
    if has_a_table(release) or len(release) < 2 or not any(map(is_usable, release)):
        return ""
    shown = table_of(release)
    title = title_of(release).removeprefix(mark(release))
    rows = "; ".join(map(_in_words, release, [quote(release, row) for row in release], shown.rows))
    return f"{mark(release)}{title}: {rows}. {_legend(shown, about_of(release))}".rstrip()


def _in_words(row: Mean, found: Quoted, cells: Row) -> str:
    if not is_usable(row):
        return f"{cells.cells[0]} {NO_ESTIMATE}"
    limits = f" ({cells.cells[2]})" if found.limits is not None else ""
    return f"{cells.cells[0]} {found.value}{limits}"


def _legend(shown: Table, titled: str) -> str:
    marks = (f"{letter} {words}." for letter, words in shown.footnotes if letter[0] == "(")
    caption = shown.caption.removeprefix(titled.rstrip()).lstrip()
    caption = caption.replace(" CI ", " confidence intervals ")
    return " ".join([caption, *marks])


def _kind(release: Released) -> str:
    """Return what one row is."""
    kinds = {row.statistic for row in release}
    return kinds.pop() if len(kinds) == 1 else "statistic"


def assumptions(plan: PricedRequest) -> list[tuple[str, str]]:
    """Return what was assumed and chosen, as names and words; public numbers all."""
    request, adjacency = plan.request, plan.adjacency
    found = [("Privacy unit", f"one {adjacency.thing}{_who(plan)}")]
    for column in request.columns:
        about = "" if column.name.isdigit() else f" about {column.name}"
        assumed = "none" if column.said is None else assumption(column.said)
        found.append((f"Assumptions{about}", assumed[:1].upper() + assumed[1:]))
        low, high = column.within
        if math.isfinite(low) or math.isfinite(high):
            found.append((f"Range of the mean{about.replace('about', 'of')}", _range(low, high)))
    if request.missing == "none":
        found.append(("Missing cells", "none, as stated"))
    else:
        found.append(("Missing cells", "ignored; text in a numeric column counts as missing"))
    things = "people" if adjacency.person is not None else "records"
    size = "not given; estimated privately" if request.n is None else f"{request.n:,}, as given"
    found.append((f"Number of {things}", size))
    if request.where is not None:
        found.append(("Only records where", request.where))
    if request.weights is not None:
        found.append(("Weights", f"{request.weights}; weights below 0 count as 0"))
    if request.written is not None:
        said = request.written.to_dict()
        found.append(("Number format", ", ".join(f"{k} {said[k]!r}" for k in said)))
    if request.each == "person":
        found.append(("Average over", "people: one mean per person"))
    groups = request.groups
    if groups is not None:
        keys = "selected privately" if groups.keys is None else f"{len(groups.keys)} public keys"
        found.append(("Groups", f"by {', '.join(groups.by)}, {keys}"))
    return found


def _range(low: float, high: float) -> str:
    if math.isinf(low):
        return f"at most {numbers.given(high)}"
    if math.isinf(high):
        return f"at least {numbers.given(low)}"
    return f"{numbers.given(low)} to {numbers.given(high)}"


def _who(plan: PricedRequest) -> str:
    person = plan.adjacency.person
    if person is None:
        return ""
    names = person if isinstance(person, str) else ", ".join(person)
    return f" (column {names}), all their records"


def method_text(release: Released, version: str) -> str:
    """Return a paragraph for a methods section."""
    several = len(release) > 1
    return (
        f"The {_what(release)} {'were' if several else 'was'} released under differential privacy "
        f"with tametail {version} (method: {release.method}). {_steps(release)}Privacy guarantee: "
        f"{release.guarantee} It holds for every dataset, whether or not the assumptions are "
        f"true.{_interval(release)}"
    )


def _what(release: Released) -> str:
    """Return what was released, in words."""
    what = release.means[0].label if len(release) == 1 else plural(release)
    return what + where_of(release)


#: What "approximate" means, for whoever has only the report.
MEASURED = (
    "Approximate: the coverage was measured in tests, and is not proved. It is lower where a few "
    "values are far beyond all others."
)


def _steps(release: Released) -> str:
    if not {"center", "tail"} <= PURPOSES[release.method].keys():
        return ""
    return (
        "Clipping bounds were chosen from a private median and a noisy log-scale histogram of the "
        "distances from it. Values were clipped to these bounds, and the mean of the clipped "
        "values was released with noise. "
    )


def _interval(release: Released) -> str:
    rows = [row for row in release if is_usable(row)]
    quotes = [quote(release, row) for row in rows[:100]]
    words = "; ".join(dict.fromkeys(one.qualifier for one in quotes if one.qualifier))
    if release.confidence is None or not words:
        return ""
    level = numbers.percent(release.confidence)
    measured = f" {MEASURED}" if any(one.mark in ("e", "c") for one in quotes) else ""
    return f" {level} confidence interval{'s' * (len(release) > 1)}: {words}.{measured}"


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
