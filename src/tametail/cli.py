"""The command line: ``tametail mean``, ``tametail plan`` and ``tametail reproduce``.

Results go to stdout; errors, progress and advice to act go to stderr. Exit codes: 0 done, 1
failure, 2 usage, 3 budget refused, 4 data unreadable, 130 and 143 interrupted.
"""

from __future__ import annotations

import csv
import io
import json
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NoReturn

import click

from tametail import explain
from tametail._shown import shown
from tametail.api import carry_out, epsilon_for, plan, sample_size
from tametail.errors import ParameterError, TametailError
from tametail.ledger import Payment, locator_of
from tametail.ledger.commands import ledger_commands, ledger_option
from tametail.planning import Plan
from tametail.release import Release
from tametail.tail import Bounded, Moment, Tail

_SPENT: Final = "if the data had been opened, the budget of this release counts as spent."


def _numbers(form: str, *counts: int) -> Callable[..., Any]:
    """Return a reader of numbers with colons between them, as many as one of ``counts``."""

    def read(ctx: click.Context, param: click.Parameter, value: str | None) -> Any:
        if value is None:
            return None
        try:
            numbers = tuple(map(float, value.split(":")))
        except ValueError:
            numbers = ()
        if len(numbers) not in counts:
            raise click.BadParameter(f"{shown(value)} is not of the form {form}.", ctx, param)
        return numbers if len(numbers) > 1 else numbers[0]

    return read


def _confidence(ctx: click.Context, param: click.Parameter, value: str) -> float | None:
    read = _numbers("a number between 0 and 1, or none", 1)
    return None if value == "none" else float(read(ctx, param, value))


#: What a request consists of; the same for both commands.
_REQUEST = (
    click.option("--epsilon", type=float, help="Privacy budget: pure differential privacy."),
    click.option("--delta", type=float, help="With --epsilon: approximate differential privacy."),
    click.option("--rho", type=float, help="Privacy budget: zero-concentrated (zCDP)."),
    click.option(
        "--moment",
        metavar="K:SCALE",
        callback=_numbers("K:SCALE, such as 2:1000", 2),
        help="Assume E|X - mean|^K <= SCALE^K; 2:1000 is a standard deviation of at most 1000.",
    ),
    click.option(
        "--bounds",
        metavar="LOW:HIGH",
        callback=_numbers("LOW:HIGH, such as 0:120", 2),
        help="Assume that every record lies in here.",
    ),
    click.option(
        "--within",
        metavar="R|LOW:HIGH",
        callback=_numbers("R or LOW:HIGH, such as 1e6 or 0:inf", 1, 2),
        help="Where the mean can be: R for -R:R, or LOW:HIGH, such as 0:inf.",
    ),
    click.option(
        "--unit",
        type=click.Choice(["add-remove", "replace-one"]),
        default="add-remove",
        show_default=True,
        help="What is protected: one record more or less, or one record changed.",
    ),
    click.option(
        "--missing",
        type=click.Choice(["skip", "none"]),
        default="skip",
        show_default=True,
        help="skip leaves missing cells out; none is your promise that there are none.",
    ),
    click.option("-n", "n", type=int, help="A public guess of the number of records."),
    click.option(
        "--confidence",
        metavar="P|none",
        callback=_confidence,
        default="0.95",
        show_default=True,
        help="Of the interval; none spends nothing on it.",
    ),
    click.option(
        "--target",
        type=click.Choice(["population", "data"]),
        default="population",
        show_default=True,
        help="Whose mean the interval is for.",
    ),
    click.option("--common", is_flag=True, help="Several columns share one unit and one size."),
    click.option(
        "--person",
        multiple=True,
        help="Column that says whose record it is: persons are protected. Repeated: a tuple.",
    ),
    click.option(
        "--each",
        type=click.Choice(["record", "person"]),
        default="record",
        show_default=True,
        help="With --person: what counts once, a record or a person's own mean.",
    ),
    click.option("--rows", type=int, help="With --person and -n persons: a guess of the records."),
    click.option("--by", multiple=True, help="A mean for each value of this column. Repeatable."),
    click.option("--keys", metavar="A,B,...", help="The groups, which must be public."),
    click.option("--keys-file", metavar="FILE", help="The same, one in a line; tabs part cells."),
    click.option("--other", metavar="NAME", help="One more group, for all rows of no other."),
    click.option("--json", "as_json", is_flag=True, help="Print JSON."),
)


