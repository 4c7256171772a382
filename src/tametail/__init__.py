"""Means of heavy-tailed data under differential privacy, without guessing bounds."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tametail import mechanisms
from tametail.api import epsilon_for, mean, plan, replay, sample_size
from tametail.interop import as_opendp
from tametail.privacy.budget import approx, pure, zcdp
from tametail.tail import Bounded, Moment

if TYPE_CHECKING:
    from tametail import paper, theory
    from tametail.ledger import Ledger

    __version__: str

__all__ = [
    "Bounded",
    "Ledger",
    "Moment",
    "approx",
    "as_opendp",
    "epsilon_for",
    "mean",
    "mechanisms",
    "paper",
    "plan",
    "pure",
    "replay",
    "sample_size",
    "theory",
    "zcdp",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Load what few programs need when it is first asked for: importing tametail stays quick."""
    if name in ("paper", "theory"):
        return import_module(f"tametail.{name}")
    if name == "Ledger":
        return import_module("tametail.ledger").Ledger
    if name == "__version__":
        return str(import_module("importlib.metadata").version("tametail"))
    raise AttributeError(f"module 'tametail' has no attribute {name!r}")
