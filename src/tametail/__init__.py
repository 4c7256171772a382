"""Means of heavy-tailed data under differential privacy, without guessing bounds."""

from tametail import mechanisms, paper, theory
from tametail.api import epsilon_for, mean, plan, replay, sample_size
from tametail.budget import approx, pure, zcdp
from tametail.interop import as_opendp
from tametail.tail import Bounded, Moment

__all__ = [
    "Bounded",
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
