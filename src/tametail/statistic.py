"""Which statistic is asked for, and what cannot be said beside it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tametail._shown import shown
from tametail._validate import number
from tametail.errors import ParameterError

MEAN, SUM, COUNT, QUANTILE, DESCRIBE = "mean", "sum", "count", "quantile", "describe"
REGRESSION = "regression"

#: All statistics that can be asked for.
STATISTICS: Final = (MEAN, SUM, COUNT, QUANTILE, DESCRIBE, REGRESSION)

#: What the mean of a condition is called.
SHARE = "share"

#: What the rows of a regression are.
COEFFICIENT = "coefficient"

#: The name of the row of the constant.
INTERCEPT: Final = "intercept"

#: Stands for a column where records are counted, or persons, whatever they hold: as in COUNT(*).
RECORDS: Final = "*"

#: More levels than these are not chosen at once.
MOST_LEVELS = 25

#: The levels of a description.
DESCRIBED: Final = (0.05, 0.25, 0.5, 0.75, 0.95)

#: Records beyond a level, times epsilon: with fewer its quantile is noise, and with fewer than the
#: second number its interval is expected to be wide.
HOPELESS, FEW = 5.0, 50.0


def parse_levels(statistic: str, levels: object) -> tuple[float, ...]:
    """Return the levels of quantiles in order, each once.

    >>> parse_levels("quantile", [0.9, 0.5]), parse_levels("quantile", 0.25)
    ((0.5, 0.9), (0.25,))
    """
    if statistic != QUANTILE:
        if levels is not None:
            raise ParameterError("q= requires a quantile. Remove it.")
        return ()
    given = [0.5] if levels is None else [levels]
    if isinstance(levels, Iterable) and not isinstance(levels, str | bytes):
        given = list(levels)
    found = tuple(sorted({number(q=level) for level in given}))
    if not found or len(found) > MOST_LEVELS or not all(0 < level < 1 for level in found):
        wrong = next((level for level in found if not 0 < level < 1), levels)
        raise ParameterError(
            f"Invalid q={shown(wrong)}. Use q=0.5, or a list of up to {MOST_LEVELS} different "
            "levels between 0 and 1, such as q=[0.25, 0.5, 0.75]."
        )
    if any(not 1e-6 < level < 1 - 1e-6 for level in found):
        raise ParameterError("A level is within one millionth of 0 or 1. Remove it.")
    return found


def check_levels(levels: Iterable[float], records: float) -> None:
    """Refuse levels beyond which there are too few of ``records``, counted times epsilon."""
    for level in levels:
        beyond = min(level, 1 - level) * records
        if beyond < HOPELESS:
            raise ParameterError(
                f"q={level:g} cannot be estimated: about {beyond:.2g} records times epsilon lie "
                f"beyond it, and it takes {HOPELESS:g} at least. Ask for a level nearer to 0.5, or "
                "use more records or more budget. No budget was spent."
            )
