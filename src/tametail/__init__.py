"""Means of heavy-tailed data under differential privacy, without guessing bounds."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tametail import errors, mechanisms, paper, testing, theory
    from tametail.api import (
        count,
        describe,
        epsilon_for,
        mean,
        median,
        plan,
        quantile,
        regression,
        replay,
        sample_size,
        sum,  # noqa: A004 - as everybody calls it
    )
    from tametail.comparisons import Comparison
    from tametail.interop import as_opendp
    from tametail.ledger import Ledger
    from tametail.parse import Parse
    from tametail.privacy.budget import approx, pure, zcdp
    from tametail.release import Release
    from tametail.tail import Bounded, Moment

    __version__: str

__all__ = [
    "Bounded",
    "Comparison",
    "Ledger",
    "Moment",
    "Parse",
    "Release",
    "approx",
    "as_opendp",
    "count",
    "describe",
    "epsilon_for",
    "errors",
    "mean",
    "mechanisms",
    "median",
    "paper",
    "plan",
    "pure",
    "quantile",
    "regression",
    "replay",
    "sample_size",
    "sum",
    "testing",
    "theory",
    "zcdp",
]

#: Where the names come from; a module is loaded when a name of it is first used.
_HOMES = {
    "Bounded": "tail",
    "Comparison": "comparisons",
    "Ledger": "ledger",
    "Moment": "tail",
    "Parse": "parse",
    "Release": "release",
    "approx": "privacy.budget",
    "as_opendp": "interop",
    "count": "api",
    "describe": "api",
    "epsilon_for": "api",
    "mean": "api",
    "median": "api",
    "plan": "api",
    "pure": "privacy.budget",
    "quantile": "api",
    "regression": "api",
    "replay": "api",
    "sample_size": "api",
    "sum": "api",
    "zcdp": "privacy.budget",
}


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> object:
    """Load what is asked for when it is first used: importing tametail stays quick."""
    if name == "__version__":
        return import_module("importlib.metadata").version("tametail")
    if name in _HOMES:
        found: object = getattr(import_module(f"tametail.{_HOMES[name]}"), name)
    elif name in __all__:
        found = import_module(f"tametail.{name}")
    else:
        raise AttributeError(f"module 'tametail' has no attribute {name!r}")
    globals()[name] = found
    return found
