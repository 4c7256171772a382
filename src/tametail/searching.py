"""The least number whose plan promises an error."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from tametail._shown import shown
from tametail._validate import positive
from tametail.errors import ParameterError
from tametail.planning import Plan
from tametail.tail import Bounded, Tail


def target_half_width(error: float | None, relative_error: float | None, tail: Tail) -> float:
    """Return the half-width that is asked for, in the units in which it can be predicted."""
    if (error is None) == (relative_error is None):
        raise ParameterError("Use error= or relative_error=, not both.")
    if isinstance(tail, Bounded) and tail.one_sided:  # it bounds no tail
        tail = None
    if error is not None and tail is None:
        raise ParameterError(
            f"error={shown(error)} needs a tail assumption, because without one the scale of the "
            "data is unknown. Use relative_error=0.1 (in standard deviations), or add "
            "tail=Moment(2, scale) or tail=Bounded(low, high)."
        )
    if relative_error is not None and tail is not None:
        raise ParameterError(
            "With tail=, use error= (in the units of the data) instead of relative_error=."
        )
    if error is not None:
        return positive(error=error)
    return positive(relative_error=relative_error)


def smallest_sufficient(
    made: Callable[[int], Plan], confidence: float, error: float, most: int, refusal: str
) -> int:
    """Return the least whole number up to ``most`` whose plan promises the error.

    Doublings find where to look, and bisection the number. Predictions grow where one method takes
    over from another, so the last number of each method is looked at as well.
    """

    def is_enough(size: int) -> bool:
        width = made(size).half_width(confidence)
        return width is not None and width <= error

    low, size = 0, 1
    while True:
        changed = low > 0 and made(low).method != made(size).method
        for high in (_last_with_same_method(made, low, size), size) if changed else (size,):
            if is_enough(high):
                return bisect_left(range(high + 1), True, lo=low + 1, key=is_enough)
            low = high
        if size == most:
            raise ParameterError(refusal)
        size = min(2 * size, most)


def _last_with_same_method(made: Callable[[int], Plan], low: int, high: int) -> int:
    """Return the last number whose plan has the method of that of ``low``."""
    method = made(low).method
    others = range(high + 1)
    return bisect_left(others, True, lo=low + 1, key=lambda n: made(n).method != method) - 1
