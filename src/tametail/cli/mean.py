"""``tametail mean``: a private release of the mean of columns of files."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, BinaryIO, Final

import click

from tametail._shown import shown_path
from tametail.api.running import execute_plan
from tametail.cli.output import Output
from tametail.cli.parse_options import parse_of, written_options
from tametail.cli.progress import progress
from tametail.cli.request import groups_of, plan_of, request_options, text_of
from tametail.errors import DataError
from tametail.ledger import Payment, locators_of
from tametail.ledger.commands import ledger_option
from tametail.parse import Parse
from tametail.planning import Plan
from tametail.statistic import COUNT, RECORDS


@click.command("mean", short_help="Release the mean of columns, in total or by group.")
@click.argument("files", metavar="DATA...", nargs=-1, required=True, type=click.Path())
@click.option("--table", help="The table, if DATA is a database.")
@click.option(
    "-c",
    "--column",
    "columns",
    metavar="NAME",
    multiple=True,
    help=(
        'Column, or an expression such as "charge / nights". Optional for a single column. '
        "Repeatable for several means."
    ),
)
@click.option("--where", help='Use only records that match, such as "age >= 65".')
@request_options
@written_options
@click.option(
    "--plan", "plan_file", metavar="FILE.json", help=("Use a plan that `plan --json` wrote.")
)
@click.option("--details", is_flag=True, help="Also print clipping bounds and error components.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--answers", is_flag=True, help=("With --json: include the noisy answers, for replay.")
)
@click.option("--csv", "as_csv", is_flag=True, help="Print the table as CSV.")
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Print only the value (nan if unusable); warnings go to stderr.",
)
@click.option("--sentence", is_flag=True, help="Print the result as sentences to publish.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write to a file instead: .json, .csv, .md, .tex or .txt.",
)
@click.option("--report", metavar="FILE.html", help="Write a self-contained HTML report.")
@click.option("--strict", is_flag=True, help="Exit with code 5 if the release has a warning.")
@ledger_option
@click.option("--dataset", help="Name of these data in the ledger.")
@click.option(
    "--release-id",
    help=("Your ID for this release: repeating it returns the stored result and spends nothing."),
)
@click.option(
    "--dry-run",
    is_flag=True,
    help=("Print what would be spent and what would remain; release nothing."),
)
@click.pass_context
def mean_command(ctx: click.Context, /, **given: Any) -> None:
    """Release the mean of a column, or of several, of all rows of DATA together.

    DATA are Parquet, CSV, Arrow, JSON or Excel files, a folder of such files, a quoted pattern
    such as 'claims-*.csv', or - for standard input, which is CSV unless --format says otherwise.
    In a folder, year=2025/ is a column of all files below it. With --table it is a database:
    postgresql://host/db, or a file of DuckDB or SQLite. A password is read from PGPASSWORD or
    ~/.pgpass.
    """
    release(ctx, **given)


def release(
    ctx: click.Context,
    /,
    *,
    files: tuple[str, ...],
    table: str | None,
    columns: tuple[str, ...],
    where: str | None,
    plan_file: str | None,
    as_json: bool,
    as_csv: bool,
    quiet: bool,
    sentence: bool,
    details: bool,
    answers: bool,
    output: str | None,
    report: str | None,
    strict: bool,
    place: str | None,
    dataset: str | None,
    release_id: str | None,
    dry_run: bool,
    **request: Any,
) -> None:
    """Release what the options of a command ask for."""
    given = Output(as_json, as_csv, quiet, answers, output, report, sentence, details)
    given.check(files)
    data, written = _data(files), parse_of(request)
    if files == ("-",):
        written = written or Parse()
        written = replace(written, format=written.format or "csv")
    if plan_file is None:
        planned = plan_of(n_columns=len(columns) or 1, **request)
    else:
        person = request.pop("person") or None
        groups = {name: request.pop(name) for name in ("by", "keys", "keys_file", "other")}
        _check_left_alone(ctx, request)
        saved = Plan.from_json(text_of(plan_file))
        known = saved.request.groups
        asked = groups_of(**groups, cells=1 if known is None else len(known.by))
        planned = saved.about(person, None, **asked)
    planned = planned.about(None, where, written)
    # A ledger that only the environment names is used where data are named.
    payment = (
        None
        if dataset is None and release_id is None and _from_environment(ctx)
        else Payment.parse(place, dataset, release_id)
    )
    if dry_run:
        click.echo(_quote(payment, planned, locators_of(data, table)))
        return
    if planned.request.statistic == COUNT:
        columns = columns or (RECORDS,)
    with progress(quiet=quiet) as tell:
        # Without a plan of the user's, one is made once it is known which columns are conditions.
        wanted = planned.request if plan_file is None else planned
        found = execute_plan(wanted, data, columns or None, tell, payment, table)
    given.give(found)
    if strict and found.has_warnings:
        ctx.exit(WARNED)


#: The exit code of a release that is there, and has a warning, for those who asked for it.
WARNED: Final = 5


def _data(files: tuple[str, ...]) -> str | list[str] | BinaryIO:
    """Return what the files are to the library; standard input has not been read yet."""
    if files == ("-",):
        return sys.stdin.buffer
    if "-" in files:
        raise click.UsageError("- (standard input) cannot be combined with files. Use one of them.")
    if len(files) == 1:
        return files[0]
    for file in files:
        if not (os.path.exists(file) or glob.glob(file, recursive=True)):
            raise DataError(
                f"No file {shown_path(file)}. Check the path. Columns are named with --column, and "
                "a condition stands in quotes. No budget was spent."
            )
    return list(files)


def _from_environment(ctx: click.Context) -> bool:
    return ctx.get_parameter_source("place") is not click.core.ParameterSource.COMMANDLINE


def _quote(payment: Payment | None, planned: Plan, locator: tuple[str, ...]) -> str:
    if payment is None:
        return f"Dry run: would spend {planned.budget}. No ledger is charged."
    adjacency = planned.adjacency
    return str(
        payment.quote(
            budget=planned.budget,
            neighbors=adjacency.value,
            person=adjacency.person,
            locator=locator,
        )
    )


def _check_left_alone(ctx: click.Context, request: Iterable[str]) -> None:
    default = click.core.ParameterSource.DEFAULT
    given = [name for name in request if ctx.get_parameter_source(name) is not default]
    if given:
        names = " and ".join(
            "-n" if name == "n" else f"--{name.replace('_', '-')}" for name in given
        )
        raise click.UsageError(
            f"{names} cannot be combined with --plan, because the plan fixes it. Remove it, or "
            "make a new plan."
        )
