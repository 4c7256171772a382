"""The group of commands, and ``main``, which turns what they raise into exit codes."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Final, NoReturn

import click

from tametail.cli.messages import fitted, in_options
from tametail.cli.signals import Terminated
from tametail.errors import TametailError

#: Every command and where it is: loaded when it is first used, so that each starts quickly.
COMMANDS: Final = {
    "mean": "tametail.cli.mean:mean_command",
    "sum": "tametail.cli.statistics:sum_command",
    "count": "tametail.cli.statistics:count_command",
    "quantile": "tametail.cli.statistics:quantile_command",
    "describe": "tametail.cli.statistics:describe_command",
    "regression": "tametail.cli.statistics:regression_command",
    "plan": "tametail.cli.plan:plan_command",
    "page": "tametail.cli.page:page_command",
    "replay": "tametail.cli.replay:replay_command",
    "completion": "tametail.cli.completion:completion_command",
    "ledger": "tametail.ledger.commands:ledger_commands",
    "reproduce": "tametail.cli.reproduce:reproduce_command",
}

_SPENT: Final = " If data had been opened, the budget of this release is spent."

#: The commands that open data.
_RELEASING: Final = frozenset({"mean", "sum", "count", "quantile", "describe", "regression"})


#: What people type that is another command's work.
_ELSEWHERE: Final = {
    "median": "tametail quantile --level 0.5",
    "share": 'tametail mean --column "charge > 1000"',
    "percentile": "tametail quantile --level 0.9",
    "average": "tametail mean",
}


class _Registry(click.Group):
    """The commands of :data:`COMMANDS`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; a statistic that another command releases is named with it."""
        if args and args[0] in _ELSEWHERE:
            ctx.fail(f"No such command {args[0]!r}. Use {_ELSEWHERE[args[0]]}.")
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's verb
        """Return the names, in the order of the registry."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Load a command."""
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(import_module(module), name)
        return command


@click.group(
    cls=_Registry,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.version_option(version("tametail"), prog_name="tametail", message="%(prog)s %(version)s")
@click.pass_context
def commands(ctx: click.Context) -> None:
    """Means of heavy-tailed data under differential privacy, without guessing bounds."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)


def _terminate(*_: object) -> NoReturn:
    raise Terminated


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    spent = _SPENT if _RELEASING & {*(sys.argv[1:] if arguments is None else arguments)} else ""
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        done = commands.main(arguments, prog_name="tametail", standalone_mode=False)
    except click.ClickException as error:
        return _say(_usage(error.format_message(), is_release=bool(spent)), error.exit_code)
    except TametailError as error:
        more = "".join(f" {note}" for note in getattr(error, "__notes__", ()))
        return _say(in_options(f"{error}{more}"), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return _say(f"Interrupted.{spent}", 130)
    except Terminated:
        return _say(f"Terminated.{spent}", 143)
    except Exception:  # what it says may quote records
        return _say(f"Internal error.{spent} Please report how to reproduce it.", 1)
    finally:
        signal.signal(signal.SIGTERM, before)
    return done if isinstance(done, int) else 0


def _usage(message: str, *, is_release: bool) -> str:
    """Return what is wrong with the options; nothing has been opened where they are read.

    >>> _usage("Invalid value for '-e': '0,5' is not a valid float.", is_release=True)
    "Invalid value for '-e': '0,5' is not a number (write 0.5). No budget was spent."
    """
    message = message.replace("is not a valid float", "is not a number (write 0.5)")
    known = not is_release or "budget was spent" in message
    return message if known else f"{message} No budget was spent."


def _say(message: str, code: int) -> int:
    """Print an error: one line in a pipe, below its label on a terminal."""
    for line in fitted([f"error: {' '.join(message.split())}"], sys.stderr):
        click.echo(line, err=True)
    return code
