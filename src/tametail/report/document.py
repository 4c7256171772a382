"""A whole report in one file: no script, nothing from elsewhere, and it prints well.

The release itself lies in the file as JSON, in a block that browsers do not run, so that
``tametail replay report.html`` can check everything that the page says.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib.metadata import version
from importlib.resources import files

from tametail._files import written_beside
from tametail._shown import shown, shown_path
from tametail.drawing.bars import steps_bar
from tametail.errors import ParameterError
from tametail.markup import element, embedded_json, text
from tametail.pictures.intervals import interval_picture
from tametail.pictures.tail import tail_picture
from tametail.privacy.odds import odds
from tametail.released import Released
from tametail.show.intervals import details_of, quote
from tametail.show.numbers import percent
from tametail.show.release import data_words
from tametail.show.rows import plural
from tametail.show.sentences import assumptions, citation, lead, method_text, rest, title_of
from tametail.show.tables import table_of
from tametail.show.warnings import notes_shown

#: Widths of pictures, for screens and paper, and for phones.
_WIDE, _NARROW = 720.0, 350.0

#: Headings, in their order.
_TITLES = (
    "Result", "Privacy", "Assumptions", "Method", "How to cite", "Verify this report",
)  # fmt: skip

_TAG = re.compile(r"(<[^<>]*>)")
_DRAWN = re.compile(r"<(?:circle|line|path|rect|text|tspan) [^<>]*>")
_COUNTED = re.compile(r"\bpicture-\d+-(?=title|desc)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_ROUNDING = 0.11

_DATA = re.compile(r'<script type="application/json" id="release">(.*?)</script>', re.DOTALL)


def write_report(release: Released, path: str | os.PathLike[str]) -> None:
    """Write the report of a release to a file."""
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(
            f"Invalid path={shown(path)}. Use a file name, as in release.report('report.html')."
        )
    check_name(path)
    try:
        with written_beside(path) as file:
            file.write(report_text(release))
    except ParameterError:
        raise
    except (OSError, ValueError) as error:  # a path may hold what no path can
        why = getattr(error, "strerror", None) or "not a valid path"
    else:
        return
    raise ParameterError(
        f"The report {shown_path(path)} cannot be written: {why}. Use release.report(...) with "
        "another path. The release is unchanged and no budget was spent."
    )


def check_name(path: str | os.PathLike[str]) -> None:
    """Refuse a name that says another kind of file than HTML, which is all that is written."""
    if os.path.splitext(os.fsdecode(path))[1].lower() not in ("", ".html", ".htm"):
        raise ParameterError(
            f"Reports are HTML files, so {shown_path(path)} was not written. Use report.html. To "
            "get a PDF file, print it from a browser."
        )


def read_report(page: str) -> str | None:
    """Return the JSON of the release that a report holds; None if the text is no report."""
    found = _DATA.search(page)
    return None if found is None else found[1]


def changed_parts(page: str, release: Released) -> list[str]:
    """Return which parts of a page are not those of the report of a release, by their headings.

    Pictures are compared to a tenth of a point, which no eye sees; all else sign by sign.

    >>> import tametail as tt
    >>> release = tt.mean([1.0, 2.0] * 500, epsilon=1)
    >>> changed_parts(report_text(release).replace("epsilon = 1", "epsilon = 0.1"), release)
    ['top of the page', 'Privacy', 'Method']
    """
    own, there = (_parts(one) for one in (report_text(release), page))
    names = [*own, *(name for name in there if name not in own)]
    return [name for name in names if not _same_markup(own.get(name), there.get(name))]


def _parts(page: str) -> dict[str, str]:
    """Return what stands under each heading; what names a part is ours, whatever the page says."""
    page = _DATA.sub("", page.replace("\r\n", "\n"), count=1)
    page = _COUNTED.sub("picture-", page)  # pictures are numbered as they are drawn
    top, *sections = page.split("<section>")
    found = {"top of the page": top}
    for part in sections:
        title = part.removeprefix("<h2>").partition("</h2>")[0]
        name = title if title in _TITLES and title not in found else "a part that is not ours"
        found[name] = found.get(name, "") + part
    return found


def _same_markup(own: str | None, there: str | None) -> bool:
    if own is None or there is None or own == there:
        return own == there
    pieces, others = _TAG.split(own), _TAG.split(there)
    return len(pieces) == len(others) and all(map(_same_piece, pieces, others))


def _same_piece(own: str, there: str) -> bool:
    """Compare a tag or a text; the numbers in what is drawn may differ by rounding."""
    if own == there or not _DRAWN.fullmatch(own):
        return own == there
    numbers = [list(map(float, _NUMBER.findall(one))) for one in (own, there)]
    same = _NUMBER.sub("0", own) == _NUMBER.sub("0", there)
    return same and all(abs(a - b) <= _ROUNDING for a, b in zip(*numbers, strict=True))


def report_text(release: Released) -> str:
    """Return the report of a release.

    >>> import tametail as tt
    >>> page = report_text(tt.mean([1.0, 2.0] * 500, epsilon=1))
    >>> tt.Release.from_json(read_report(page)).plan.n is None
    True
    """
    title = title_of(release)
    head = (
        '<meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        + text("title", f"{title} - tametail")
        + element("style", stylesheet())
    )
    data = embedded_json(release.to_json())
    body = element("main", "".join(_sections(release, title)), class_="report")
    body += f'<script type="application/json" id="release">{data}</script>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def stylesheet() -> str:
    """Return the style of reports, on which the page's own is built."""
    return files("tametail.report").joinpath("style.css").read_text(encoding="utf-8")


