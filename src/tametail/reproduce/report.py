"""The report: sections of words, checks, tables and charts, as Markdown and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

_STYLE = """
body { font-family: Georgia, serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; line-height: 1.5; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.9rem; }
th, td { padding: 0.2rem 0.7rem; text-align: right; border-bottom: 1px solid #ddd; }
th { border-bottom: 2px solid #888; }
img { max-width: 100%; }
code { font-size: 0.9em; }
"""


@dataclass(frozen=True, slots=True)
class Check:
    """A statement of the theory, and whether the measurements agree with it."""

    statement: str
    holds: bool

    def __str__(self) -> str:
        return f"{'holds' if self.holds else 'FAILS'}: {self.statement}"


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
    y: Sequence[float]
    style: str = "o-"
    colour: int = 0
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
    ## Slopes
    <BLANKLINE>
    Words.
    <BLANKLINE>
    | k |
    | ---: |
    | 2 |
    <BLANKLINE>
    """
    blocks = [f"# {report.title}", *report.preamble]
    for section in report.sections:
        blocks += [f"## {section.title}", *section.words]
        if section.checks:
            blocks.append("\n".join(f"- {check}" for check in section.checks))
        blocks += [f"![{chart.title}]({chart.name}.png)" for chart in section.charts]
        blocks += [_markdown_table(table) for table in section.tables]
    return "\n\n".join(blocks) + "\n"


def _markdown_table(table: Table) -> str:
    rows = [table.head, ["---:"] * len(table.head), *table.rows]
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
    ]
    for section in report.sections:
        parts += [f"<h2>{escape(section.title)}</h2>", *map(_paragraph, section.words)]
        if section.checks:
            items = "".join(f"<li>{escape(str(check))}</li>" for check in section.checks)
            parts.append(f"<ul>{items}</ul>")
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
