"""Pictures of releases and plans, with the extra ``plots`` (matplotlib).

Everything drawn is in the release or in the plan already: a picture costs no budget. Nothing is
shown on a screen; the axes are returned, and ``ax.figure.savefig(...)`` writes them.
"""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from tametail.drawing.axes import axes_above, new_axes
from tametail.drawing.frame import labels
from tametail.means import MEAN, MEAN_AS_SEEN, WINSORIZED, Mean
from tametail.pictures.intervals import span
from tametail.pictures.planning import Curve as PlanCurve
from tametail.pictures.tail import Curve
from tametail.plans import PricedRequest
from tametail.released import Released
from tametail.show.intervals import level, quote
from tametail.show.release import mark
from tametail.show.rows import name_of, value_of, where_of
from tametail.show.tables import mean_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: One color for each thing that an interval describes, for curves, and for lines that help.
_INTERVALS = {MEAN: "#222222", MEAN_AS_SEEN: "#3b6ea5", WINSORIZED: "#e08e2b"}
_CURVE, _GUIDE = "#3b6ea5", "#999999"


def plot_release(release: Released, ax: Axes | None = None) -> Axes:
    """Draw the values and their intervals, and say in words what each interval rests on.

    An end that is infinite is drawn as an arrow at the edge of the picture. A picture of one mean
    with a figure of its own has the private survival curve above: shares of records beyond, with
    bars of two standard deviations of their noise, clip points, the value and the intervals.

    >>> import tametail as tt
    >>> import matplotlib; matplotlib.use("Agg")
    >>> plot_release(tt.mean([1.0, 2.0] * 500, epsilon=1)).get_xlabel()
    'mean'
    """
    if release.groups is not None:
        return _plot_groups(release, new_axes(ax, height=1.6 + 0.22 * len(release)))
    curve = Curve.of(release.means[0]) if ax is None and len(release) == 1 else None
    ax = new_axes(ax, height=2.2 + 0.4 * len(release) + (3.4 if curve else 0.0))
    if curve is not None:
        _plot_curve(curve, release.means[0], axes_above(ax, 1.8))
    low, high = span(release)
    labeled: set[str] = set()
    for place, row in enumerate(release):
        words = f"{row.label} {value_of(row)}" if len(release) == 1 else row.statistic
        _draw_row(ax, release, row, -float(place), (low, high), words, labeled)
    ax.set_xlim(low, high)
    ax.set_ylim(0.4 - len(release), 0.6)
    if len(release) == 1:
        ax.set_yticks([])
    else:
        names = [name_of(release, row) for row in release]
        ax.set_yticks([-float(place) for place in range(len(release))], labels=names)
    ax.set_xlabel(mean_label(release))
    # Below the axes: however many words there are, they overrun nothing.
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.28), fontsize="x-small", frameon=False)
    return _titled(release, ax)


def _titled(release: Released, ax: Axes) -> Axes:
    """Write the guarantee above; of a fake, that it is one, across all of the figure."""
    about = f"Only records{where_of(release)}. " if where_of(release) else ""
    title = f"{mark(release)}{about}{release.guarantee}"
    ax.set_title(textwrap.fill(title, 90), fontsize="small", loc="left")
    if release.fake:
        word = ax.text(0.5, 0.5, "FAKE", ha="center", va="center", transform=ax.transAxes)
        word.set(fontsize=60, fontweight="bold", color="#b45309", alpha=0.3)
    return ax


