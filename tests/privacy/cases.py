"""What a case of an audit is, and how an estimator becomes one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from tametail.ask import Ask
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Approx, Budget, Pure, Zcdp, zcdp_to_approx

from ..opened import open_table  # noqa: TID252
from .auditor import Draw, Seen
from .witness import CachedBackend, Open, Stock, Witness

Records = Sequence[Any]
Item = TypeVar("Item")

# Budgets and deltas are large, so that an audit of a few thousand runs can see what they allow.
PURE, ZCDP, APPROX = Pure(2.0), Zcdp(0.5), Approx(2.0, 0.05)
NOTIONS: tuple[Budget, ...] = (PURE, ZCDP, APPROX)

#: A zCDP claim is a curve; these points of it are checked.
AUDITED_DELTAS = (0.02, 0.002)

#: Runs in a full audit, on both neighbors together: of a mechanism, a query, an estimator.
MECHANISM_DRAWS, QUERY_DRAWS, ESTIMATOR_DRAWS = 1_000_000, 60_000, 100_000


@dataclass(frozen=True)
class Case:
    """A mechanism on two neighbors, what it claims, and how often a full audit runs it."""

    name: str
    adjacency: Adjacency
    cost: Budget
    first: Draw
    second: Draw
    draws: int

    @property
    def claims(self) -> tuple[tuple[float, float], ...]:
        """Pairs (epsilon, delta) that the cost implies."""
        if isinstance(self.cost, Zcdp):
            rho = self.cost.rho
            return tuple((zcdp_to_approx(rho, delta), delta) for delta in AUDITED_DELTAS)
        return ((self.cost.strength, self.cost.delta if isinstance(self.cost, Approx) else 0.0),)

    def __str__(self) -> str:
        return f"{self.name}, {self.adjacency}, {self.cost}"


def repeated(run: Callable[[], Item], count: int) -> list[Item]:
    """Run that often."""
    return [run() for _ in range(count)]


def simple_case(
    name: str, adjacency: Adjacency, cost: Budget, draws: int, run: Callable[[int], Any]
) -> Case:
    """Make a case from ``run(side)``, which runs a mechanism once on that side."""
    first, second = (partial(repeated, partial(run, side)) for side in (0, 1))
    return Case(name, adjacency, cost, first, second, draws)


class Estimator:
    """An estimator on two neighbors; both share one stock of noise for what they share."""

    def __init__(
        self,
        opens: Sequence[Open],
        budget: Budget,
        adjacency: Adjacency,
        estimate: Callable[[Ask], tuple[float, ...]],
    ) -> None:
        self._backends = [CachedBackend(each) for each in opens]
        self._budget, self._unit, self._estimate = budget, adjacency, estimate
        self._stock: Stock | None = None

    def draw(self, side: int, count: int) -> list[Seen]:
        """Run that often; what is seen is the evidence of the answers and the estimate."""
        if self._stock is None:
            stock = Stock(count)
            for _ in range(stock.warm_up):
                for each in (0, 1):
                    self._run(each, stock)
            stock.fill()
            self._stock = stock
        return [self._run(side, self._stock) for _ in range(count)]

    def _run(self, side: int, stock: Stock) -> Seen:
        witness = Witness(self._backends, side, stock)
        estimate = self._estimate(Ask(witness, self._budget, self._unit))
        # Equal evidence must look equal, in whichever order it was added up.
        return Seen((round(witness.evidence, 9), *estimate))


def estimator_case(
    name: str,
    neighbors: Sequence[Any],
    budget: Budget,
    adjacency: Adjacency,
    estimate: Callable[[Ask], tuple[float, ...]],
    *,
    claimed: Budget | None = None,
    backend: Callable[[Any], Any] = open_table,
    draws: int = ESTIMATOR_DRAWS,
) -> Case:
    """Make a case from an estimator that returns some numbers; ``claimed`` may be less."""
    estimator = Estimator(
        [partial(backend, each) for each in neighbors], budget, adjacency, estimate
    )
    first, second = (partial(estimator.draw, side) for side in (0, 1))
    return Case(name, adjacency, budget if claimed is None else claimed, first, second, draws)
