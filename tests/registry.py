"""What there is, found by the program and not listed by hand."""

import importlib
import inspect
import pkgutil

import tametail.engines
import tametail.queries
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


def table_types():
    """Return every kind of table: what yields chunks of rows."""
    return _engines_with("chunks", "rows", "column")


def local_tables():
    """Return the tables of memory and files; others stand beside the engine that needs them."""
    return [kind for kind in table_types() if ".tables." in kind.__module__]


def engine_types():
    """Return every kind of engine: what answers queries."""
    return _engines_with("answer", "rows", "column")


def _engines_with(*verbs):
    kinds = [
        kind
        for kind in classes_in(tametail.engines)
        if all(hasattr(kind, verb) for verb in verbs) and not getattr(kind, "_is_protocol", False)
    ]
    return sorted(kinds, key=lambda kind: kind.__qualname__)
