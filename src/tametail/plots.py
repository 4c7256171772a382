"""Pictures of releases and plans, with the extra ``plots`` (matplotlib).

Everything drawn is in the release or in the plan already: a picture costs no budget. Nothing is
shown on a screen; the axes are returned, and ``ax.figure.savefig(...)`` writes them.
"""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING

from tametail.errors import MissingExtraError
from tametail.explain import name_of
from tametail.tail import Bounded, Moment, Tail
from tametail.theory import lower_bound

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tametail.planning import Plan
    from tametail.release import Mean, Release

#: One colour per part of an interval.
_COLOURS = {
    "noise": "#3b6ea5",
    "sampling": "#7fb069",
    "truncation": "#e6aa68",
    "rounding": "#999999",
}

#: A plan for unknown n is drawn around this one.
_USUAL_SIZE = 10_000


def plot_release(release: Release, ax: Axes | None = None) -> Axes:
    """Draw the value, the interval and what its half-width is made of.

    The parts are stacked outwards from the value. The interval itself may end before they do: it
    stays within the clip points and within what the caller said about the mean.

    >>> import tametail as tt
    >>> import matplotlib; matplotlib.use("Agg")
    >>> plot_release(tt.mean([1.0, 2.0] * 500, epsilon=1)).get_xlabel()
    'mean'
    """
    if release.groups is not None:
        return _plot_groups(release, _axes(ax, height=1.6 + 0.22 * len(release)))
    ax = _axes(ax, height=1.8 + 0.4 * len(release))
    for place, row in enumerate(release):
        _draw_row(ax, release, row, -float(place))
    ax.set_ylim(0.4 - len(release), 1.9)
    if len(release) == 1:
        ax.set_yticks([])
    else:
        ax.set_yticks([-float(place) for place in range(len(release))], labels=release.columns)
    ax.set_xlabel("mean")
    ax.legend(loc="upper center", ncols=2, fontsize="x-small", frameon=False)
    ax.set_title(textwrap.fill(str(release.guarantee), 90), fontsize="small", loc="left")
    return ax


def _plot_groups(release: Release, ax: Axes) -> Axes:
    """Draw a dot for the mean of each group, and whiskers for its interval; the first on top."""
    heights = [-float(place) for place in range(len(release))]
    for height, row in zip(heights, release, strict=True):
        if row.low is not None and row.high is not None:
            ax.plot([row.low, row.high], [height, height], "-", color=_COLOURS["noise"], lw=1.5)
        colour = _COLOURS["truncation"] if row.assumption_doubtful else "black"
        ax.plot([row.value], [height], "o", color=colour, markersize=4)
    several = release.plan.dim > 1
    names = [f"{name_of(row)}: {row.column}" if several else name_of(row) for row in release]
    ax.set_yticks(heights, labels=names, fontsize="small")
    ax.set_ylim(0.6 - len(release) if heights else -1.0, 0.6)
    ax.set_xlabel("mean")
    ax.grid(axis="x", color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.set_title(textwrap.fill(str(release.guarantee), 90), fontsize="small", loc="left")
    return ax


def _draw_row(ax: Axes, release: Release, row: Mean, height: float) -> None:
    """Draw one mean at a height; only the first is explained in the legend."""
    start, first, sizes = 0.0, height == 0, len(release) == 1
    for name, size in (row.parts or {}).items():
        label = (f"{name} ±{size:.3g}" if sizes else name) if first else None
        for sign in (-1, 1):
            ax.barh(
                height, sign * size, left=row.value + sign * start, height=0.5,
                color=_COLOURS.get(name, "#777777"), label=label if sign > 0 else None,
            )  # fmt: skip
        start += size
    if row.low is not None and row.high is not None and release.confidence is not None:
        words = f"{100 * release.confidence:g}% interval for the {row.interval_for}"
        ends = [row.low, row.high], [height, height]
        ax.plot(*ends, "k|-", markersize=14, label=words if first else None)
    words = f"mean {row.value:.6g}" if sizes else "mean"
    ax.plot([row.value], [height], "ko", label=words if first else None)


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
    ax.loglog(sizes, errors, "o-", color=_COLOURS["noise"], markersize=3, label=str(plan.budget))
    label, floor = _floor(plan, sizes)
    ax.loglog(sizes, floor, "--", color="black", label=label)
    if plan.n is not None:
        ax.axvline(plan.n, color=_COLOURS["rounding"], linewidth=0.8)
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
