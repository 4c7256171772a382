"""``tametail completion``: a script for the shell that completes commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    r"""Print a script that completes commands and options when you press Tab.

    \b
    bash: tametail completion bash > ~/.local/share/bash-completion/completions/tametail
    zsh:  tametail completion zsh > ~/.zfunc/_tametail
    fish: tametail completion fish > ~/.config/fish/completions/tametail.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"there is no completion for {shell}.")
    click.echo(kind(ctx.find_root().command, {}, "tametail", "_TAMETAIL_COMPLETE").source())
