"""The only place of the net that knows names inside of the package.

Whoever moves or renames a module adds the new dotted name *in front* of the old one below: the
first that exists is taken, so that the same net still runs on the sources from before the move
(``tools/same_bytes.py`` does). Classes of queries are found by name, wherever they live; one that
gets another name, or other names of its fields, is entered in ``RENAMED``.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np

import tametail
import tametail.errors

#: What answers queries over one column, over several, and over the rows of a matrix (the paper's).
ENGINES = {
    "column": (
        "tametail.engines.open.open_table",
        "tametail.engines.tables.memory.MemoryEngine",
        "tametail.engines.arrays.MemoryEngine",
    ),
    "table": (
        "tametail.engines.open.open_rows",  # a list that is called rows is rows
        "tametail.engines.open.open_table",
        "tametail.engines.local.open_table",
        "tametail.engines.tables.open_table",
    ),
    "matrix": (
        "tametail.engines.open.open_rows",
        "tametail.engines.tables.matrix.MatrixEngine",
        "tametail.engines.matrices.MatrixEngine",
    ),
}

#: What answers from a transcript, and what answers from records.
REPLAY = ("tametail.ask.Replay.prepare", "tametail.ask.Replay.respond")
RECORDS = ("tametail.ask.Data.prepare", "tametail.ask.Data.respond")

#: Old name of a class: its new name, and new names of its fields by the old ones.
RENAMED: dict[str, tuple[str, dict[str, str]]] = {}

#: Modules that are not looked through: they need packages that may not be there, or do things.
_LEFT_OUT = ("cli", "__main__", "reproduce", "plots", "page", "ledger", "theory")


def find(names: tuple[str, ...]) -> tuple[Any, str]:
    """Return the holder and the last part of the first dotted name that exists."""
    for name in names:
        parts = name.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            try:
                holder: Any = importlib.import_module(".".join(parts[:cut]))
            except ImportError:
                continue
            for part in parts[cut:-1]:
                holder = getattr(holder, part, None)
            if hasattr(holder, parts[-1]):
                return holder, parts[-1]
            break
    raise LookupError(f"none of {names} exists: enter the new name in tests/net/adapters.py.")


def open_engine(kind: str, data: Any) -> Any:
    """Return the engine in memory over these data."""
    holder, name = find(ENGINES[kind])
    return getattr(holder, name)(data)


def ask_engine(engine: Any, query: Any) -> Any:
    """Return the exact answer of an engine."""
    return engine.answer(query)


@cache
def _classes() -> dict[str, list[type]]:
    found: dict[str, list[type]] = {}
    for module in pkgutil.walk_packages(tametail.__path__, "tametail.", onerror=lambda _name: None):
        if any(part.startswith("spark") or part in _LEFT_OUT for part in module.name.split(".")):
            continue
        try:
            loaded = importlib.import_module(module.name)
        except ImportError:  # an optional package is missing
            continue
        for name, kind in vars(loaded).items():
            known = found.setdefault(name, [])
            if inspect.isclass(kind) and kind.__module__ == module.name and kind not in known:
                known.append(kind)
    return found


def find_class(name: str, arguments: tuple[str, ...] = ()) -> type:
    """Return the class of this name in the package that takes these arguments."""
    name, new_fields = RENAMED.get(name, (name, {}))
    wanted = {new_fields.get(argument, argument) for argument in arguments}
    fitting = [
        kind
        for kind in _classes().get(name, [])
        if wanted <= set(inspect.signature(kind).parameters)
    ]
    if len(fitting) != 1:
        raise LookupError(f"{len(fitting)} classes {name} take {sorted(wanted)}: see RENAMED.")
    return fitting[0]


def build(record: Any) -> Any:
    """Return what a record describes: {"class": name, "fields": {...}}; lists become tuples."""
    if isinstance(record, list):
        return tuple(build(item) for item in record)
    if not (isinstance(record, dict) and "class" in record):
        return record
    values = record["fields"]
    _, names = RENAMED.get(record["class"], ("", {}))
    kind = find_class(record["class"], tuple(values))
    return kind(**{names.get(name, name): build(value) for name, value in values.items()})


def describe(value: Any) -> Any:
    """Undo :func:`build`: what a query consists of, under the names of the recording."""
    if is_dataclass(value) and not isinstance(value, type):
        name, names = _old_names(type(value).__name__)
        values = {
            names.get(f.name, f.name): describe(getattr(value, f.name)) for f in fields(value)
        }
        return {"class": name, "fields": values}
    if isinstance(value, tuple | list):
        return [describe(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _old_names(name: str) -> tuple[str, dict[str, str]]:
    for old, (new, names) in RENAMED.items():
        if new == name:
            return old, {later: earlier for earlier, later in names.items()}
    return name, {}


def digest(value: Any) -> Any:
    """Shorten the long lists of a description to their length, ends and sum."""
    if isinstance(value, dict):
        return {key: digest(item) for key, item in value.items()}
    if isinstance(value, list):
        if len(value) > 16 and not any(isinstance(item, list | dict) for item in value):
            return {"length": len(value), "ends": [value[0], value[-1]], "sum": sum(value)}
        return [digest(item) for item in value]
    return value


@contextmanager
def _patched(names: tuple[str, ...], wrap: Callable[[Any], Any]) -> Iterator[None]:
    holder, name = find(names)
    original = getattr(holder, name)
    setattr(holder, name, wrap(original))
    try:
        yield
    finally:
        setattr(holder, name, original)


def _query_and_cost(arguments: tuple[Any, ...]) -> tuple[Any, Any]:
    """Pick both by what they are, in whatever order they come."""
    cost = next(item for item in arguments if hasattr(item, "strength"))
    query = next(item for item in arguments if is_dataclass(item) and item is not cost)
    return query, cost


def _is_prepared(given: Any) -> bool:
    """Say whether this is no answer yet, but how to read one and how to make it private."""
    return isinstance(given, tuple) and len(given) == 2 and all(map(callable, given))


@contextmanager
def asked(names: tuple[str, ...] = REPLAY) -> Iterator[list[Any]]:
    """Note what is asked, and at what cost, while a transcript answers.

    ``replay`` does not look at the queries, so a wrong one would go unnoticed otherwise.
    """
    noted: list[Any] = []

    def wrap(respond: Any) -> Any:
        def spy(self: Any, *arguments: Any, **named: Any) -> Any:
            query, cost = _query_and_cost((*arguments, *named.values()))
            noted.append([digest(describe(query)), cost.to_dict()])
            return respond(self, *arguments, **named)

        return spy

    with _patched(names, wrap):
        yield noted


@contextmanager
def changed(change: Callable[[Any, Any], Any]) -> Iterator[None]:
    """Let ``change(answer, query)`` be answered instead of what the records give."""

    def wrap(respond: Any) -> Any:
        def liar(self: Any, *arguments: Any, **named: Any) -> Any:
            query, _ = _query_and_cost((*arguments, *named.values()))
            given = respond(self, *arguments, **named)
            if not _is_prepared(given):
                return change(given, query)
            read, make_private = given
            return read, lambda exact: change(make_private(exact), query)

        return liar

    with _patched(RECORDS, wrap):
        yield


@contextmanager
def answered(answers: list[Any]) -> Iterator[None]:
    """Let these be the answers, in order, whatever the records are: the paper has no replay."""
    remaining = iter(answers)

    def wrap(respond: Any) -> Any:
        if respond.__name__ == "prepare":
            return lambda _self, *_arguments, **_named: (lambda _: None, lambda _: next(remaining))
        return lambda _self, *_arguments, **_named: next(remaining)

    with _patched(RECORDS, wrap):
        yield


def sensitivities(query: Any) -> list[Any]:
    """Return how far one record can move a query, for each unit; None if it is not for that unit.

    ``[l1, l2_squared]`` of what noise is added to, one number for the score of a choice.
    """
    return [_moves(query, unit) for unit in ("add-remove", "replace-one")]


def _moves(query: Any, name: str) -> Any:
    unit = tametail.plan(n=10, epsilon=1.0, unit=name).unit
    try:
        if hasattr(query, "score_sensitivity"):
            return query.score_sensitivity(unit)
        found = query.sensitivity(unit)
    except tametail.errors.InternalError:
        return None
    return [found.l1, found.l2_squared]
