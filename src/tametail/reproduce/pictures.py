"""The charts of a report as PNG files, with the extra ``plots`` (matplotlib)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tametail.errors import MissingExtraError

if TYPE_CHECKING:
    from tametail.reproduce.report import Chart

#: Told apart by people who see colours differently (after Okabe and Ito).
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")


def check_pictures() -> None:
    """Refuse at once if pictures cannot be drawn, not after minutes of work."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "the report has pictures, which need matplotlib: write pip install 'tametail[plots]'."
        ) from None


def draw(chart: Chart, folder: Path) -> None:
    """Write ``folder/<name>.png``."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 4.6), layout="constrained", dpi=110)
    axes = figure.add_subplot()
    for line in chart.lines:
        colour = _COLOURS[line.colour % len(_COLOURS)]
        axes.plot(line.x, line.y, line.style, color=colour, markersize=4, label=line.label)
    if chart.log_x:
        axes.set_xscale("log")
    if chart.log_y:
        axes.set_yscale("log")
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)
    axes.set_title(chart.title, fontsize="medium", loc="left")
    axes.grid(visible=True, alpha=0.25)
    # Beside the axes: no line hides behind its name.
    axes.legend(fontsize="small", frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.savefig(folder / f"{chart.name}.png")
