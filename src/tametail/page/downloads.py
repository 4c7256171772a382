"""The same release as a script, a command and a notebook: what one takes away from the page."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator

from tametail.page.forms import ReleaseForm
from tametail.parse import Parse
from tametail.release import Release
from tametail.report.cells import release_cell
from tametail.show.sentences import sentence, title_of
from tametail.tail import Bounded, Moment


def python_call(asked: ReleaseForm) -> str:
    """Return the call of the function of the statistic, on several lines."""
    columns = asked.columns[0] if len(asked.columns) == 1 else list(asked.columns)
    lines = [f"    {asked.path!r},", f"    {columns!r},"]
    if asked.levels is not None:
        lines.append(f"    {asked.levels!r},")
    lines += [f"    {name}={_python(value)}," for name, value in _arguments(asked)]
    return "\n".join([f"release = tt.{asked.statistic}(", *lines, ")"])


def python_script(asked: ReleaseForm) -> str:
    """Return a script that makes the same release and writes its report."""
    return (
        f'"""{_warning(asked)}"""\n\n'
        "import tametail as tt\n\n"
        f"{python_call(asked)}\n"
        "print(release)\n"
        'release.report("report.html")\n'
    )


def _warning(asked: ReleaseForm) -> str:
    if asked.ledger is not None:
        return "The same release: the ledger returns the stored result and spends nothing."
    return "Running this again is a new release and spends budget again."


def _arguments(asked: ReleaseForm) -> Iterator[tuple[str, object]]:
    yield from asked.options.items()
    for name in ("table", "ledger", "dataset", "release_id"):
        value = getattr(asked, name)
        if value is not None:
            yield name, value


def _python(value: object) -> str:
    """Return a value as Python writes it.

    >>> _python(Moment(2, 100.0)), _python((0.0, float("inf"))), _python(["CA"])
    ('tt.Moment(2, 100.0)', '(0.0, float("inf"))', "['CA']")
    """
    if isinstance(value, Moment):
        return f"tt.Moment({value.k:g}, {value.scale!r})"
    if isinstance(value, Bounded):
        return "tt.Bounded({!r}, {!r})".format(*value.said)
    if isinstance(value, Parse):
        said = value.to_dict()
        return f"tt.Parse({', '.join(f'{name}={said[name]!r}' for name in said)})"
    if isinstance(value, tuple) and all(isinstance(end, float) for end in value):
        return f"({', '.join(_end(end) for end in value)})"
    return repr(value)


def _end(value: float) -> str:
    return repr(value) if abs(value) < float("inf") else f'float("{value}")'


def command_line(asked: ReleaseForm) -> str:
    """Return the command that does the same."""
    words = ["tametail", asked.statistic, asked.path]
    for column in asked.columns:
        words += ["--column", column]
    for level in asked.levels or ():
        words += ["--level", _plain(level)]
    for name, value in _arguments(asked):
        words += _option(name, value)
    return shlex.join(words)


def _option(name: str, value: object) -> Iterable[str]:
    """Return an argument as options of the command line.

    >>> [*_option("tail", Moment(2, 100.0))], [*_option("by", ["state", "year"])]
    (['--moment', '2:100'], ['--by', 'state', '--by', 'year'])
    """
    if isinstance(value, Moment | Bounded):
        return _tail(value)
    if isinstance(value, Parse):
        return [word for one in value.to_dict().items() for word in _written(*one)]
    if name == "within" and isinstance(value, tuple):
        return ["--within", ":".join(map(_plain, value))]
    if name == "keys" and isinstance(value, list):
        return _keys(value)
    if name in ("by", "person"):
        names = value if isinstance(value, list) else [value]
        return [word for one in names for word in (f"--{name}", str(one))]
    option = "-n" if name == "n" else f"--{name.replace('_', '-')}"
    return [option, "none" if value is None else _plain(value)]


def _keys(keys: Iterable[object]) -> Iterable[str]:
    r"""Return keys as an option: tabs between the cells of one.

    Commas end a key there. If a cell has one, a file has to list the keys: without it the command
    is refused, and asks for no other groups.

    >>> [*_keys([("CA", "2013"), ("NY", "2014")])], [*_keys(["a,b", "c"])]
    (['--keys', 'CA\t2013,NY\t2014'], ['--keys-file', 'keys.txt'])
    """
    written = ["\t".join(key) if isinstance(key, tuple) else str(key) for key in keys]
    if any("," in key for key in written):
        return ["--keys-file", "keys.txt"]
    return ["--keys", ",".join(written)]


def _tail(tail: Moment | Bounded) -> Iterable[str]:
    if isinstance(tail, Moment):
        return ["--moment", f"{tail.k:g}:{_plain(tail.scale)}"]
    return ["--bounds", ":".join("" if end is None else _plain(end) for end in tail.said)]


def _written(name: str, value: object) -> Iterable[str]:
    """Return how numbers are written, as options.

    >>> [*_written("header", False)], [*_written("delimiter", ";")]
    (['--no-header'], ['--delimiter', ';'])
    """
    if isinstance(value, bool):
        return [f"--{name}" if value else f"--no-{name}"]
    if isinstance(value, list):
        return [word for one in value for word in (f"--{name}", str(one))]
    return [f"--{name}", {"\t": "tab", " ": "space"}.get(str(value), str(value))]


def _plain(value: object) -> str:
    """Return a value as a shell takes it; whole numbers without a point.

    >>> _plain(100.0), _plain(0.1), _plain(float("inf"))
    ('100', '0.1', 'inf')
    """
    return str(value).removesuffix(".0")


def notebook(asked: ReleaseForm, release: Release) -> str:
    """Return a notebook: the call, and what it gave, so that it can be read without running it."""
    title = f"# {title_of(release)}\n\n{_warning(asked)}"
    output = {
        "output_type": "execute_result",
        "execution_count": 2,
        "metadata": {},
        "data": {"text/html": release_cell(release), "text/plain": sentence(release)},
    }
    cells = [
        {"cell_type": "markdown", "id": "about", "metadata": {}, "source": title},
        _code("import", "import tametail as tt", 1, []),
        _code("release", f"{python_call(asked)}\nrelease", 2, [output]),
        _code("report", 'release.report("report.html")', None, []),
    ]
    made = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(made, indent=1)


def _code(name: str, source: str, count: int | None, outputs: list[object]) -> dict[str, object]:
    return {
        "cell_type": "code",
        "id": name,
        "metadata": {},
        "execution_count": count,
        "source": source,
        "outputs": outputs,
    }
