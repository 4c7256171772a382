"""``tametail reproduce``."""

from __future__ import annotations

from pathlib import Path

import click

from tametail.cli.progress import progress


@click.command("reproduce")
@click.option(
    "--quick", is_flag=True, help="Fewer trials: some 5 minutes of processor time instead of 40."
)
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="FOLDER",
    default="reproduction",
    show_default=True,
    help="Where the report and its pictures go.",
)
def reproduce_command(quick: bool, folder: str) -> int:
    """Run the paper's theorems as experiments on drawn records, and write a report.

    The exit code is 1 if a measurement disagrees with the theory.
    """
    from tametail.reproduce import reproduce

    with progress("measuring") as advance:
        checks = reproduce(folder, effort="quick" if quick else "full", advance=advance)
    for check in checks:
        click.echo(check)
    click.echo(f"wrote {Path(folder, 'report.html')} and {Path(folder, 'report.md')}")
    return 0 if all(check.holds for check in checks) else 1
