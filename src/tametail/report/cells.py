"""Cells of a notebook: small tables with styles of their own, since a notebook strips others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tametail.drawing.bars import steps_bar
from tametail.markup import element, text
from tametail.pictures.intervals import interval_picture
from tametail.pictures.planning import Curve, plan_picture
from tametail.plans import Prediction, PricedRequest
from tametail.privacy.odds import weak_budget
from tametail.released import Released
from tametail.show.intervals import details_of
from tametail.show.plan import headline, predictions
from tametail.show.release import data_words
from tametail.show.sentences import findings
from tametail.show.tables import table_of
from tametail.show.warnings import notes_shown, one_per_cause

_LEFT = "text-align:left;vertical-align:top"
_RIGHT = "text-align:right;font-variant-numeric:tabular-nums"
CARD = "max-width:46em;line-height:1.5"
_WARNING = "border-left:4px solid #b45309;padding:.2em .8em;margin:.6em 0"
_REMARK = "border-left:4px solid #888;padding:.2em .8em;margin:.6em 0"

#: More rows than this are folded away.
_MOST_ROWS = 60


def release_cell(release: Released) -> str:
    """Return a release: warnings, the sentence, the picture, the table, notes and details.

    >>> import tametail as tt
    >>> "<svg" in release_cell(tt.mean([1.0, 2.0] * 500, epsilon=1))
    True
    """
    single = len(release) == 1 and release.groups is None
    notes = notes_shown(release)
    parts = [_note(note.kind, note.text) for note in notes if note.kind == "warning"]
    parts.append(text("p", findings(release), style="font-size:1.1em;margin:.2em 0"))
    parts.append(interval_picture(release, 640.0))
    parts.append("" if single or not release.means else table(release))
    parts += [_note(note.kind, note.text) for note in notes if note.kind == "note"]
    parts.append(_details(release) if single else text("p", release.guarantee, style="opacity:.8"))
    return element("div", "".join(parts), style=CARD)


def _note(kind: str, words: str) -> str:
    return text("p", words, style=_WARNING if kind == "warning" else _REMARK)


def _details(release: Released) -> str:
    row = release.means[0]
    facts = [("data", data_words(release, row)), *details_of(release, row)]
    facts.append(("privacy", str(release.guarantee)))
    shown = facts_table([(name, words) for name, words in facts if words])
    return element("details", text("summary", "Details") + shown)


def facts_table(facts: Sequence[tuple[str, str]]) -> str:
    """Return names and words, one pair in a line."""
    rows = (
        element("tr", text("th", name, style=_LEFT, scope="row") + text("td", words, style=_LEFT))
        for name, words in facts
    )
    return element("table", "".join(rows)) if facts else ""


def table(release: Released) -> str:
    """Return the rows of a release; what is beyond the first sixty is folded away."""
    found = table_of(release)
    rows = [row.cells for row in found.rows]
    shown = rows_table(found.head, rows[:_MOST_ROWS])
    if len(rows) > _MOST_ROWS:
        words = f"{len(rows) - _MOST_ROWS} more rows"
        folded = rows_table(found.head, rows[_MOST_ROWS:])
        shown += element("details", text("summary", words) + folded)
    under = [found.caption, *(f"{mark}: {words}." for mark, words in found.footnotes)]
    return shown + text("p", " ".join(under), style="opacity:.8")


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
    """Return a plan: what it predicts, warnings, how the budget is divided, and a picture."""
    steps = plan.shares()
    notes = (*weak_budget(plan.budget, plan.adjacency), *promised.notes)
    parts = [text("p", headline(plan), style="font-size:1.1em;margin:.2em 0")]
    parts.append(facts_table(list(predictions(plan, promised))))
    parts += [_note(note.kind, note.text) for note in one_per_cause(notes)]
    parts.append(steps_bar([(name, part) for name, part, _ in steps], 640.0))
    parts.append(facts_table([(name, purpose) for name, _, purpose in steps]))
    if curve is not None:
        parts.append(plan_picture(plan, curve, 640.0))
    return element("div", "".join(parts), style=CARD)
