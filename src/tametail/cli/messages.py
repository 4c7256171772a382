"""Words for the shell: messages that speak of options, and lines that fit the terminal.

The library says ``write column='amount'``; whoever typed a command reads ``write --column amount``.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import textwrap
from typing import Final, TextIO

from tametail.notes import FOR_LISTS

#: Arguments of the library that are options, by the same name but for hyphens.
_OPTIONS: Final = (
    "epsilon", "delta", "rho", "within", "neighbors", "missing", "confidence", "target",
    "same_scale", "person", "each", "n_records", "where", "by", "keys", "other", "plan", "dataset",
    "release_id", "weights", "column", "table", "ledger", "error", "relative_error", "n_columns",
    "decimal", "thousands", "currency", "accounting", "percent", "delimiter", "header", "encoding",
    "format", "groups_per_person",
)  # fmt: skip

_TEXT: Final = r"'[^']*'|\"[^\"]*\"|\.\.\.|True|False|None"
_VALUE: Final = rf"{_TEXT}|\([^()]*\)|\[[^\][]*\]|-?\d[\d_.e+-]*\d|-?\d"
_ARGUMENT: Final = re.compile(
    rf"\b(?P<call>tail|parse|n|q|{'|'.join(_OPTIONS)})=(?P<value>\w+\([^()]*\)|{_VALUE})?"
)
_PAIR: Final = re.compile(rf"(\w+)=({_VALUE})")

#: What is written for Python alone, and how it is written in a shell.
_ELSEWHERE: Final = (
    (", or budget=pure(1)", ""),
    (FOR_LISTS, ""),
    ("Bounded(low, high)", "--bounds LOW:HIGH"),
    ("Moment(k, scale)", "--moment K:SCALE"),
    ("Bounded(0, None)", "--bounds 0:"),
    ("raise_budget()", "raise its budget with tametail ledger raise"),
    (
        "Use the output of Release.to_json() or Release.to_dict()",
        "Use a report, or what --json --answers printed",
    ),
)

#: How a data set is made: its name, as a text of Python.
_CREATE: Final = re.compile(
    r"ledger\.create\((?P<name>'[^']*'|\"[^\"]*\"|\w+), budget=\.\.\.[^()]*\)"
)


def in_options(message: str) -> str:
    """Return a message of the library with options in place of arguments.

    >>> in_options("no column is chosen: write column=..., one of ['a', 'b'].")
    "no column is chosen: write --column NAME, one of ['a', 'b']."
    >>> in_options("write tail=Moment(2, 1000) or parse=Parse(header=False, thousands=',').")
    'write --moment 2:1000 or --no-header --thousands ,.'
    >>> in_options("write tail=Moment(2, scale) or tail=Bounded(low, high); within= helps.")
    'write --moment 2:SCALE or --bounds LOW:HIGH; --within helps.'
    """
    message = _CREATE.sub(lambda found: _create(found["name"]), message)
    message = _ARGUMENT.sub(lambda found: _option(found["call"], found["value"]), message)
    for python, shell in _ELSEWHERE:
        message = message.replace(python, shell)
    return message


def _create(name: str) -> str:
    named = quoted(name[1:-1]) if name[0] in "'\"" else "NAME"
    return f"tametail ledger create {named} --epsilon 3"


def _option(name: str, value: str | None) -> str:
    if name == "tail":
        return _tail(value)
    if name == "parse":
        given = _PAIR.findall(value or "")
        return " ".join(_option(*one) for one in given) or "--decimal, --thousands or --currency"
    option = {"n": "-n", "q": "--level"}.get(name, f"--{name.replace('_', '-')}")
    if value is None or value == "True":
        return option
    if value == "False":
        return option.replace("--", "--no-", 1)
    if value.startswith("[") or name == "currency":
        items = [quoted(item[1:-1]) for item in re.findall(_TEXT, value)]
        items = items or re.findall(r"[\d.]+", value)
        return f"{option} {','.join(items)}" if name == "keys" else _repeated(option, items)
    return f"{option} {_written(value)}"


def _repeated(option: str, items: list[str]) -> str:
    """Return an option once for each item; once with a name if there is none."""
    return " ".join(f"{option} {item}" for item in items or ["NAME"])


def _tail(value: str | None) -> str:
    """Return an assumption as an option; both, if it is not said which."""
    numbers = [part.strip() for part in (value or "")[:-1].partition("(")[2].split(",")]
    if value is None or len(numbers) != 2:
        return "--moment or --bounds"
    ends = ["" if part == "None" else part.upper() if part.isalpha() else part for part in numbers]
    return f"--{'moment' if value.startswith('Moment') else 'bounds'} {':'.join(ends)}"


def _written(value: str) -> str:
    """Return a value as a shell takes it."""
    if value == "...":
        return "NAME"
    if value.startswith("("):
        return ":".join(part.strip() for part in value[1:-1].split(","))
    return quoted(value[1:-1]) if value[0] in "'\"" else value


def quoted(text: str) -> str:
    """Return a text as a shell takes it and as people type it.

    >>> print(quoted("claims"), quoted("age >= 65"), quoted("state == 'CA'"))
    claims 'age >= 65' "state == 'CA'"
    """
    is_simple = "'" in text and not set(text) & set('"$`\\!')
    return f'"{text}"' if is_simple else shlex.quote(text)


def fitted(lines: list[str], stream: TextIO | None = None) -> list[str]:
    """Return lines that are no longer than the terminal is wide; in a pipe, as they are."""
    if not (stream or sys.stdout).isatty():
        return lines
    width = max(shutil.get_terminal_size().columns - 1, 30)
    return [part for line in lines for part in _wrapped(line, width)]


def _wrapped(line: str, width: int) -> list[str]:
    """Cut a line between words; what follows stands below the words, not below their label.

    >>> _wrapped("warning    Too few records for this budget", 34)
    ['warning    Too few records for', '           this budget']
    """
    label = re.match(r"(\w+|\d+% CI)? {2,}|error: ", line)
    indent = " " * (len(label[0]) if label and len(label[0]) in (7, 11) else 2)
    return textwrap.wrap(line, width, subsequent_indent=indent) if len(line) > width else [line]
