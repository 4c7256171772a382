"""``tametail completion``: Tab completes commands and options."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import get_completion_class

from tametail.errors import DataError

#: Where each shell looks for completions; zsh and bash also need a line where they begin.
_PLACES = {
    "bash": ".local/share/bash-completion/completions/tametail",
    "zsh": ".zfunc/_tametail",
    "fish": ".config/fish/completions/tametail.fish",
}
_LINES = {
    "bash": (".bashrc", "[ -r ~/{place} ] && . ~/{place}"),
    "zsh": (".zshrc", "fpath=(~/.zfunc $fpath); autoload -Uz compinit && compinit"),
}


@click.command("completion", short_help="Print a script for completion in your shell.")
@click.argument("shell", type=click.Choice([*_PLACES]))
@click.option("--install", is_flag=True, help="Install it for the shell.")
@click.pass_context
def completion_command(ctx: click.Context, shell: str, install: bool) -> None:
    """Print a script that completes commands and options when you press Tab.

    With --install it is written to where the shell looks for it, and a line that loads it to the
    end of ~/.bashrc or ~/.zshrc, once.
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"No completion for {shell}.")
    script = kind(ctx.find_root().command, {}, "tametail", "_TAMETAIL_COMPLETE").source()
    if not install:
        click.echo(script)
        return
    try:
        written = _install(shell, script)
    except OSError:
        raise DataError(
            f"The completion cannot be written in {str(Path.home())!r}. Write it yourself: "
            f"tametail completion {shell} > FILE."
        ) from None
    click.echo(f"Wrote {written}. It works in new shells.", err=True)


def _install(shell: str, script: str) -> Path:
    """Write the script, and the line that loads it unless it is there."""
    place = Path.home() / _PLACES[shell]
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"{script}\n", encoding="utf-8")
    if shell in _LINES:
        name, line = _LINES[shell]
        line, start = line.format(place=_PLACES[shell]), Path.home() / name
        known = start.read_text(encoding="utf-8") if start.exists() else ""
        if line not in known:
            gap = "" if known in ("", "\n") or known.endswith("\n") else "\n"
            with start.open("a", encoding="utf-8") as file:
                file.write(f"{gap}{line}\n")
    return place
