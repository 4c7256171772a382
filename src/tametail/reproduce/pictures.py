"""The charts of a report as PNG files, with the extra ``plots`` (matplotlib)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tametail.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.artist import Artist

    from tametail.reproduce.report import Chart

#: Told apart by people who see colors differently (after Okabe and Ito).
_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")

#: Where a chart has no more places than these, each is marked.
_MOST_TICKS = 6


def short(number: float) -> str:
    """Return a number as short as a tick can bear.

    >>> [short(x) for x in (0.05, 20, 5_000, 158_114, 3_162_278)]
    ['0.05', '20', '5000', '158k', '3.16M']
    """
    if number >= 1e6:
        return f"{number / 1e6:.3g}M"
    return f"{number / 1e3:.3g}k" if number >= 1e4 else f"{number:.4g}"


def check_pictures() -> None:
    """Refuse at once if pictures cannot be drawn, not after minutes of work."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtraError.of("A report with pictures", "plots") from None


def draw(chart: Chart, folder: Path) -> None:
    """Write ``folder/<name>.png``."""
    from matplotlib.figure import Figure

    places = sorted({x for line in chart.lines for x in line.x})
    panels = list(dict.fromkeys(line.panel for line in chart.lines))
    figure = Figure(figsize=(6.2 + 2.8 * len(panels), 4.6), layout="constrained", dpi=110)
    grid = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    for axes, panel in zip(grid, panels, strict=True):
        for line in chart.lines:
            if line.panel == panel:
                color = _COLORS[line.color % len(_COLORS)]
                y = [float(value) for value in line.y]
                axes.plot(line.x, y, line.style, color=color, markersize=4, label=line.label)
        axes.set_xscale("log" if chart.log_x else "linear")
        axes.set_yscale("log" if chart.log_y else "linear")
        if len(places) <= _MOST_TICKS:
            axes.set_xticks(places, map(short, places))
            axes.set_xticks([], minor=True)
        axes.set_xlabel(chart.x_label)
        axes.set_title(panel, fontsize="medium")
        axes.grid(visible=True, alpha=0.25)
    grid[0].set_ylabel(chart.y_label)
    figure.suptitle(chart.title, fontsize="medium", x=0.01, ha="left")
    # Beside the axes, once for all panels: no line hides behind its name.
    named: dict[str, Artist] = {}
    for axes in grid:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    figure.legend(
        named.values(), named.keys(), fontsize="small", frameon=False, loc="outside right upper"
    )
    figure.savefig(folder / f"{chart.name}.png")
