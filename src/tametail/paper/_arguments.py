"""What all functions of the paper are given, and its checks; they read no data."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from tametail._shown import shown
from tametail._validate import number, positive
from tametail.charged_calls import ChargeableCall
from tametail.errors import ParameterError
from tametail.paper._opened import Opened
from tametail.paper.ball import Coordinates
from tametail.privacy.budget import Approx, Budget, parse_budget
from tametail.privacy.choices import coordinate_costs
from tametail.theory import bucket_radius, clip_radius, median_of_means_blocks
from tametail.theory._constants import Constants
from tametail.theory.means import BLOCK_FAILURE

#: Lengths up to here and down to its inverse leave room for the noise within the doubles.
LARGEST = 1e250

#: Noise for less than this would not fit in 64 bits, not even on the coarsest lattice.
LEAST_STRENGTH = 1e-12


def parse_bound(R: object, budget: Budget, where: str) -> float:
    """Return R; infinity is for approximate budgets only. ``where`` says what R bounds."""
    bound = number(R=R)
    if bound <= 0:
        raise ParameterError(f"R={shown(R)} is not positive: write R > 0 for a mean {where}.")
    if math.isinf(bound) and not isinstance(budget, Approx):
        raise ParameterError(
            "R=inf needs a budget with a delta: write approx(epsilon, delta), or give a finite R."
        )
    return bound


def check_strength(costs: list[Budget], budget: Budget) -> None:
    """Refuse a budget whose parts would need more noise than 64 bits hold."""
    if min(cost.strength for cost in costs) < LEAST_STRENGTH:
        raise ParameterError(f"{budget} is too small for any noise that fits: write a larger one.")


def length_that_fits(
    compute: Callable[[], float], *, alpha: float, k: float, scale: float
) -> float:
    """Return a length that doubles can hold with room for the noise, or refuse."""
    length = math.inf
    if 1 / LARGEST <= alpha / scale <= LARGEST:
        with suppress(OverflowError, ZeroDivisionError):
            length = compute()
    if not 1 / LARGEST <= length <= LARGEST:
        raise ParameterError(
            f"alpha={alpha!r}, k={k!r} and scale={scale!r} ask for an interval that doubles "
            "cannot hold: write an alpha closer to the scale, or other units for the records."
        )
    return length


def lengths(
    alpha: float, k: float, scale: float, constants: Constants, asked: float | None = None
) -> tuple[float, float]:
    """Return the radius of a bucket, and the margin of a range; refusals tell what was asked."""
    told = alpha if asked is None else asked
    radius, margin = (
        length_that_fits(
            partial(function, alpha, k, scale=scale, constants=constants),
            alpha=told, k=k, scale=scale,
        )
        for function in (bucket_radius, clip_radius)
    )  # fmt: skip
    return radius, margin


class Given(NamedTuple):
    """The arguments of an estimator, checked, and its data, of which nothing has been read."""

    opened: Opened
    alpha: float
    k: float
    R: float
    scale: float
    constants: Constants

    @classmethod
    def parse(
        cls, data: object, budget: object, alpha: float, k: float, R: float, scale: float,
        constants: Constants, *, several: bool = False,
    ) -> Given:  # fmt: skip
        """Check what all estimators take; with several columns R bounds the norm of the mean."""
        budget = parse_budget(budget)
        bound = parse_bound(R, budget, "of norm at most R" if several else "in [-R, R]")
        order = number(k=k)
        if several and not 2 <= order < math.inf:
            raise ParameterError(
                f"k={shown(k)} is not known in many dimensions: write a finite k >= 2."
            )
        check_strength([budget], budget)
        alpha, scale = positive(alpha=alpha), positive(scale=scale)
        if not several:  # a mistake is told before anybody looks for the data
            lengths(alpha, order, scale, constants)
        return cls(Opened.of(data, budget, several=several), alpha, order, bound, scale, constants)

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.opened.backend.relation.names)

    def call(self, function: str, **more: object) -> ChargeableCall:
        """Return what a ledger is told of a call."""
        numbers = {"alpha": self.alpha, "k": self.k, "R": self.R, "scale": self.scale}
        return self.opened.call(function, **numbers, **({"constants": self.constants} | more))

    def length(self, compute: Callable[[], float]) -> float:
        """Return a length that doubles can hold with room for the noise, or refuse."""
        return length_that_fits(compute, alpha=self.alpha, k=self.k, scale=self.scale)

    def lengths(self, alpha: float) -> tuple[float, float]:
        """Return the radius of a bucket, and the margin of a range, for a mean within alpha."""
        return lengths(alpha, self.k, self.scale, self.constants, asked=self.alpha)

    def coordinates(self, alpha: float, beta: float) -> Coordinates:
        """Return the numbers of one-dimensional estimates within alpha, each up to beta."""
        costs = coordinate_costs(self.opened.budget, self.n_columns)
        check_strength(costs, self.opened.budget)
        radius, margin = self.lengths(alpha)
        blocks = median_of_means_blocks(beta, BLOCK_FAILURE[self.constants], self.constants)
        return Coordinates(costs, blocks, radius, self.R, margin)
