"""Axes of matplotlib, with the extra ``plots``: made here, and shown by notebooks."""

from __future__ import annotations

import io
from functools import cache
from typing import TYPE_CHECKING, Any

from tametail.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def new_axes(ax: Axes | None, height: float) -> Axes:
    """Return the caller's axes, or new ones in a figure of their own."""
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(
            "pictures need matplotlib: write pip install 'tametail[plots]'."
        ) from None
    # Not pyplot: no window, no backend, and nothing that keeps the figure alive.
    figure = Figure(figsize=(7.0, height), layout="constrained")
    return figure.add_subplot(axes_class=_shown_axes())


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
