"""``tametail mean``: a private release of the mean of columns of files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from tametail import explain
from tametail._json import Json
from tametail.api import carry_out
from tametail.cli.progress import progress
from tametail.cli.request import plan_of, request_options, text_of
from tametail.cli.written import parse_of, written_options
from tametail.ledger import Payment, locator_of
from tametail.ledger.commands import ledger_option
from tametail.planning import Plan
from tametail.report.export import csv_text


@click.command("mean")
@click.argument("data")
@click.option("--table", help="The table, if DATA is a database.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    help="Name of the column, or a computation; may be left out if there is only one column. "
    "Repeated: several means.",
)
@click.option("--where", help='Condition on records, such as "age >= 65"; others are missing.')
@request_options
@written_options
@click.option("--plan", "plan_file", metavar="FILE.json", help="Follow what `plan --json` wrote.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--answers", is_flag=True, help="With --json: also the noisy answers, for replay.")
@click.option("--report", metavar="FILE.html", help="Write a page for people, which prints well.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the table as CSV.")
@ledger_option
@click.option("--dataset", help="The name that the ledger has for these data.")
@click.option("--release-id", help="An id of yours: the same request is then released once.")
@click.option("--dry-run", is_flag=True, help="Show price and what would be left.")
@click.pass_context
def mean_command(
    ctx: click.Context,
    /,
    data: str,
    table: str | None,
    columns: tuple[str, ...],
    where: str | None,
    plan_file: str | None,
    as_json: bool,
    as_csv: bool,
    answers: bool,
    report: str | None,
    place: str | None,
    dataset: str | None,
    release_id: str | None,
    dry_run: bool,
    **request: Any,
) -> None:
    """Release the mean of a column, or of several columns, of DATA.

    DATA is a Parquet or CSV file; or, with --table, a database: postgresql://host/db, or a file of
    DuckDB or SQLite. A password is read from PGPASSWORD or ~/.pgpass.
    """
    _check_outputs(as_json, answers, report)
    written = parse_of(request)
    if plan_file is None:
        planned = plan_of(dim=len(columns) or 1, **request)
    else:
        person = request.pop("person") or None
        _check_left_alone(ctx, request)
        planned = Plan.from_json(text_of(plan_file)).about(person, None)
    planned = planned.about(None, where, written)
    # A ledger that only the environment names is used where data are named.
    payment = (
        None
        if dataset is None and release_id is None and _from_environment(ctx)
        else Payment.parse(place, dataset, release_id)
    )
    if dry_run:
        click.echo(_quote(payment, planned, locator_of(data, table)))
        return
    with progress() as tell:
        release = carry_out(planned, data, columns or None, tell, payment, table)
    if as_csv:
        click.echo(csv_text(release), nl=False)
    elif as_json:
        # Hundreds of noisy counts are for programs that replay, not for a terminal.
        record = release.to_dict()
        if not answers:
            del record["answers"]
        click.echo(json.dumps(record, indent=2, allow_nan=False))
    else:
        click.echo("\n".join(explain.lines(release)))
    if report is not None:
        release.report(report)
        click.echo(f"wrote {report}", err=True)


def _check_outputs(as_json: bool, answers: bool, report: str | None) -> None:
    """Refuse, before anything is spent, what could not be written."""
    if answers and not as_json:
        raise click.UsageError("--answers is for --json: write both, or --report FILE.html.")
    if report is not None and not Path(report).absolute().parent.is_dir():
        raise click.UsageError(f"--report {report!r} is in no folder that exists: make it first.")


def _from_environment(ctx: click.Context) -> bool:
    return ctx.get_parameter_source("place") is not click.core.ParameterSource.COMMANDLINE


def _quote(payment: Payment | None, planned: Plan, locator: str | None) -> str:
    if payment is None:
        return f"price: {planned.budget}; no ledger is charged"
    unit = planned.unit
    return str(
        payment.quote(budget=planned.budget, unit=unit.value, person=unit.person, locator=locator)
    )


def _check_left_alone(ctx: click.Context, request: Json) -> None:
    default = click.core.ParameterSource.DEFAULT
    given = [name for name in request if ctx.get_parameter_source(name) is not default]
    if given:
        names = " and ".join("-n" if name == "n" else f"--{name}" for name in given)
        raise click.UsageError(f"{names} given beside --plan, which already says so: leave it out.")
