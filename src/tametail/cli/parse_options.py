"""How numbers are written in files: the fields of ``Parse`` as options."""

from __future__ import annotations

from collections.abc import Callable

import click

from tametail._json import Json
from tametail.parse import FORMATS, Parse

#: How a shell may write a sign that it cannot easily hold.
_SIGNS = {"tab": "\t", "\\t": "\t", "space": " ", "none": None}


def _sign(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:  # noqa: ARG001
    return value if value is None else _SIGNS.get(value, value)


_OPTIONS = (
    click.option(
        "--delimiter",
        metavar="SIGN",
        callback=_sign,
        help="Column separator of a CSV file, such as ; or tab.",
    ),
    click.option(
        "--header/--no-header",
        default=None,
        help=(
            "Whether the first row of a CSV file has column names. If not, columns are 0, 1, ..."
        ),
    ),
    click.option("--decimal", metavar="SIGN", help="Decimal separator, such as , in 12,50."),
    click.option(
        "--thousands",
        metavar="SIGN",
        callback=_sign,
        help=("Thousands separator, such as , in 1,200."),
    ),
    click.option(
        "--currency",
        metavar="SIGN|WORD",
        multiple=True,
        help=("Currency symbol to ignore. Repeatable."),
    ),
    click.option("--accounting", is_flag=True, default=None, help="(12.50) means -12.5."),
    click.option("--percent", is_flag=True, default=None, help="12% means 0.12."),
    click.option(
        "--format",
        type=click.Choice(FORMATS),
        help="Format of standard input, or of a file without a known extension.",
    ),
    click.option("--encoding", metavar="NAME", help="Encoding of a CSV file, such as latin-1."),
)

_NAMES = tuple(Parse.__dataclass_fields__)


def written_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that :func:`parse_of` reads."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def parse_of(options: Json) -> Parse | None:
    """Take these options out, and return how numbers are written; None if none was given."""
    said = {name: options.pop(name) for name in _NAMES}
    given = {name: value for name, value in said.items() if value not in (None, ())}
    return Parse(**given) if given else None
