"""What there is, found by the program and not listed by hand."""

import importlib
import inspect
import pkgutil

import tametail.data
import tametail.queries
from tametail.data.sources import Source
from tametail.data.sql.sessions import Session
from tametail.queries.query import Query


def classes_in(package):
    """Return every class that the modules of a package define."""
    modules = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    # What begins with an underscore is no module of Python's: the compiled loops.
    names = [module.name for module in modules if "._" not in module.name]
    return {
        kind
        for name in [package.__name__, *names]
        for kind in vars(importlib.import_module(name)).values()
        if isinstance(kind, type) and kind.__module__ == name
    }


def query_types():
    """Return every query that can be asked: the concrete classes of ``tametail.queries``."""
    found = {
        kind
        for kind in classes_in(tametail.queries)
        if issubclass(kind, Query) and not inspect.isabstract(kind)
    }
    # A class without fields or questions of its own is a kind of query and not a query.
    return sorted(
        (kind for kind in found if "__dataclass_fields__" in vars(kind)),
        key=lambda kind: kind.__qualname__,
    )


def source_types():
    """Return every kind of source: what yields blocks of rows."""
    found = [kind for kind in classes_in(tametail.data) if issubclass(kind, Source)]
    return sorted((kind for kind in found if not inspect.isabstract(kind)), key=_name)


def file_sources():
    """Return the sources of memory and files; others are those of databases."""
    return [kind for kind in source_types() if ".sources." in kind.__module__]


def backend_types():
    """Return every kind of backend: what answers queries."""
    return _classes_with("on", "answer", "answer_each", "close")


def session_types():
    """Return every kind of session: what a database is asked through."""
    kinds = [kind for kind in classes_in(tametail.data) if issubclass(kind, Session)]
    return sorted((kind for kind in kinds if hasattr(kind, "dialect")), key=_name)


def _classes_with(*verbs):
    kinds = [
        kind
        for kind in classes_in(tametail.data)
        if all(hasattr(kind, verb) for verb in verbs) and not getattr(kind, "_is_protocol", False)
    ]
    return sorted(kinds, key=_name)


def _name(kind):
    return kind.__qualname__
