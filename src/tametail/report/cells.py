"""Cells of a notebook: small tables with styles of their own, since a notebook strips others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tametail.drawing.bars import steps_bar
from tametail.explain import WORDS, caption, cells_told, header_told, predictions, said
from tametail.markup import element, text
from tametail.pictures.intervals import interval_picture
from tametail.pictures.planning import Curve, plan_picture
from tametail.plans import Prediction, PricedRequest
from tametail.privacy.odds import weak_budget
from tametail.released import Released
from tametail.report.words import findings, intervals_told

_LEFT = "text-align:left;vertical-align:top"
_RIGHT = "text-align:right;font-variant-numeric:tabular-nums"
CARD = "max-width:46em;line-height:1.5"
_WARNING = "border-left:4px solid #b45309;padding:.2em .8em;margin:.6em 0"
_REMARK = "border-left:4px solid #888;padding:.2em .8em;margin:.6em 0"

#: More rows than this are folded away.
_MOST_ROWS = 60


def release_cell(release: Released) -> str:
    """Return a release: the sentence, the picture, the notes, the table and the guarantee.

    >>> import tametail as tt
    >>> "<svg" in release_cell(tt.mean([1.0, 2.0] * 500, epsilon=1))
    True
    """
    single = len(release) == 1 and release.groups is None
    parts = [text("p", findings(release), style="font-size:1.1em;margin:.2em 0")]
    parts += [_note(kind, words) for kind, words in _notes(release)]
    parts.append(interval_picture(release, 640.0))
    parts.append(_facts(release) if single else table(release))
    parts.append(
        text("p", caption(release) if not single else release.guarantee, style="opacity:.8")
    )
    return element("div", "".join(parts), style=CARD)


def _notes(release: Released) -> Iterable[tuple[str, str]]:
    words = said(release)
    return zip((WORDS[note.kind] for note in release.notes), words, strict=True)


def _note(kind: str, words: str) -> str:
    return text(
        "p", words[:1].upper() + words[1:], style=_WARNING if kind == "warning" else _REMARK
    )


def _facts(release: Released) -> str:
    row = release.means[0]
    facts = [
        ("interval", f"{ends}, {what} ({proved})") for ends, what, proved, _ in intervals_told(row)
    ]
    if row.intervals:
        facts.append(("half-width is made of", intervals_told(row)[0][3]))
    if row.clip:
        facts.append(
            ("records beyond these were clipped", f"{row.clip[0]:.6g} to {row.clip[1]:.6g}")
        )
    return facts_table(facts)


def facts_table(facts: Sequence[tuple[str, str]]) -> str:
    """Return names and words, one pair in a line."""
    rows = (
        element("tr", text("th", name, style=_LEFT, scope="row") + text("td", words, style=_LEFT))
        for name, words in facts
    )
    return element("table", "".join(rows)) if facts else ""


def table(release: Released) -> str:
    """Return the rows of a release; what is beyond the first sixty is folded away."""
    head, rows = header_told(release), [cells_told(release, row) for row in release]
    shown = rows_table(head, rows[:_MOST_ROWS])
    if len(rows) <= _MOST_ROWS:
        return shown
    folded = rows_table(head, rows[_MOST_ROWS:])
    words = f"{len(rows) - _MOST_ROWS} more rows"
    return shown + element("details", text("summary", words) + folded)


def rows_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table: names on the left, numbers on the right."""

    def line(tag: str, line_cells: Sequence[str]) -> str:
        styles = (_LEFT, *[_RIGHT] * (len(line_cells) - 1))
        drawn = (
            text(tag, cell, style=style) for cell, style in zip(line_cells, styles, strict=True)
        )
        return element("tr", "".join(drawn))

    return element("table", line("th", head) + "".join(line("td", row) for row in rows))


def plan_cell(plan: PricedRequest, promised: Prediction, curve: Curve | None) -> str:
    """Return a plan: how the budget is divided, what it predicts, the advice, and a picture."""
    size = "unknown" if plan.n is None else f"{plan.n:,}"
    head = f"{plan.method}, n = {size}, {plan.budget}, {plan.unit}"
    parts = [text("p", head, style="font-size:1.1em;margin:.2em 0")]
    parts += [
        text("p", line.strip(), style="margin:.2em 0") for line in predictions(plan, promised)
    ]
    notes = (*weak_budget(plan.budget, plan.unit), *promised.notes)
    parts += [_note("warning", f"advice: {note}") for note in notes]
    steps = plan.shares()
    parts.append(steps_bar([(name, part) for name, part, _ in steps], 640.0))
    parts.append(facts_table([(name, purpose) for name, _, purpose in steps]))
    if curve is not None:
        parts.append(plan_picture(plan, curve, 640.0))
    return element("div", "".join(parts), style=CARD)
