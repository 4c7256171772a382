"""Pictures of releases and plans, with the extra ``plots`` (matplotlib).

Everything drawn is in the release or in the plan already: a picture costs no budget. Nothing is
shown on a screen; the axes are returned, and ``ax.figure.savefig(...)`` writes them.
"""

from __future__ import annotations

import math
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING

from tametail.errors import MissingExtraError
from tametail.explain import name_of
from tametail.means import MEAN, MEAN_AS_SEEN, WINSORISED
from tametail.tail import Bounded, Moment, Tail
from tametail.theory import lower_bound

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tametail.means import Mean
    from tametail.planning import Plan
    from tametail.release import Release

#: One colour for each thing that an interval describes, for curves, and for lines that help.
_INTERVALS = {MEAN: "#222222", MEAN_AS_SEEN: "#3b6ea5", WINSORISED: "#e08e2b"}
_CURVE, _GUIDE = "#3b6ea5", "#999999"

#: A plan for unknown n is drawn around this one.
_USUAL_SIZE = 10_000


def plot_release(release: Release, ax: Axes | None = None) -> Axes:
    """Draw the values and their intervals, and say in words what each interval is for.

    An end that is infinite is drawn as an arrow at the edge of the picture.

    >>> import tametail as tt
    >>> import matplotlib; matplotlib.use("Agg")
    >>> plot_release(tt.mean([1.0, 2.0] * 500, epsilon=1)).get_xlabel()
    'mean'
    """
    if release.groups is not None:
        return _plot_groups(release, _axes(ax, height=1.6 + 0.22 * len(release)))
    ax = _axes(ax, height=2.2 + 0.4 * len(release))
    low, high = _span(release)
    labelled: set[str] = set()
    for place, row in enumerate(release):
        words = f"mean {row.value:.6g}" if len(release) == 1 else "mean"
        _draw_row(ax, row, -float(place), (low, high), words, labelled)
    ax.set_xlim(low, high)
    ax.set_ylim(0.4 - len(release), 0.6)
    if len(release) == 1:
        ax.set_yticks([])
    else:
        ax.set_yticks([-float(place) for place in range(len(release))], labels=release.columns)
    ax.set_xlabel("mean")
    # Below the axes: however many words there are, they overrun nothing.
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.28), fontsize="x-small", frameon=False)
    ax.set_title(textwrap.fill(str(release.guarantee), 90), fontsize="small", loc="left")
    return ax


def _plot_groups(release: Release, ax: Axes) -> Axes:
    """Draw a dot for the mean of each group, and whiskers for its interval; the first on top."""
    heights = [-float(place) for place in range(len(release))]
    for height, row in zip(heights, release, strict=True):
        if row.low is not None and row.high is not None:
            ax.plot([row.low, row.high], [height, height], "-", color=_CURVE, lw=1.5)
        colour = _INTERVALS[WINSORISED] if row.assumption_doubtful else "black"
        ax.plot([row.value], [height], "o", color=colour, markersize=4)
    names = [name_of(release, row) for row in release]
    ax.set_yticks(heights, labels=names, fontsize="small")
    ax.set_ylim(0.6 - len(release) if heights else -1.0, 0.6)
    ax.set_xlabel("mean")
    ax.grid(axis="x", color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.set_title(textwrap.fill(str(release.guarantee), 90), fontsize="small", loc="left")
    return ax


def _span(release: Release) -> tuple[float, float]:
    """Return how far the picture reaches: over all that is finite, and a little more."""
    ends = [end for row in release for one in row.intervals for end in (one.low, one.high)]
    finite = [end for end in ends if math.isfinite(end)] + [row.value for row in release]
    margin = 0.08 * (max(finite) - min(finite)) or 0.1 * abs(finite[0]) or 1.0
    return min(finite) - margin, max(finite) + margin


def _draw_row(
    ax: Axes, row: Mean, height: float, span: tuple[float, float], mean: str, labelled: set[str]
) -> None:
    """Draw one mean with its intervals; each kind is explained once."""

    def label(words: str) -> str | None:
        known = words in labelled
        labelled.add(words)
        return None if known else words

    for place, one in enumerate(row.intervals):
        ends = [max(one.low, span[0]), min(one.high, span[1])]
        marks = ["<" if one.low == -math.inf else "|", ">" if one.high == math.inf else "|"]
        colour, level = _INTERVALS.get(one.describes, "black"), height - 0.18 * place
        proved = "proved" if one.proved else "measured, not proved"
        words = label(f"interval for the {one.describes} ({proved})")
        ax.plot(ends, [level] * 2, color=colour, label=words)
        for end, mark in zip(ends, marks, strict=True):
            ax.plot([end], [level], mark, color=colour, markersize=9)
    ax.plot([row.value], [height], "ko", markersize=5, label=label(mean))


def plot_plan(plan: Plan, ax: Axes | None = None) -> Axes:
    """Draw the predicted error against n, over what no algorithm can beat.

    With a ``Moment`` both curves are bounds over all laws that it allows: the plan's error, and
    :func:`tametail.theory.lower_bound` with and without privacy, whichever is larger. Otherwise
    the curve below is the error of the plain mean, without any privacy.

    >>> import tametail as tt
    >>> import matplotlib; matplotlib.use("Agg")
    >>> plot_plan(tt.plan(n=1000, epsilon=1)).get_xlabel()
    'number of records n'
    """
    ax = _axes(ax, height=4.0)
    around = plan.n or _USUAL_SIZE
    sizes = sorted({max(2, round(around * 10 ** (step / 4))) for step in range(-8, 9)})
    plans = [replace(plan, n=None).with_size(size) for size in sizes]
    if _tail(plan) is None:
        errors = [made.relative_rmse for made in plans]
        ax.set_ylabel("error in standard deviations\n(lognormal records, sigma 1)")
    else:
        errors = [made.rmse if isinstance(made.rmse, float) else None for made in plans]
        ax.set_ylabel("root mean squared error, at most")
    ax.loglog(sizes, errors, "o-", color=_CURVE, markersize=3, label=str(plan.budget))
    label, floor = _floor(plan, sizes)
    ax.loglog(sizes, floor, "--", color="black", label=label)
    if plan.n is not None:
        ax.axvline(plan.n, color=_GUIDE, linewidth=0.8)
    ax.set_xlabel("number of records n")
    ax.set_title(f"{plan.method}, {plan.unit}", fontsize="small", loc="left")
    ax.legend(fontsize="small", frameon=False)
    return ax


def _tail(plan: Plan) -> Tail:
    """What the error is a bound for; several columns are drawn in standard deviations."""
    return plan.tails[0] if plan.dim == 1 else None


def _floor(plan: Plan, sizes: list[int]) -> tuple[str, list[float]]:
    tail = _tail(plan)
    if isinstance(tail, Moment):
        k, scale = tail.k, tail.scale
        privacy = {name: value for name, value in plan.budget.to_dict().items() if name != "kind"}
        floor = [
            max(
                lower_bound(n, k=k, scale=scale, unit=plan.unit.value, **privacy),
                lower_bound(n, k=k, scale=scale),
            )
            for n in sizes
        ]
        return "lower bound: no algorithm is better", floor
    deviation = (tail.high - tail.low) / 2 if isinstance(tail, Bounded) else 1.0
    return "the plain mean, without privacy", [deviation / n**0.5 for n in sizes]


def _axes(ax: Axes | None, height: float) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(
            "pictures need matplotlib: write pip install 'tametail[plots]'."
        ) from None
    # Not pyplot: no window, no backend, and nothing that keeps the figure alive.
    return Figure(figsize=(7.0, height), layout="constrained").add_subplot()
