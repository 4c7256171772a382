"""``tametail plan``: what a release will cost and bring, from public numbers alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import click

from tametail._json import Json
from tametail.api.planning import epsilon_for, sample_size
from tametail.cli.messages import in_options
from tametail.cli.request import plan_of, request_options, tail_of
from tametail.errors import ParameterError
from tametail.means import plain
from tametail.planning import Plan
from tametail.show.numbers import given, percent
from tametail.statistic import MEAN, STATISTICS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@click.command("plan")
@request_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--error",
    type=float,
    help=("Find the n (or, with -n, the epsilon) for a CI of this half-width."),
)
@click.option(
    "--relative-error",
    type=float,
    help="The same in standard deviations of lognormal data, without an assumption.",
)
@click.option(
    "--plot", "picture", metavar="FILE.png", help=("Plot the error by number of records.")
)
@click.option("--n-columns", type=int, default=1, show_default=True, help="Number of columns.")
@click.option(
    "--statistic",
    type=click.Choice(list(STATISTICS)),
    default="mean",
    show_default=True,
    help="What is to be released.",
)
@click.option(
    "--level", "--q", "q", type=float, multiple=True, help="With quantile: a level. Repeatable."
)
def plan_command(
    error: float | None,
    relative_error: float | None,
    picture: str | None,
    as_json: bool,
    **request: Any,
) -> None:
    """Plan a release from public numbers. No data are read and no budget is spent.

    With --error (and --moment or --bounds) or --relative-error, the smallest n for the budget is
    found, or with -n the smallest epsilon, whose interval has at most that half-width.
    """
    request["q"] = list(request["q"]) or None
    is_asked = error is not None or relative_error is not None
    if request["n_columns"] != 1 and (is_asked or picture is not None):
        raise click.UsageError("--error and --plot require one column. Remove --n-columns.")
    others = {"person": "--person", "by": "--by", "weights": "--weights"}
    beside = [option for name, option in others.items() if request[name]]
    beside += ["--statistic"] * (request["statistic"] != MEAN)
    if is_asked and beside:
        raise click.UsageError(
            f"--error finds a size for the mean of all records. Remove {' and '.join(beside)}, or "
            "plan with several values of -n and compare the accuracy."
        )
    if is_asked:
        request |= _answer(error, relative_error, **request)
    elif request["n"] is None:
        raise click.UsageError("Missing size. Add -n 10000, or --error 5 to find it.")
    planned = plan_of(**request)
    if picture is not None:
        _save(planned, picture)
    if as_json:
        confidence = request["confidence"] or 0.95
        predicted = {
            "rmse": planned.rmse,
            "relative_rmse": planned.relative_rmse,
            "half_width": planned.half_width(confidence),
            "reference_half_width": planned.half_width(confidence, distribution="reference"),
            "advice": planned.advice,
        }
        found = {key: plain(value) for key, value in predicted.items()}
        click.echo(json.dumps(planned.to_dict() | found, indent=2, allow_nan=False))
        return
    for size, units in ((error, ""), (relative_error, " standard deviations")):
        if size is not None:
            level = percent(request["confidence"])
            needs = f"{planned.n:,} records at {planned.budget}"
            click.echo(f"A {level} CI of ±{given(size)}{units} needs {needs}.")
    click.echo(in_options(str(planned)))


def _answer(error: float | None, relative_error: float | None, **request: Any) -> Json:
    """Find the number that is missing: n for a budget, or epsilon for an n."""
    if request["target"] != "population" or request["confidence"] is None:
        raise click.UsageError("--error requires --target population and a confidence level.")
    common = {
        "relative_error": relative_error,
        "confidence": request["confidence"],
        "neighbors": request["neighbors"],
    }
    tail = tail_of(request["moment"], request["bounds"])
    budget = {name: request[name] for name in ("epsilon", "delta", "rho")}
    if request["n"] is None:
        return {"n": sample_size(error, tail=tail, **budget, **common)}
    if any(value is not None for value in budget.values()):
        raise click.UsageError("Use two of -n, --error and a budget, not all three.")
    return {"epsilon": epsilon_for(error, n=request["n"], tail=tail, **common)}


def _save(planned: Plan, picture: str) -> None:
    figure = cast("Figure", planned.plot().figure)
    try:
        figure.savefig(picture)
    except (OSError, ValueError) as error:
        raise ParameterError(
            f"--plot {picture!r} cannot be written: {error}. Check the path."
        ) from None
    click.echo(f"wrote {picture}", err=True)
