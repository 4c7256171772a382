"""What a request consists of, as options: the same for every command that makes one."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import click

from tametail._json import Json
from tametail._shown import shown
from tametail.api.planning import plan
from tametail.errors import ParameterError
from tametail.planning import Plan
from tametail.tail import Bounded, Moment, Tail

#: What an option with colons holds.
Pair = tuple[float, float] | None
Numbers = float | tuple[float, ...] | None


def numbers(form: str, *counts: int, open_ends: bool = False) -> Callable[..., Numbers]:
    """Return a reader of numbers with colons between them, as many as one of ``counts``.

    If ends may be open, the first may be left out for minus infinity and the last for infinity.
    """

    def read(ctx: click.Context, param: click.Parameter, value: str | None) -> Numbers:
        if value is None:
            return None
        written = f"-inf{value}" if open_ends and value.startswith(":") else value
        written = f"{written}inf" if open_ends and value.endswith(":") else written
        try:
            numbers = tuple(map(float, written.split(":")))
        except ValueError:
            numbers = ()
        if len(numbers) not in counts:
            raise click.BadParameter(f"{shown(value)} must have the form {form}.", ctx, param)
        return numbers if len(numbers) > 1 else numbers[0]

    return read


def _confidence(ctx: click.Context, param: click.Parameter, value: str) -> float | None:
    read = numbers("a number between 0 and 1, or none", 1)
    return None if value == "none" else cast("float", read(ctx, param, value))


#: What a request consists of; the same for both commands.
_REQUEST = (
    click.option(
        "-e",
        "--epsilon",
        type=float,
        help=("Privacy budget, pure DP: 0.1 is strong, 1 is common, 10 is weak."),
    ),
    click.option("--delta", type=float, help="With --epsilon: approximate DP."),
    click.option("--rho", type=float, help="Privacy budget, zCDP."),
    click.option(
        "--moment",
        metavar="K:SCALE",
        callback=numbers("K:SCALE, such as 2:1000", 2),
        help=(
            "Assume E|X - mean|^K <= SCALE^K; 2:1000 means a standard deviation of at most 1000."
        ),
    ),
    click.option(
        "--bounds",
        metavar="LOW:HIGH",
        callback=numbers("LOW:HIGH, such as 0:120 or 0:", 2, open_ends=True),
        help="Assume that all values are in this range; 0: has no upper bound.",
    ),
    click.option(
        "--within",
        metavar="R|LOW:HIGH",
        callback=numbers("R or LOW:HIGH, such as 1e6 or 0:inf", 1, 2),
        help=(
            "Range that contains the mean (not the values): LOW:HIGH, such as 0:inf, or R for -R:R."
        ),
    ),
    click.option(
        "--neighbors",
        type=click.Choice(["add-remove", "replace-one"]),
        default="add-remove",
        show_default=True,
        help="Neighboring datasets: add or remove one record, or replace one.",
    ),
    click.option(
        "--missing",
        type=click.Choice(["skip", "none"]),
        default="skip",
        show_default=True,
        help="skip ignores missing cells; none states that there are none.",
    ),
    click.option(
        "-n", "n", type=int, help=("Number of records (or people), if public. An estimate is fine.")
    ),
    click.option(
        "--confidence",
        metavar="P|none",
        callback=_confidence,
        default="0.95",
        show_default=True,
        help="Confidence level, or none for no interval.",
    ),
    click.option(
        "--target",
        type=click.Choice(["population", "data"]),
        default="population",
        show_default=True,
        help="Inference target: the mean of the population, or of these data.",
    ),
    click.option(
        "--same-scale", is_flag=True, help="All columns have the same unit and magnitude."
    ),
    click.option(
        "--person",
        multiple=True,
        help=(
            "Column with the person ID. Protects each person with all their records. Repeatable "
            "for composite IDs."
        ),
    ),
    click.option(
        "--each",
        type=click.Choice(["record", "person"]),
        default="record",
        show_default=True,
        help="With --person: average all records, or one mean per person.",
    ),
    click.option(
        "--n-records",
        type=int,
        help=("With --person and -n people: the number of records, if public."),
    ),
    click.option(
        "--by", multiple=True, help=("Column to group by: one mean per group. Repeatable.")
    ),
    click.option(
        "--keys",
        metavar="A,B,...",
        help="The groups. They must be public. Spaces around a key are ignored.",
    ),
    click.option(
        "--keys-file",
        metavar="FILE",
        help="File with one group per line, taken literally; tabs separate the columns.",
    ),
    click.option(
        "--groups-per-person",
        type=click.Choice(["1"]),
        callback=lambda _context, _option, one: None if one is None else int(one),
        help="With --person and --by: each person belongs to one group, that of most records.",
    ),
    click.option(
        "--weights",
        metavar="NAME",
        help='Column with what each record weighs, or an expression such as "1 / chance".',
    ),
    click.option("--other", metavar="NAME", help="Name of a group for all remaining rows."),
)


def request_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a request; it hands them on to :func:`plan_of`."""
    for option in reversed(_REQUEST):
        command = option(command)
    return command


def plan_of(*, moment: Pair, bounds: Pair, person: tuple[str, ...], **request: Any) -> Plan:
    """Return the plan that these options ask for."""
    if all(request[name] is None for name in ("epsilon", "delta", "rho")):
        raise click.UsageError(
            "Missing privacy budget. Add --epsilon 1 (or --epsilon 1 --delta 1e-6, or --rho 0.5)."
        )
    return plan(tail=tail_of(moment, bounds), person=person or False, **groups_of(**request))


def groups_of(
    *,
    by: tuple[str, ...],
    keys: str | None,
    keys_file: str | None,
    cells: int = 1,
    **request: Any,
) -> Json:
    """Read which groups are asked for; keys are text, which stands for whole numbers too.

    ``cells`` is how many a key has by a plan that is there already.
    """
    if keys is not None and keys_file is not None:
        raise click.UsageError("Use --keys or --keys-file, not both.")
    found: list[str] | None = None
    if keys is not None:  # blanks around a cell are how people write lists
        parts = (key.split("\t") for key in keys.split(","))
        found = ["\t".join(cell.strip(" ") for cell in key) for key in parts]
    if keys_file is not None:
        found = [line for line in text_of(keys_file, "--keys-file").splitlines() if line]
    rows: list[str] | list[tuple[str, ...]] | None = found
    if found is not None and (len(by) or cells) > 1:
        rows = [tuple(line.split("\t")) for line in found]
        if any(len(row) != max(len(by), cells) for row in rows):
            raise click.UsageError(
                f"Each key needs {max(len(by), cells)} entries, one for each --by. Use --keys-file "
                "with a line per group and a tab between the entries."
            )
    return request | {"by": list(by) or None, "keys": rows}


def tail_of(moment: Pair, bounds: Pair) -> Tail:
    """Return what is assumed about the records."""
    if moment and bounds:
        raise click.UsageError("Use --moment or --bounds, not both.")
    if moment:
        return Moment(*moment)
    if bounds is None:
        return None
    low, high = bounds
    return Bounded(None if low == -math.inf else low, None if high == math.inf else high)


def text_of(path: str, option: str = "--plan") -> str:
    """Return what a file holds that an option names."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise ParameterError(f"{option} {path!r} cannot be read. Check the path.") from None
