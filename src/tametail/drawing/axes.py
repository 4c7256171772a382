"""Axes of matplotlib, with the extra ``plots``: made here, and shown by notebooks."""

from __future__ import annotations

import io
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from tametail._shown import shown
from tametail.errors import MissingExtraError, ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def new_axes(ax: Axes | None, height: float) -> Axes:
    """Return the caller's axes, or new ones in a figure of their own."""
    if ax is not None and not hasattr(ax, "set_xlabel"):
        raise ParameterError(
            f"Invalid ax={shown(ax)}. Pass matplotlib axes, or use "
            "plot().figure.savefig('picture.png') to write a file."
        )
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError.of("A picture", "plots") from None
    # Not pyplot: no window, no backend, and nothing that keeps the figure alive.
    figure = Figure(figsize=(7.0, height), layout="constrained")
    return figure.add_subplot(axes_class=_shown_axes())


def axes_above(ax: Axes, height: float) -> Axes:
    """Return axes above others that fill their figure, so many times as high."""
    figure = cast("Figure", ax.figure)
    grid = figure.add_gridspec(2, 1, height_ratios=[height, 1.0])
    ax.set_subplotspec(grid[1])
    return figure.add_subplot(grid[0])


@cache
def _shown_axes() -> type[Axes]:
    """Return axes that a notebook shows as the picture that they are in."""
    from matplotlib.axes import Axes as Plain

    class ShownAxes(Plain):
        """Axes of a figure that nothing else would show."""

        name = "shown"

        def _repr_png_(self) -> bytes:
            text = io.BytesIO()
            figure: Any = self.figure
            figure.savefig(text, format="png", dpi=110)
            return text.getvalue()

    return ShownAxes
