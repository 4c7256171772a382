"""What there is, found by the program and not listed by hand."""

import importlib
import inspect
import pkgutil

import tametail.queries
from tametail.queries.query import Query


def query_types():
    """Return every query that can be asked: the concrete classes of ``tametail.queries``."""
    prefix = f"{tametail.queries.__name__}."
    names = [module.name for module in pkgutil.walk_packages(tametail.queries.__path__, prefix)]
    found = {
        kind
        for name in names
        for kind in vars(importlib.import_module(name)).values()
        if isinstance(kind, type) and issubclass(kind, Query) and not inspect.isabstract(kind)
    }
    # A class without fields or questions of its own is a kind of query and not a query.
    return sorted(
        (kind for kind in found if "__dataclass_fields__" in vars(kind)),
        key=lambda kind: kind.__qualname__,
    )
