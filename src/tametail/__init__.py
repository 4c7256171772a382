"""Means of heavy-tailed data under differential privacy, without guessing bounds."""

from tametail import mechanisms, paper, theory
from tametail.budget import approx, pure, zcdp
from tametail.tail import Bounded, Moment

__all__ = ["Bounded", "Moment", "approx", "mechanisms", "paper", "pure", "theory", "zcdp"]