def _request(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_REQUEST):
        command = option(command)
    return command


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("tametail"), prog_name="tametail", message="%(prog)s %(version)s")
@click.pass_context
def _commands(ctx: click.Context) -> None:
    """Means of heavy-tailed data under differential privacy, without guessing bounds."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)


_commands.add_command(ledger_commands)


@_commands.command("mean")
@click.argument("file")
@click.option(
    "--column",
    "columns",
    multiple=True,
    help="Name of the column, or a computation; may be left out if there is only one column. "
    "Repeated: several means.",
)
@click.option("--where", help='Condition on records, such as "age >= 65"; others are missing.')
@_request
@click.option("--plan", "plan_file", metavar="FILE.json", help="Follow what `plan --json` wrote.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the table as CSV.")
@ledger_option
@click.option("--dataset", help="The name that the ledger has for these data.")
@click.option("--release-id", help="An id of yours: the same request is then released once.")
@click.option("--dry-run", is_flag=True, help="Show price and what would be left.")
@click.pass_context
def _mean(
    ctx: click.Context,
    /,
    file: str,
    columns: tuple[str, ...],
    where: str | None,
    plan_file: str | None,
    as_json: bool,
    as_csv: bool,
    place: str | None,
    dataset: str | None,
    release_id: str | None,
    dry_run: bool,
    **request: Any,
) -> None:
    """Release the mean of a column, or of several columns, of FILE (Parquet or CSV)."""
    if plan_file is None:
        planned = _plan_of(dim=len(columns) or 1, **request)
    else:
        person = request.pop("person") or None
        _check_left_alone(ctx, request)
        planned = Plan.from_json(_text(plan_file)).about(person, None)
    planned = planned.about(None, where)
    # A ledger that only the environment names is used where data are named.
    payment = (
        None
        if dataset is None and release_id is None and _from_environment(ctx)
        else Payment.parse(place, dataset, release_id)
    )
    if dry_run:
        click.echo(_quote(payment, planned, file))
        return
    with _progress() as progress:
        release = carry_out(planned, file, columns or None, progress, payment)
    if as_csv:
        click.echo(_csv(release), nl=False)
    elif as_json:
        # Hundreds of noisy counts are for programs that replay, not for a terminal.
        record = {key: cell for key, cell in release.to_dict().items() if key != "answers"}
        click.echo(json.dumps(record, indent=2, allow_nan=False))
    else:
        click.echo("\n".join(explain.lines(release)))


def _from_environment(ctx: click.Context) -> bool:
    return ctx.get_parameter_source("place") is not click.core.ParameterSource.COMMANDLINE


def _quote(payment: Payment | None, planned: Plan, file: str) -> str:
    if payment is None:
        return f"price: {planned.budget}; no ledger is charged"
    unit = planned.unit
    return str(
        payment.quote(
            budget=planned.budget, unit=unit.value, person=unit.person, locator=locator_of(file)
        )
    )


@_commands.command("plan")
@_request
@click.option(
    "--error", type=float, help="Ask which n, or with -n which epsilon, this error needs."
)
@click.option("--plot", "picture", metavar="FILE.png", help="Draw the error against n.")
@click.option("--dim", type=int, default=1, show_default=True, help="Number of columns.")
def _plan(error: float | None, picture: str | None, as_json: bool, **request: Any) -> None:
    """Plan a release from public numbers; no data are read and nothing is spent.

    With --error and a budget, the least n is found whose interval has a half-width of at most
    that; with --error and -n, the least epsilon.
    """
    if request["dim"] != 1 and not (error is None and picture is None):
        raise click.UsageError("--error and --plot are for one column: leave out --dim.")
    if error is not None:
        request |= _answer(error, **request)
    elif request["n"] is None:
        raise click.UsageError("a plan needs a size or an error: write -n 10000 or --error 5.")
    planned = _plan_of(**request)
    if picture is not None:
        _save(planned, picture)
    confidence = request["confidence"] or 0.95
    half_width = planned.half_width(confidence)
    if as_json:
        predicted = {
            "rmse": planned.rmse,
            "relative_rmse": planned.relative_rmse,
            "half_width": half_width,
            "advice": planned.advice,
        }
        click.echo(json.dumps(planned.to_dict() | predicted, indent=2, allow_nan=False))
        return
    if error is not None:
        click.echo(f"An error of {error:g} needs n = {planned.n:,} and {planned.budget}.")
    in_units = planned.dim == 1 and planned.tails[0] is not None
    unit = "" if in_units else " standard deviations"
    click.echo(planned)
    if half_width is not None:
        click.echo(f"  {100 * confidence:g}% interval of about ±{half_width:.4g}{unit}")


@_commands.command("reproduce")
@click.option("--quick", is_flag=True, help="Fewer trials: two minutes instead of fifteen.")
@click.option(
    "--output",
    "folder",
    metavar="FOLDER",
    default="reproduction",
    show_default=True,
    help="Where the report and its pictures go.",
)
def _reproduce(quick: bool, folder: str) -> int:
    """Run the paper's theorems as experiments on drawn records, and write a report.

    The exit code is 1 if a measurement disagrees with the theory.
    """
    from tametail.reproduce import reproduce

    with _progress("measuring") as progress:
        checks = reproduce(folder, effort="quick" if quick else "full", advance=progress)
    for check in checks:
        click.echo(check)
    click.echo(f"wrote {Path(folder, 'report.html')} and {Path(folder, 'report.md')}")
    return 0 if all(check.holds for check in checks) else 1


def _answer(error: float, **request: Any) -> dict[str, Any]:
    """Find the number that is missing: n for a budget, or epsilon for an n."""
    if request["target"] != "population" or request["confidence"] is None:
        raise click.UsageError("--error is about an interval for the population's mean.")
    common = {"confidence": request["confidence"], "unit": request["unit"]}
    tail = _tail(request["moment"], request["bounds"])
    budget = {name: request[name] for name in ("epsilon", "delta", "rho")}
    if request["n"] is None:
        return {"n": sample_size(error, tail=tail, **budget, **common)}
    if any(value is not None for value in budget.values()):
        raise click.UsageError(
            "-n, --error and a budget are given together: leave one of them out."
        )
    return {"epsilon": epsilon_for(error, n=request["n"], tail=tail, **common)}


def _plan_of(*, moment: Any, bounds: Any, person: tuple[str, ...], **request: Any) -> Any:
    if all(request[name] is None for name in ("epsilon", "delta", "rho")):
        raise click.UsageError(
            "there is no privacy budget: write --epsilon 1, or --epsilon 1 --delta 1e-6, or "
            "--rho 0.5."
        )
    return plan(tail=_tail(moment, bounds), person=person or False, **_groups(**request))


def _groups(*, by: Any, keys: Any, keys_file: Any, **request: Any) -> dict[str, Any]:
    """Read which groups are asked for; keys are text, which stands for whole numbers too."""
    if keys is not None and keys_file is not None:
        raise click.UsageError("--keys and --keys-file are given together: leave one of them out.")
    found: list[Any] | None = None if keys is None else keys.split(",")
    if keys_file is not None:
        found = [line for line in _text(keys_file, "--keys-file").splitlines() if line]
    if found is not None and len(by) > 1:
        found = [tuple(line.split("\t")) for line in found]
    return request | {"by": list(by) or None, "keys": found}


def _csv(release: Release) -> str:
    """Return the rows as CSV, with the columns of :meth:`Release.to_frame`."""
    columns = release.cells()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def _tail(moment: Any, bounds: Any) -> Tail:
    if moment and bounds:
        raise click.UsageError("--moment and --bounds are given together: leave one of them out.")
    if moment:
        return Moment(*moment)
    return Bounded(*bounds) if bounds else None


def _check_left_alone(ctx: click.Context, request: dict[str, Any]) -> None:
    default = click.core.ParameterSource.DEFAULT
    given = [name for name in request if ctx.get_parameter_source(name) is not default]
    if given:
        names = " and ".join("-n" if name == "n" else f"--{name}" for name in given)
        raise click.UsageError(f"{names} given beside --plan, which already says so: leave it out.")


def _text(path: str, option: str = "--plan") -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise ParameterError(f"{option} {path!r} cannot be read: check the path.") from None


def _save(planned: Plan, picture: str) -> None:
    figure: Any = planned.plot().figure
    try:
        figure.savefig(picture)
    except (OSError, ValueError) as error:
        raise ParameterError(f"--plot {picture!r} cannot be written: {error}.") from None
    click.echo(f"wrote {picture}", err=True)


@contextmanager
def _progress(doing: str = "reading") -> Iterator[Callable[[float], None] | None]:
    """Show how much is done, in percent and only on a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = TextColumn(doing), BarColumn(), TaskProgressColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(doing, total=1.0)
        yield lambda fraction: bar.update(task, completed=fraction)


class _Terminated(BaseException):
    """SIGTERM, as an exception, so that files are closed and one line is said."""


def _terminate(*_: object) -> NoReturn:
    raise _Terminated


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        done = _commands.main(arguments, prog_name="tametail", standalone_mode=False)
    except click.ClickException as error:
        return _say(error.format_message(), error.exit_code)
    except TametailError as error:
        return _say(str(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return _say(f"interrupted; {_SPENT}", 130)
    except _Terminated:
        return _say(f"terminated; {_SPENT}", 143)
    except Exception:  # what it says may quote records
        return _say(f"failed inside; {_SPENT} Please report how to see it again.", 1)
    finally:
        signal.signal(signal.SIGTERM, before)
    return done if isinstance(done, int) else 0


def _say(message: str, code: int) -> int:
    click.echo(f"tametail: {' '.join(message.split())}", err=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