def _sections(release: Released, title: str) -> Iterator[str]:
    yield element(
        "header", text("p", "tametail", class_="brand") + text("h1", title) + _when(release)
    )
    yield from result_parts(release)
    yield section("Privacy", _spent(release))
    yield section("Assumptions", facts(assumptions(release.plan)))
    used = _version(release)
    date = "" if release.issued is None else release.issued.date
    yield section("Method", text("p", method_text(release, used)))
    yield section("How to cite", text("pre", citation(used, date or "2026")))
    yield section("Verify this report", _check(release))


def result_parts(release: Released, say: Callable[[str], str] = str) -> Iterator[str]:
    """Yield the result: warnings, the sentence, notes, the picture, the table and details."""
    yield notes_list(release, "warning", say)
    yield text("p", lead(release), class_="lead")
    yield text("p", rest(release))
    yield notes_list(release, "note", say)
    yield figure(partial(interval_picture, release), _under(release))
    yield section("Result", result_table(release))


def section(title: str, content: str) -> str:
    """Return a part of the page under a heading."""
    return element("section", text("h2", title) + content)


def figure(draw: Callable[[float], str], under: str) -> str:
    """Return a picture with the words under it; nothing if there is nothing to draw."""
    drawn = both(draw)
    return element("figure", drawn + text("figcaption", under)) if drawn else ""


def both(draw: Callable[[float], str]) -> str:
    """Return a picture for screens and paper, and one for phones; the style shows one of them."""
    wide, narrow = draw(_WIDE), draw(_NARROW)
    if not wide:
        return ""
    return element("div", wide, class_="for-wide") + element("div", narrow, class_="for-narrow")


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return names and words as a list of definitions."""
    drawn = (element("div", text("dt", name) + text("dd", words)) for name, words in pairs)
    return element("dl", "".join(drawn))


def notes_list(release: Released, kind: str, say: Callable[[str], str] = str) -> str:
    """Return the warnings or the notes, in the words of ``say``; nothing if there is none."""
    shown = [say(note.text) for note in notes_shown(release) if note.kind == kind]
    drawn = [text("li", words, class_=kind) for words in shown]
    return element("ul", "".join(drawn), class_="notes") if drawn else ""


def result_table(release: Released) -> str:
    """Return the rows; for one mean the value, its interval and the details behind it."""
    if not release.means:
        return text("p", "No group was large enough to be released.")
    if len(release) == 1 and release.groups is None:
        return _one_mean(release)
    found = table_of(release)
    rows = [row.cells for row in found.rows]
    under = [found.caption, *(f"{mark}: {words}." for mark, words in found.footnotes)]
    shown = table(found.head, rows, numbers=True)
    return shown + text("p", " ".join(one for one in under if one), class_="quiet")


def _one_mean(release: Released) -> str:
    row = release.means[0]
    found = quote(release, row)
    pairs = [(row.label.capitalize(), found.value)]
    if found.limits is not None:
        level = f"{percent(release.confidence or 0.0)} confidence interval"
        pairs.append((level, ", ".join(one for one in (found.limits, found.qualifier) if one)))
    if words := data_words(release, row):
        pairs.append(("Data", words))
    more = facts((name.capitalize(), words) for name, words in details_of(release, row))
    curve = figure(partial(tail_picture, release), "Dashed lines: clipping bounds.")
    return facts(pairs) + element("details", text("summary", "Details") + more + curve)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False) -> str:
    """Return a table that may be scrolled sideways by itself."""
    top = element("tr", "".join(text("th", cell, scope="col") for cell in head))
    lines = (
        element("tr", text("th", row[0], scope="row") + "".join(text("td", c) for c in row[1:]))
        for row in rows
    )
    content = element("thead", top) + element("tbody", "".join(lines))
    inner = element("table", content, class_="numbers" if numbers else None)
    return element("div", inner, class_="wide", tabindex=0, role="region", aria_label="table")


def _under(release: Released) -> str:
    if len(release) == 1 and release.groups is None:
        return (
            f"Dot: {release.means[0].label}. Line: {percent(release.confidence or 0.0)} confidence "
            "interval."
        )
    level = percent(release.confidence or 0.0)
    return f"Dots: {plural(release)}. Lines: {level} confidence intervals."


def _when(release: Released) -> str:
    issued = release.issued
    if issued is None:
        return text("p", "Recomputed from recorded noisy answers", class_="quiet")
    date, _, clock = issued.date.partition("T")
    moment = text("time", f"{date}, {clock.removesuffix('Z')} UTC", datetime=issued.date)
    return element("p", f"{moment} · Release ID {text('code', issued.release_id)}", class_="quiet")


def _spent(release: Released) -> str:
    meaning = odds(release.guarantee)
    content = text("p", release.guarantee)
    content += text("p", f"{meaning[:1].upper()}{meaning[1:]}.")
    steps = release.plan.shares()
    if release.plan.n is not None:  # otherwise a private count decided how the rest was divided
        content += figure(
            partial(steps_bar, [(name, part) for name, part, _ in steps]),
            "Budget split between the queries.",
        )
    if release.receipt is None:
        return content + text("p", "No budget ledger was charged.", class_="quiet")
    receipt = release.receipt
    names = (("Dataset", "dataset"), ("Release ID", "release_id"), ("Head hash", "head"))
    return content + facts([(name, receipt[key]) for name, key in names if key in receipt])


def _version(release: Released) -> str:
    return version("tametail") if release.issued is None else release.issued.version


def _check(release: Released) -> str:
    command = text("code", "tametail replay FILE")
    return element(
        "p",
        f"You can verify this report without the data: {command} (version {_version(release)}) "
        "recomputes every number from the plan and the noisy answers stored in this file. The "
        "ledger shows that the release was issued.",
    )
