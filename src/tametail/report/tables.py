"""The table of a release as text for documents: Markdown and LaTeX.

Under the table stand what the intervals are for, the guarantee and every note: a table that is
copied takes its warnings along.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from tametail.released import Released
from tametail.show.release import mark
from tametail.show.tables import Table, table_of
from tametail.show.warnings import notes_shown

#: Signs with which Markdown begins something else than text, within a line or a cell.
_MARKDOWN: Final = re.compile(r"([\\`*_\[\]<>|#~&$])")

_NUMBER: Final = re.compile(r"-?[0-9,.]+(?:e-?[0-9]+)?")

#: Signs of LaTeX, and how it writes them.
_LATEX: Final = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    "±": r"$\pm$", "-": "{-}", "[": "{[}", "]": "{]}", "`": "{`}", "'": "{'}",
}  # fmt: skip


def markdown_text(release: Released) -> str:
    """Return the rows as a table of Markdown, with everything that is to be said below it.

    >>> import tametail as tt
    >>> print(markdown_text(tt.mean([1.0, 2.0] * 500, epsilon=1)).splitlines()[1])
    | :-- | --: | --: | --: |
    """
    shown = table_of(release)
    head, *rows = _rows(shown, markdown)
    signs = (":--", *("--:" for _ in head[1:]))
    lines = [f"| {' | '.join(cells)} |" for cells in (head, signs, *rows)]
    notes = [f"- {markdown(line)}" for line in _notes(release)]
    below = ["", markdown(_caption(release, shown)), *([""] if notes else []), *notes]
    return "\n".join([*lines, *below]) + "\n"


def latex_text(release: Released) -> str:
    r"""Return the rows as a table of LaTeX that needs no package; all that is said is its caption.

    >>> import tametail as tt
    >>> print(latex_text(tt.mean([1.0, 2.0] * 500, epsilon=1)).splitlines()[2])
    \begin{tabular}{lrrr}
    """
    shown = table_of(release)
    head, *rows = _rows(shown, latex)
    rows = [[name, *map(_latex_number, cells)] for name, *cells in rows]
    sides = "l" + "r" * (len(head) - 1)
    below = " ".join([_caption(release, shown), *_notes(release)])
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\begin{{tabular}}{{{sides}}}",
        r"\hline",
        *(f"{' & '.join(cells)} \\\\" for cells in (head,)),
        r"\hline",
        *(f"{' & '.join(cells)} \\\\" for cells in rows),
        r"\hline",
        r"\end{tabular}",
        rf"\caption{{{latex(below)}}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def markdown(words: str) -> str:
    r"""Return words as Markdown shows them, whatever signs they hold.

    >>> print(markdown("a|b_c"))
    a\|b\_c
    """
    return _MARKDOWN.sub(r"\\\1", _line(words))


def latex(words: str) -> str:
    r"""Return words as LaTeX shows them, whatever signs they hold.

    >>> print(latex("5% of a_b"))
    5\% of a\_b
    """
    return "".join(_LATEX.get(sign, sign) for sign in _line(words))


def _latex_number(cell: str) -> str:
    """Return a cell that is a number with the signs of mathematics; any other one as it is."""
    found = _NUMBER.fullmatch(cell.replace("{-}", "-"))
    return cell if found is None else f"${found[0].replace(',', '{,}')}$"


def _line(words: str) -> str:
    """Return words in one line: an empty one would end a table."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in words).split())


def _rows(shown: Table, escaped: Callable[[str], str]) -> list[list[str]]:
    rows = [shown.head, *(row.cells for row in shown.rows)]
    return [[escaped(cell) for cell in row] for row in rows]


def _caption(release: Released, shown: Table) -> str:
    """Return what the intervals rest on, what marks stand for, and the guarantee."""
    marks = (f"{letter}: {words}." for letter, words in shown.footnotes)
    said = [shown.caption, *marks, f"Privacy: {release.guarantee}"]
    return mark(release) + " ".join(words for words in said if words)


def _notes(release: Released) -> list[str]:
    """Return every note, warnings first."""
    return [f"{note.kind.capitalize()}: {note.text}" for note in notes_shown(release)]
