"""``tametail sum | count | quantile | describe | regression``: other statistics than the mean."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from copy import copy
from typing import Any, Final

import click

from tametail.cli.mean import mean_command, release

#: Options of the mean that other statistics do not have, and what they stand at.
_OF_MEANS: Final[dict[str, object]] = {
    "plan_file": None, "moment": None, "bounds": None, "same_scale": False, "n_records": None,
    "missing": "skip", "each": "record", "target": "population", "weights": None,
    "within": None,
}  # fmt: skip

_LEVELS = click.Option(
    ["--level", "--q", "q"],
    type=float,
    multiple=True,
    default=(0.5,),
    show_default=True,
    help="Level of a quantile between 0 and 1, such as 0.9. Repeatable: all from one budget.",
)


def _command(
    name: str, short: str, words: str, own: tuple[str, ...], extra: Sequence[click.Option] = (),
    **fixed: object,
) -> click.Command:  # fmt: skip
    """Return the command of a statistic, which has some options of the mean as its ``own``."""
    left_out = {key: value for key, value in _OF_MEANS.items() if key not in own} | fixed
    options = [_fitting(each, name) for each in mean_command.params if each.name not in left_out]

    @click.pass_context
    def run(ctx: click.Context, /, **given: Any) -> None:
        if "q" in given:
            given["q"] = list(given["q"])
            _refuse_levels(given["files"])
        said = given | left_out
        if "y" in given:
            x = [name.strip() for names in said.pop("x") for name in names.split(",")]
            said["columns"] = (said.pop("y"), *x)
        release(ctx, statistic=name, **said)

    return click.Command(
        name, params=[*extra, *options], callback=run, help=words, short_help=short
    )


#: What stands in the help of the mean for the mean, by option.
_MEANS: Final = {
    "by": "one mean",
    "columns": " Repeatable for several means.",
    "within": "the mean (not the values)",
    "target": "the mean",
    "each": "average all records, or one mean per person",
}

#: What another statistic says in its place.
_OTHERS: Final[dict[str, dict[str, str]]] = {
    "sum": {"by": "one sum"},
    "count": {"by": "one count"},
    "quantile": {
        "by": "the quantiles", "within": "the quantiles", "target": "quantiles",
        "each": "only person is possible: quantiles of one mean per person",
    },
    "describe": {
        "by": "all statistics", "target": "the statistics", "within": "the mean and the quantiles",
    },
    "regression": {},
}  # fmt: skip


def _fitting(option: click.Parameter, name: str) -> click.Parameter:
    """Return an option of the mean with help about another statistic."""
    words = _MEANS.get(option.name or "")
    if words is None or not isinstance(option, click.Option) or option.help is None:
        return option
    fitting = copy(option)
    fitting.help = option.help.replace(words, _OTHERS[name].get(option.name or "", ""))
    return fitting


def _refuse_levels(files: Iterable[str]) -> None:
    """Refuse a level that is given as a file, as in ``-q 0.9``: -q is --quiet in all commands."""
    for file in files:
        with suppress(ValueError):
            if 0 <= float(file) <= 1 and not os.path.exists(file):
                raise click.UsageError(
                    f"-q means --quiet, so {file} was read as a file. Use --level {file}. No "
                    "budget was spent."
                )


sum_command = _command(
    "sum",
    "Release the sum of a column.",
    "Release the sum of a column, with an interval for the sum of these records. DATA and options "
    "are those of `tametail mean`.",
    ("bounds",),
    target="data",
)
count_command = _command(
    "count",
    "Release the number of records or people.",
    "Release how many records there are, or have a number in a column; with --person, how many "
    "persons. DATA and options are those of `tametail mean`.",
    (),
    target="data",
)
quantile_command = _command(
    "quantile",
    "Release quantiles, such as the median.",
    "Release quantiles of a column, with intervals that hold for every distribution. DATA and "
    "options are those of `tametail mean`; with --person write --each person.",
    ("each", "target", "within"),
    (_LEVELS,),
)
describe_command = _command(
    "describe",
    "Release count, mean, sum and quantiles together.",
    "Release count, mean, sum and the quantiles 5, 25, 50, 75 and 95% of a column from one budget. "
    "DATA and options are those of `tametail mean`.",
    ("target", "within"),
)
regression_command = _command(
    "regression",
    "Release a linear regression (experimental).",
    "Release the coefficients of a linear regression (experimental). It takes --rho, or --epsilon "
    "and --delta. DATA and options are those of `tametail mean`.",
    (),
    (
        click.Option(["--y"], required=True, metavar="NAME", help="Column that is explained."),
        click.Option(
            ["--x"],
            required=True,
            multiple=True,
            metavar="A,B,...",
            help="Columns that explain it, or expressions without commas. Repeatable.",
        ),
    ),
    columns=(), person=(), by=(), keys=None, keys_file=None, groups_per_person=None,
    other=None,
)  # fmt: skip
