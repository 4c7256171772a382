"""``tametail page``: plan, release and take away in a browser on this machine."""

from __future__ import annotations

import webbrowser
from importlib.util import find_spec

import click

from tametail.cli.signals import Terminated
from tametail.errors import MissingExtraError
from tametail.ledger.commands import ledger_option

SPENT_UNDER_WAY = "A release was under way: if its data had been opened, its budget is spent."


@click.command("page", short_help="Open the local web page over a folder.")
@click.argument("folder", default=".")
@click.option("--port", type=int, default=0, help="Port on 127.0.0.1. Default: a free one.")
@click.option("--no-browser", is_flag=True, help="Print the address only.")
@ledger_option
def page_command(folder: str, port: int, no_browser: bool, place: str | None) -> None:
    """Open a web page over the data files of FOLDER (default: this folder) in a browser.

    The page is served on 127.0.0.1 only, at an address that holds a secret. It reads only files
    below FOLDER, and spends no budget before you confirm a release.
    """
    if not all(map(find_spec, ("starlette", "jinja2", "uvicorn"))):
        raise MissingExtraError.of("The page", "page")
    from tametail.page.folder import Folder
    from tametail.page.jobs import JobStore
    from tametail.page.serve import serve

    def ready(address: str) -> None:
        click.echo(f"tametail page for {opened.root}\n\n  {address}\n\nPress Ctrl-C to stop.")
        if not no_browser:
            webbrowser.open(address)

    opened = Folder.at(folder)
    store = JobStore()
    try:
        serve(opened, port, place, ready, store)
    except (KeyboardInterrupt, Terminated) as end:
        code = 130 if isinstance(end, KeyboardInterrupt) else 143
        begun = "" if all(job.done for job in store.latest()) else f" {SPENT_UNDER_WAY}"
        click.echo(f"The page was stopped.{begun}", err=True)
        raise click.exceptions.Exit(code) from None
