"""The directive ``click-help``: what every command says with ``--help``, as it is now."""

from __future__ import annotations

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

from tametail import cli

_WIDTH = 90


class ClickHelp(SphinxDirective):
    """Show the help of each subcommand of ``tametail``, one section each."""

    def run(self) -> list[nodes.Node]:
        """Return a section with a literal block for each command."""
        group = cli.commands
        top = click.Context(group, info_name="tametail", max_content_width=_WIDTH)
        return [
            self._section(group.get_command(top, name), top) for name in group.list_commands(top)
        ]

    def _section(self, command: click.Command, top: click.Context) -> nodes.Element:
        context = click.Context(
            command, info_name=command.name, parent=top, max_content_width=_WIDTH
        )
        title, text = context.command_path, command.get_help(context)
        section = nodes.section(ids=[nodes.make_id(title)], names=[title])
        section += nodes.title(title, title)
        section += nodes.literal_block(text, text, language="text")
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                section += self._section(command.get_command(context, name), context)
        return section


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the directive."""
    app.add_directive("click-help", ClickHelp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