def _plot_curve(curve: Curve, row: Mean, ax: Axes) -> None:
    """Draw how the records spread, on log axes."""
    ax.set_yscale("log")
    if curve.log:
        ax.set_xscale("log")
    else:
        ax.set_xscale("symlog", linthresh=curve.unit)
    ax.set_xlim(*curve.ends)
    ax.set_ylim(curve.least / 3, 1.0)
    dots = (*curve.below, *curve.above)
    bars = [[dot.share - dot.low for dot in dots], [dot.high - dot.share for dot in dots]]
    places, shares = [dot.place for dot in dots], [dot.share for dot in dots]
    ax.errorbar(places, shares, yerr=bars, fmt="o", color=_CURVE, markersize=3, elinewidth=1)
    if row.shape is not None:
        ax.plot(*zip(*curve.line(row.shape), strict=True), color=_CURVE, linewidth=1.2)
    for end in row.clip or ():
        ax.axvline(end - curve.origin, color=_GUIDE, linestyle="--", linewidth=0.9)
    ax.axvline(row.value - curve.origin, color="black", linestyle=":", linewidth=0.9)
    for one in row.intervals[:1]:
        ends = [end - curve.origin for end in (one.low, one.high)]
        ax.plot(ends, [curve.least / 1.5] * 2, "|-", color=_INTERVALS.get(one.kind, "black"))
    ticks = curve.ticks(0.08)
    ax.set_xticks(ticks, labels=labels(ticks))
    ax.set_xlabel(curve.label, fontsize="small")
    ax.set_ylabel("share of records beyond", fontsize="small")
    ax.set_title("noisy counts; dashed: clipping bounds", fontsize="small", loc="left")


def _plot_groups(release: Released, ax: Axes) -> Axes:
    """Draw a dot for the mean of each group, and whiskers for its interval; the first on top."""
    heights = [-float(place) for place in range(len(release))]
    for height, row in zip(heights, release, strict=True):
        if row.low is not None and row.high is not None:
            ax.plot([row.low, row.high], [height, height], "-", color=_CURVE, lw=1.5)
        color = _INTERVALS[WINSORIZED] if row.assumption_contradicted else "black"
        ax.plot([row.value], [height], "o", color=color, markersize=4)
    names = [name_of(release, row) for row in release]
    ax.set_yticks(heights, labels=names, fontsize="small")
    ax.set_ylim(0.6 - len(release) if heights else -1.0, 0.6)
    ax.set_xlabel(mean_label(release))
    ax.grid(axis="x", color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    return _titled(release, ax)


def _draw_row(
    ax: Axes,
    release: Released,
    row: Mean,
    height: float,
    span: tuple[float, float],
    mean: str,
    labeled: set[str],
) -> None:
    """Draw one mean with its interval; each kind is explained once."""

    def label(words: str) -> str | None:
        known = words in labeled
        labeled.add(words)
        return None if known else words

    for one in row.intervals[:1]:
        ends = [max(one.low, span[0]), min(one.high, span[1])]
        signs = ["<" if one.low == -math.inf else "|", ">" if one.high == math.inf else "|"]
        color = _INTERVALS.get(one.kind, "black")
        words = label(f"{level(release)}, {quote(release, row).qualifier}")
        ax.plot(ends, [height] * 2, color=color, label=words)
        for end, sign in zip(ends, signs, strict=True):
            ax.plot([end], [height], sign, color=color, markersize=9)
    ax.plot([row.value], [height], "ko", markersize=5, label=label(mean))


def plot_plan(plan: PricedRequest, curve: PlanCurve, ax: Axes | None = None) -> Axes:
    """Draw the predicted error against n, over what no algorithm can beat.

    What the curves are, :func:`tametail.pictures.planning.curve_of` says.

    >>> import tametail as tt
    >>> import matplotlib; matplotlib.use("Agg")
    >>> tt.plan(n=1000, epsilon=1).plot().get_xlabel()
    'number of records n'
    """
    ax = new_axes(ax, height=4.0)
    ax.loglog(curve.sizes, curve.errors, "o-", color=_CURVE, markersize=3, label=str(plan.budget))
    ax.loglog(curve.sizes, curve.floor, "--", color="black", label=curve.floor_label)
    ax.set_ylabel(curve.error_label)
    if plan.n is not None:
        ax.axvline(plan.n, color=_GUIDE, linewidth=0.8)
    ax.set_xlabel("number of records n")
    ax.set_title(f"{plan.method}, {plan.adjacency}", fontsize="small", loc="left")
    ax.legend(fontsize="small", frameon=False)
    return ax
