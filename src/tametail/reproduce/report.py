"""The report: a table of claims, then sections of words, tables and charts; Markdown and HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from html import escape
from pathlib import Path
from typing import SupportsFloat

_STYLE = """
body { font-family: Georgia, serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; line-height: 1.5; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.9rem; }
th, td { padding: 0.2rem 0.7rem; text-align: right; border-bottom: 1px solid #ddd; }
td:first-child { text-align: left; }
th { border-bottom: 2px solid #888; }
img { max-width: 100%; }
code { font-size: 0.9em; }
"""

#: Where the table of claims ends and the sections begin.
SECTIONS = "<!-- sections -->"


class Verdict(StrEnum):
    """What a measurement says about a claim, from the best to the worst."""

    HOLDS = "holds"
    UNDECIDED = "undecided"
    FAILS = "FAILS"


@dataclass(frozen=True, slots=True)
class Check:
    """A claim of the theory, what was measured, and how far off it may be.

    It holds if the measurement, with two standard errors on either side, is within the tolerance,
    fails if it is outside with two standard errors, and is undecided in between.
    """

    claim: str
    theory: str
    measured: str
    tolerance: str
    verdict: Verdict

    def __str__(self) -> str:
        """Return one line."""
        return (
            f"{self.verdict}: {self.claim}: {self.measured} "
            f"(theory {self.theory}; tolerance {self.tolerance})"
        )


@dataclass(frozen=True, slots=True)
class Table:
    """A table; its cells are shown as they print."""

    head: Sequence[str]
    rows: Sequence[Sequence[object]]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a chart; measured ones have points, theory has none.

    Lines of one ``panel`` are drawn together; lines of one label share an entry of the legend.
    """

    label: str
    x: Sequence[float]
    y: Sequence[SupportsFloat]
    style: str = "o-"
    color: int = 0
    panel: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart; ``name`` is that of its file, without suffix."""

    name: str
    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    log_x: bool = True
    log_y: bool = True


@dataclass(frozen=True, slots=True)
class Section:
    """What one experiment shows."""

    title: str
    words: Sequence[str]
    checks: Sequence[Check] = ()
    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """All sections, and a preamble that says how they were made."""

    title: str
    preamble: Sequence[str]
    sections: Sequence[Section] = field(default=())

    @property
    def checks(self) -> list[Check]:
        """All checks, in order."""
        return [check for section in self.sections for check in section.checks]

    @property
    def claims(self) -> Table:
        """Every claim in a row: theory, measurement, tolerance and verdict."""
        return Table(
            ["claim", "theory", "measured", "tolerance", "verdict"],
            [
                [check.claim, check.theory, check.measured, check.tolerance, check.verdict]
                for check in self.checks
            ],
        )

    def write(self, folder: Path) -> None:
        """Write ``report.md`` and ``report.html``; the pictures lie beside them."""
        (folder / "report.md").write_text(markdown(self), encoding="utf-8")
        (folder / "report.html").write_text(html(self), encoding="utf-8")


def markdown(report: Report) -> str:
    """Return the report as Markdown.

    >>> section = Section("Slopes", ["Words."], tables=[Table(["k"], [[2]])])
    >>> print(markdown(Report("Paper", [], [section])))
    # Paper
    <BLANKLINE>
    | claim | theory | measured | tolerance | verdict |
    | :--- | ---: | ---: | ---: | ---: |
    <BLANKLINE>
    <!-- sections -->
    <BLANKLINE>
    ## Slopes
    <BLANKLINE>
    Words.
    <BLANKLINE>
    | k |
    | :--- |
    | 2 |
    <BLANKLINE>
    """
    blocks = [f"# {report.title}", *report.preamble, _markdown_table(report.claims), SECTIONS]
    for section in report.sections:
        blocks += [f"## {section.title}", *section.words]
        blocks += [f"![{chart.title}]({chart.name}.png)" for chart in section.charts]
        blocks += [_markdown_table(table) for table in section.tables]
    return "\n\n".join(blocks) + "\n"


def _markdown_table(table: Table) -> str:
    rows = [table.head, [":---", *["---:"] * (len(table.head) - 1)], *table.rows]
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def html(report: Report) -> str:
    """Return the report as one HTML page that needs nothing but its pictures.

    >>> "<h1>a &lt; b</h1>" in html(Report("a < b", []))
    True
    """
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
        f"<title>{escape(report.title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(report.title)}</h1>",
        *map(_paragraph, report.preamble),
        _html_table(report.claims),
    ]
    for section in report.sections:
        parts += [f"<h2>{escape(section.title)}</h2>", *map(_paragraph, section.words)]
        for chart in section.charts:
            title = escape(chart.title)
            parts.append(f'<p><img src="{chart.name}.png" alt="{title}"></p>')
        parts += map(_html_table, section.tables)
    return "\n".join([*parts, "</body></html>\n"])


def _paragraph(words: str) -> str:
    return f"<p>{escape(words)}</p>"


def _html_table(table: Table) -> str:
    def row(cells: Sequence[object], tag: str) -> str:
        inside = "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells)
        return f"<tr>{inside}</tr>"

    rows = [row(table.head, "th"), *(row(cells, "td") for cells in table.rows)]
    return "<table>" + "\n".join(rows) + "</table>"
