"""Which constants a theorem has, by name."""

from __future__ import annotations

from typing import Literal

from tametail._shown import shown
from tametail.errors import ParameterError
from tametail.inequalities.checks import moment_order

Constants = Literal["paper", "tight"]
#: Of one column there is a third choice: ``theory.one_block``.
MeanConstants = Literal["paper", "tight", "one-block"]


def known_constants(constants: str, k: float) -> None:
    """Refuse constants that do not exist, or not for this order of moment."""
    if constants not in ("paper", "tight"):
        raise ParameterError(
            f"constants={shown(constants)} is not known here: write constants='paper' or "
            "constants='tight'."
        )
    moment_order(k)
    if constants == "paper" and k < 2:
        raise ParameterError(
            f"constants='paper' is for k >= 2, as the paper is, and not for k={shown(k)}: write "
            "constants='tight'."
        )
