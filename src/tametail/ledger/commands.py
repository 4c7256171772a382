"""``tametail ledger``: the ledger's verbs on the command line.

Errors are those of the package; whoever mounts the group turns them into exit codes: 3 where a
budget is refused, 1 where a ledger does not verify or cannot be used.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Final

import click

from tametail.ledger import Ledger
from tametail.ledger.registered import registry_entry
from tametail.ledger.show import history_table, table
from tametail.privacy.budget import parse_budget

VARIABLE: Final = "TAMETAIL_LEDGER"
"""The environment variable that names the ledger if no option does; for the command line only."""

ledger_option = click.option(
    "--ledger",
    "place",
    metavar="FILE|URL",
    envvar=VARIABLE,
    help=f"Ledger: a file, or postgresql://host/database. Default: {VARIABLE}.",
)
_KEEP: Final = (
    "Keep a copy of the head hash outside the ledger: `tametail ledger verify --head HASH` then "
    "detects missing entries."
)

_BUDGET: Final = (
    click.option("--epsilon", type=float, help="Privacy budget, pure DP."),
    click.option("--delta", type=float, help="With --epsilon: approximate DP."),
    click.option("--rho", type=float, help="Privacy budget, zCDP."),
)


def _budget(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_BUDGET):
        command = option(command)
    return command


def open_ledger(place: str | None) -> Ledger:
    """Return the ledger that an option or the environment names."""
    if place is None:
        raise click.UsageError(f"Missing ledger. Add --ledger office.ledger, or set {VARIABLE}.")
    return Ledger(place)


@click.group("ledger", short_help="Track privacy budgets.")
def ledger_commands() -> None:
    """Track privacy budgets: create datasets, show what remains, audit."""


@ledger_commands.command("create")
@click.argument("dataset")
@ledger_option
@_budget
@click.option(
    "--neighbors",
    type=click.Choice(["add-remove", "replace-one"]),
    help="Neighboring datasets: add or remove one, or replace one. Default: add-remove.",
)
@click.option(
    "--person", multiple=True, help=("Column with the person ID. Repeatable for composite IDs.")
)
@click.option("--alias-of", metavar="DATASET", help="A second name for an existing dataset.")
@click.option("--part-of", metavar="DATASET", help="The dataset that this one is part of.")
@click.option("--where", help=('With --part-of: the records of the part, such as "year == 2024".'))
def _create(
    dataset: str,
    place: str | None,
    neighbors: str | None,
    person: tuple[str, ...],
    alias_of: str | None,
    part_of: str | None,
    where: str | None,
    **numbers: float | None,
) -> None:
    """Create DATASET with its budget."""
    given = any(value is not None for value in numbers.values())
    budget = parse_budget(**numbers) if given or alias_of is None else None
    ledger = open_ledger(place)
    head = ledger.create(
        dataset, budget, neighbors, person or None, alias_of=alias_of, part_of=part_of, where=where
    )
    made = ledger.remaining(dataset)
    about = f"budget {made.budget}, protects {made.protection}"
    if part_of is not None:
        records = f" where {where}" if where else ""
        about += f". It is a part of {part_of!r}{records}, whose budget its charges use, too"
    if alias_of is not None:
        about += f". It is a second name of {alias_of!r}"
    click.echo(f"Created dataset {dataset!r}: {about}.\nHead hash: {head}")


@ledger_commands.command("show")
@click.argument("dataset", required=False)
@ledger_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def _show(dataset: str | None, place: str | None, as_json: bool) -> None:
    """Show the spent and the remaining budget, of DATASET or of all."""
    ledger = open_ledger(place)
    names = ledger.datasets() if dataset is None else [dataset]
    found = [ledger.remaining(name) for name in names]
    if as_json:
        plain = [asdict(left) | {"budget": left.budget.to_dict()} for left in found]
        click.echo(json.dumps({"datasets": plain, "head": ledger.head}))
        return
    click.echo(f"{table(found)}\n\nHead hash: {ledger.head}\n{_KEEP}")


@ledger_commands.command("history")
@click.argument("dataset", required=False)
@ledger_option
@click.option("--last", type=int, help="Show only this many of the last entries.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
def _history(dataset: str | None, place: str | None, last: int | None, as_json: bool) -> None:
    """Show all entries: who charged what for which release."""
    events = open_ledger(place).history(dataset, last)
    if not as_json:
        click.echo(history_table(events))
        return
    for event in events:
        click.echo(json.dumps(asdict(event)))


@ledger_commands.command("verify", short_help="Recompute the ledger and detect changes.")
@ledger_option
@click.option("--head", help="A head hash that you saved earlier: detects missing entries.")
def _verify(place: str | None, head: str | None) -> None:
    """Recompute the whole ledger; the exit code is 1 if an entry does not match."""
    click.echo(str(open_ledger(place).verify(head=head)))


@ledger_commands.command("export", short_help="Write all entries to a CSV or JSON file.")
@click.argument("file")
@ledger_option
def _export(file: str, place: str | None) -> None:
    """Write all entries to FILE: CSV if it ends in .csv, otherwise JSON lines."""
    click.echo(f"Wrote {file}.\nHead hash: {open_ledger(place).export(file)}")


@ledger_commands.command("registry", short_help="Draft an entry for the public registry.")
@click.argument("dataset")
@ledger_option
def _registry(dataset: str, place: str | None) -> None:
    """Print a draft for the public Deployments Registry about DATASET, as YAML."""
    click.echo(registry_entry(open_ledger(place), dataset), nl=False)


@ledger_commands.command("raise")
@click.argument("dataset")
@ledger_option
@_budget
@click.option("--reason", required=True, help="The reason, for the audit.")
def _raise(dataset: str, place: str | None, reason: str, **numbers: object) -> None:
    """Grant DATASET a larger budget of the same privacy definition."""
    head = open_ledger(place).raise_budget(dataset, parse_budget(**numbers), reason)
    click.echo(f"Raised the budget of {dataset!r}.\nHead hash: {head}")


@ledger_commands.command("close")
@click.argument("dataset")
@ledger_option
@click.option("--reason", required=True, help="The reason, for the audit.")
def _close(dataset: str, place: str | None, reason: str) -> None:
    """Close DATASET: no further charges. This cannot be undone."""
    click.echo(
        f"Closed dataset {dataset!r}.\nHead hash: {open_ledger(place).close(dataset, reason)}"
    )
