"""The only place of the net that knows names inside of the package.

Classes of queries are found by name, wherever they live; one that gets another name, or other names
of its fields, is entered in ``RENAMED``.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import tametail
import tametail.errors
from tametail.ask import Data, Replay

sys.path.insert(0, str(Path(__file__).parents[1]))

import opened

#: What opens one column, several, and the rows of a matrix (the paper's); a list that is called
#: rows is rows.
OPENED = {"column": opened.open_table, "table": opened.open_rows, "matrix": opened.open_rows}

#: Old name of a class: its new name, and new names of its fields by the old ones.
RENAMED: dict[str, tuple[str, dict[str, str]]] = {}

#: Modules that are not looked through: they need packages that may not be there, or do things.
_LEFT_OUT = ("cli", "__main__", "reproduce", "plots", "page", "ledger", "theory")


def open_engine(kind: str, data: Any) -> Any:
    """Return the data in memory, opened."""
    return OPENED[kind](data)


def ask_engine(engine: Any, query: Any) -> Any:
    """Return the exact answer of an engine."""
    return engine.answer(query)


def about(plan: Any, where: str | None) -> Any:
    """Return the plan with a condition on records, which ``mean`` takes beside a plan."""
    return plan if where is None else plan.about(None, where)


def key(cells: list[Any]) -> Any:
    """Return the key of a group as the package has it."""
    return find_class("Key", ("cells",))(tuple(cells))


def cells_of(key: Any) -> tuple[Any, ...]:
    """Undo :func:`key`."""
    cells: tuple[Any, ...] = key.cells
    return cells


def answers_at(place: dict[str, Any], opening: dict[str, Any], asks: list[Any]) -> list[Any]:
    """Return the exact answers about data in a place, all from one engine.

    ``place`` is one of ``tests/backends/places.py``. ``opening`` has the columns, and perhaps
    ``where``, ``person``, ``lines``, ``by``, ``keys`` and ``other``. An ask is a pair of what
    narrows the records first, with its arguments, and the query.
    """
    named = {name: opening.get(name) for name in ("where", "person", "lines")}
    named["table"] = place.get("table")
    columns, by, keys = opening["columns"], opening.get("by"), opening.get("keys")
    wanted = list(columns) if len(columns) > 1 else columns[0]
    if keys is not None:
        as_text = place.get("keys_are_text", False)
        keys = [key([str(cell) if as_text else cell for cell in cells]) for cells in keys]
    if by:
        found = opened.open_groups(place["data"], wanted, by, keys, **named)
    else:
        found = opened.open_table(place["data"], wanted, **named)
    try:
        asked = found if keys is None else found.grouped(keys, other=opening.get("other", False))
        with np.errstate(all="ignore"):
            return [ask_engine(_narrowed(asked, narrowed), query) for narrowed, query in asks]
    finally:
        found.close()


def _narrowed(engine: Any, narrowed: dict[str, Any]) -> Any:
    """Return the engine over a column, over some keys, or over one number of each person."""
    for name, argument in narrowed.items():
        engine = getattr(engine, name)(argument)
    return engine


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
    if isinstance(value, tuple | list | range):
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
def _patched(holder: Any, name: str, wrap: Callable[[Any], Any]) -> Iterator[None]:
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


@contextmanager
def asked(holder: Any = Replay) -> Iterator[list[Any]]:
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

    with _patched(holder, "prepare", wrap):
        yield noted


@contextmanager
def narrowings() -> Iterator[list[Any]]:
    """Note which columns, persons' numbers and groups a transcript is asked about.

    Replays do not look at these either.
    """
    noted: list[Any] = []

    def wrap(on: Any) -> Any:
        def spy(self: Any, relation: Any) -> Any:
            name, arguments = _narrowing(self.relation, relation)
            noted.append([name, digest(describe(arguments))])
            return on(self, relation)

        return spy

    with _patched(Replay, "on", wrap):
        yield noted


def _narrowing(before: Any, after: Any) -> tuple[str, list[Any]]:
    """Return what was derived from a relation, under the name of the recording."""
    if after.groups is not before.groups:
        return "grouped", [after.groups.keys, after.groups.other]
    if after.is_dropped != before.is_dropped:
        return "dropped", [after.view]
    if after.part != before.part or after == before:
        return "keys", [after.codes]
    if after.view != before.view:
        return "view", [after.view]
    return "column", [before.columns.index(*after.columns)]


@contextmanager
def changed(change: Callable[[Any, Any], Any]) -> Iterator[None]:
    """Let ``change(answer, query)`` be answered instead of what the records give."""

    def wrap(prepare: Any) -> Any:
        def liar(self: Any, *arguments: Any, **named: Any) -> Any:
            query, _ = _query_and_cost((*arguments, *named.values()))
            read, make_private = prepare(self, *arguments, **named)
            return read, lambda exact: change(make_private(exact), query)

        return liar

    with _patched(Data, "prepare", wrap):
        yield


@contextmanager
def answered(answers: list[Any]) -> Iterator[None]:
    """Let these be the answers, in order, whatever the records are: the paper has no replay."""
    remaining = iter(answers)

    def wrap(_prepare: Any) -> Any:
        return lambda _self, *_arguments, **_named: (lambda _: None, lambda _: next(remaining))

    with _patched(Data, "prepare", wrap):
        yield


def sensitivities(query: Any) -> list[Any]:
    """Return how far one record can move a query, for each unit; None if it is not for that unit.

    ``[l1, l2_squared]`` of what noise is added to, one number for the score of a choice.
    """
    return [_moves(query, adjacency) for adjacency in ("add-remove", "replace-one")]


def _moves(query: Any, name: str) -> Any:
    adjacency = tametail.plan(n=10, epsilon=1.0, neighbors=name).adjacency
    try:
        if hasattr(query, "score_sensitivity"):
            return query.score_sensitivity(adjacency)
        if hasattr(query, "sensitivities"):  # of every key
            return [[each.l1, each.l2_squared] for each in query.sensitivities(adjacency)]
        found = query.sensitivity(adjacency)
    except (tametail.errors.InternalError, AssertionError):
        return None
    return [found.l1, found.l2_squared]
