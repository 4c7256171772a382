"""The error that a plan predicts, against the number of records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tametail.drawing.frame import (
    ACCENT,
    Scale,
    bottom_axis,
    left_axis,
    line,
    path,
    picture,
    words,
    words_width,
)
from tametail.inequalities.lower_bounds import lower_bound
from tametail.markup import element
from tametail.plans import Prediction, PricedRequest
from tametail.tail import Bounded, Moment, Tail

#: A plan for unknown n is drawn around this one.
_USUAL_SIZE = 10_000

_SIZE = 13.0


@dataclass(frozen=True, slots=True)
class Curve:
    """Predicted errors at some sizes, what no algorithm or no plain mean can beat, and words."""

    sizes: tuple[int, ...]
    errors: tuple[float | None, ...]
    floor: tuple[float, ...]
    error_label: str
    floor_label: str


def curve_of(plan: PricedRequest, promised: Callable[[int], Prediction], steps: int = 4) -> Curve:
    """Return what a picture of a plan shows; ``promised`` says what a plan for n records does.

    With a ``Moment`` both curves are bounds over all laws that it allows: the plan's error, and
    :func:`tametail.theory.lower_bound` with and without privacy, whichever is larger. Otherwise
    the curve below is the error of the plain mean, without any privacy. ``steps`` is the number of
    points in a factor of ten: 2 are enough for ``Moment(2, ...)``, where straight lines between
    them are off by 0.3% at most.

    >>> import tametail as tt
    >>> curve = tt.plan(n=1000, epsilon=1).curve()
    >>> curve.sizes[8], curve.errors[-1] < curve.errors[8]
    (1000, True)
    """
    around = plan.n or _USUAL_SIZE
    factors = (10 ** (step / steps) for step in range(-2 * steps, 2 * steps + 1))
    sizes = tuple(sorted({max(2, round(around * factor)) for factor in factors}))
    found = list(map(promised, sizes))
    label, floor = _floor(plan, sizes)
    if _tail(plan) is None:
        errors = tuple(one.relative_rmse for one in found)
        what = "error in standard deviations\n(lognormal data, sigma = 1)"
    else:
        bounds = [one.rmse for one in found]
        errors = tuple(bound if isinstance(bound, float) else None for bound in bounds)
        what = "RMSE, at most"
    return Curve(sizes, errors, tuple(floor), what, label)


def _tail(plan: PricedRequest) -> Tail:
    """What the error is a bound for; several columns are drawn in standard deviations."""
    return plan.tails[0] if plan.n_columns == 1 else None


def _floor(plan: PricedRequest, sizes: tuple[int, ...]) -> tuple[str, list[float]]:
    tail = _tail(plan)
    if isinstance(tail, Moment):
        k, scale = tail.k, tail.scale
        privacy = {name: value for name, value in plan.budget.to_dict().items() if name != "kind"}
        floor = [
            max(
                lower_bound(n, k=k, scale=scale, neighbors=plan.adjacency.value, **privacy),
                lower_bound(n, k=k, scale=scale),
            )
            for n in sizes
        ]
        return "lower bound for any algorithm", floor
    deviation = (tail.high - tail.low) / 2 if isinstance(tail, Bounded) else 1.0
    return "mean without privacy", [deviation / n**0.5 for n in sizes]


def plan_picture(plan: PricedRequest, curve: Curve, width: float = 720.0) -> str:
    """Return the predicted error against n, over what cannot be beaten.

    >>> import tametail as tt
    >>> plan = tt.plan(n=1000, epsilon=1)
    >>> "number of records" in plan_picture(plan, plan.curve())
    True
    """
    known = [(n, error) for n, error in zip(curve.sizes, curve.errors, strict=True) if error]
    if not known:
        return ""
    values = [error for _, error in known] + list(curve.floor)
    left, top, bottom = 62.0, 44.0, 300.0
    across = Scale(curve.sizes[0], curve.sizes[-1], left, width - 18.0, log=True)
    up = Scale(min(values) / 1.4, max(values) * 1.4, bottom, top, log=True)
    drawn = [*left_axis(up, left, width - 18.0, _SIZE)]
    drawn += bottom_axis(across, top, bottom, f"number of {_things(plan)}", _SIZE)
    label = curve.error_label.replace("\n", " ")
    lines = [label] if words_width(label, _SIZE) < width else curve.error_label.split("\n")
    drawn += [words(one, 8.0, 18.0 + 16 * row, fill_opacity=0.75) for row, one in enumerate(lines)]
    floor = [(across.place(n), up.place(x)) for n, x in zip(curve.sizes, curve.floor, strict=True)]
    drawn.append(path(floor, stroke="currentColor", stroke_dasharray="5 5", stroke_opacity=0.65))
    found = [(across.place(n), up.place(error)) for n, error in known]
    drawn.append(path(found, stroke=ACCENT, stroke_width=3, stroke_linejoin="round"))
    here = next((error for n, error in known if n == plan.n), None)
    if plan.n is not None and here is not None:
        x, y = across.place(plan.n), up.place(here)
        drawn.append(line(x, y, x, bottom, stroke_dasharray="2 4", stroke_opacity=0.7))
        drawn.append(element("circle", cx=x, cy=y, r=6.0, fill=ACCENT))
        drawn.append(words(f"{here:.3g}", x + 12, y - 10, font_weight=600))
    drawn += _key(curve, str(plan.budget), left + 12, bottom - 34)
    given = "; ".join(f"at {n:,}: {error:.3g}" for n, error in known[:: max(1, len(known) // 4)])
    if here is not None:
        given = f"at {plan.n:,}, as planned: {here:.3g}; {given}"
    title = f"{curve.error_label.replace(chr(10), ' ')}, by number of {_things(plan)}"
    return picture(width, bottom + 46, title, given, drawn)


def _things(plan: PricedRequest) -> str:
    return "records" if plan.adjacency.person is None else "people"


def _key(curve: Curve, budget: str, x: float, y: float) -> list[str]:
    """Return what the lines are, in the corner that they leave free."""
    return [
        line(x, y, x + 24, y, stroke=ACCENT, stroke_width=3),
        words(f"this plan ({budget.partition(' (')[0]})", x + 32, y + 4),
        line(x, y + 20, x + 24, y + 20, stroke_dasharray="5 5", stroke_opacity=0.65),
        words(curve.floor_label, x + 32, y + 24),
    ]
