"""Budgets as bars: how a plan divides one, and how much of a ledger's is spent."""

from __future__ import annotations

from collections.abc import Sequence

from tametail.drawing.frame import ACCENT, picture, words, words_width
from tametail.markup import element

#: From the first step to the last: the accent, paler and paler.
_SHADES = (1.0, 0.75, 0.55, 0.4, 0.28, 0.18)


def steps_bar(steps: Sequence[tuple[str, float]], width: float = 720.0) -> str:
    """Return how the budget is divided between steps, given as names and parts of any whole.

    >>> "center 25%" in steps_bar([("center", 0.25), ("sum", 0.75)])
    True
    """
    total = sum(part for _, part in steps) or 1.0
    drawn, x, row, room = [], 0.0, 0, 0.0
    for place, (name, part) in enumerate(steps):
        shade = _SHADES[place % len(_SHADES)]
        size = (width - 2) * part / total
        drawn.append(
            element("rect", x=x, y=0, width=max(size - 2, 1.0), height=18, rx=3, fill=ACCENT,
                    fill_opacity=shade)
        )  # fmt: skip
        x += size
        label = f"{name} {_percent(part / total)}"
        needed = words_width(label, 13) + 34
        if room + needed > width:
            row, room = row + 1, 0.0
        y = 42.0 + 22 * row
        drawn.append(
            element("rect", x=room, y=y - 10, width=11, height=11, rx=2, fill=ACCENT,
                    fill_opacity=shade)
        )  # fmt: skip
        drawn.append(words(label, room + 17, y))
        room += needed
    alone = ", ".join(f"{name} {_percent(part / total)}" for name, part in steps)
    return picture(width, 56.0 + 22 * row, "Budget split", alone, drawn)


def _percent(share: float) -> str:
    """Return a share in percent; what is spent is not nothing.

    >>> _percent(0.25), _percent(0.002)
    ('25%', '<1%')
    """
    return "<1%" if 0 < share < 0.005 else f"{100 * share:.0f}%"


def ledger_bar(share: float, width: float = 720.0) -> str:
    """Return how much of a budget is spent, ``share`` of one.

    >>> "25% spent" in ledger_bar(0.25)
    True
    """
    filled = max(0.0, min(1.0, share)) * width
    drawn = [
        element("rect", x=0, y=0, width=width, height=14, rx=7, fill="currentColor",
                fill_opacity=0.12),
        element("rect", x=0, y=0, width=max(filled, 1.0), height=14, rx=7, fill=ACCENT),
    ]  # fmt: skip
    given = f"{100 * share:.0f}% spent"
    return picture(width, 14.0, given, given, drawn)
