"""``tametail reproduce``."""

from __future__ import annotations

from pathlib import Path

import click

from tametail.cli.progress import progress
from tametail.cli.signals import Terminated


@click.command("reproduce", short_help="Run the experiments about the paper's theorems.")
@click.option(
    "--quick", is_flag=True, help="Fewer trials: two minutes of processor time instead of 45."
)
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="FOLDER",
    default="reproduction",
    show_default=True,
    help="Folder for the report and its pictures.",
)
def reproduce_command(quick: bool, folder: str) -> int:
    """Run the paper's theorems as experiments on drawn records, and write a report.

    The report is written as the experiments are done; whoever stops them keeps what there is. The
    exit code is 1 if a measurement disagrees with the theory.
    """
    from tametail.reproduce import Verdict, reproduce

    report = Path(folder, "report.html")
    try:
        with progress("measuring") as advance:
            checks = reproduce(folder, effort="quick" if quick else "full", advance=advance)
    except (KeyboardInterrupt, Terminated) as stopped:
        ended, code = (
            ("terminated", 143) if isinstance(stopped, Terminated) else ("interrupted", 130)
        )
        click.echo(f"tametail: {ended}; {report} has the experiments that were finished.", err=True)
        return code
    for check in checks:
        click.echo(check)
    click.echo(f"Wrote {report} and {Path(folder, 'report.md')}.")
    return 1 if any(check.verdict == Verdict.FAILS for check in checks) else 0
