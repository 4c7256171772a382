"""Linear regression, of y on all other columns, told nothing.

1. *standardize*: means in a ball; a column's clip points say how large it is;
2. *products*: the means of the products of standardized columns, which are the normal equations
   A b = m, solved for a first b;
3. *scores*: the means g of (y - x b) x, and one Newton step, b + A^-1 g.

Whatever is wrong with A after the second step, by noise or by clipping, matters in the third by its
product with what the first b is off.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tametail.columns import Column
from tametail.means import Estimate, Interval
from tametail.methods.joint.estimate import vector_mean
from tametail.methods.joint.interval import DOUBT, PARTS
from tametail.methods.joint.settings import common_steps, own_steps
from tametail.notes import COLLINEAR, EXPERIMENTAL, Note, few_records
from tametail.plans import COUNT, Prediction, PricedRequest, Step, Steps
from tametail.privacy.budget import Budget
from tametail.queries.products import Products
from tametail.request import Request
from tametail.statistic import COEFFICIENT, INTERCEPT

if TYPE_CHECKING:
    from tametail.ask import Ask

Floats = npt.NDArray[np.float64]

#: The steps, and what each may spend.
SHARES: Final = {"standardize": 0.1, "products": 0.45, "scores": 0.45}

#: Equations are solved if the least eigenvalue of A is so many times the norm of its half-widths,
#: both once the diagonal of A is 1: below .15 where columns have a correlation of .99, above 1
#: where they have none (decision 0280).
CLEAR: Final = 0.25

_FEW: Final = few_records(
    "There are too few records for this budget and so many columns to fit a regression. Use more "
    "records, a larger budget or fewer columns."
)


def names(request: Request) -> tuple[tuple[str, int], ...]:  # noqa: ARG001
    """Return the names of the steps, and their rounds."""
    return tuple((name, 1) for name in SHARES)


def steps(request: Request, n: int, budget: Budget) -> Steps:  # noqa: ARG001
    """Return the steps, however many records there are."""
    return tuple(map(Step, SHARES, budget.split(*SHARES.values())))


def regression(plan: PricedRequest, ask: Ask) -> tuple[Estimate, ...]:
    """Ask for the three means, and solve."""
    places = _means(plan, ask, "standardize", None)
    centers = tuple(place.value for place in places)
    scales = tuple(_size(place) for place in places)
    asked = Products(centers, scales)
    equations = Equations.of(asked, _means(plan, ask, "products", asked))
    if not equations.are_clear:
        return _refused(plan)
    first = np.linalg.solve(equations.matrix, equations.right)
    asked = Products(centers, scales, tuple(first.tolist()))
    return _conclude(plan, asked, equations, _means(plan, ask, "scores", asked))


def _means(
    plan: PricedRequest, ask: Ask, step: str, products: Products | None
) -> tuple[Estimate, ...]:
    """Return the means of columns, or of products, at the cost of a step."""
    relation = ask.relation if products is None else ask.relation.multiplied(products)
    inner = _inner(plan, step, plan.n_columns if products is None else products.width)
    return vector_mean(inner, ask.on(relation, plan.cost(step)))


def _inner(plan: PricedRequest, step: str, n_columns: int) -> PricedRequest:
    """Return the plan of a vector mean at the cost of a step."""
    cost, size = plan.cost(step), max(plan.n or 0, 1)
    columns = tuple(Column(str(place)) for place in range(n_columns))
    confidence = DOUBT if step == "products" and plan.confidence is None else plan.confidence
    asked = Request(
        columns, cost, plan.adjacency, plan.missing,
        confidence=None if step == "standardize" else confidence,
    )  # fmt: skip
    counted = tuple(one for one in plan.steps if one.name == COUNT)
    found = own_steps(asked, size, cost) or common_steps(asked, size, cost)
    return PricedRequest(asked, size, plan.method, counted + found)


def _size(place: Estimate) -> float:
    """Return half the distance of the clip points; 1 for a column that looks constant."""
    low, high = place.clip or (0.0, 0.0)
    return (high / 2 - low / 2) or 1.0


class Equations(NamedTuple):
    """The normal equations A b = m of standardized columns, and how far off A may be."""

    matrix: Floats
    right: Floats
    off: Floats
    """The half-widths of the entries of A; infinite where nothing is known."""

    @classmethod
    def of(cls, asked: Products, means: tuple[Estimate, ...]) -> Equations:
        """Read the means of products."""
        size = len(asked.centers)
        matrix, off = np.zeros((size, size)), np.zeros((size, size))
        matrix[0, 0] = 1.0
        for (i, j), mean in zip(asked.pairs, means, strict=False):
            matrix[i, j] = matrix[j, i] = mean.value
            off[i, j] = off[j, i] = _half_width(mean.intervals[-1], mean.value)
        right = np.array([mean.value for mean in means[len(asked.pairs) :]])
        return cls(matrix, right, off)

    @property
    def are_clear(self) -> bool:
        """Whether noise cannot hide that a column follows from the others."""
        diagonal = np.diag(self.matrix)
        if not np.isfinite(self.off).all() or diagonal.min() <= 0:
            return False
        each = np.sqrt(np.outer(diagonal, diagonal))
        least = float(np.linalg.eigvalsh(self.matrix / each)[0])
        return least >= CLEAR * float(np.linalg.norm(self.off / each, 2))


def _half_width(interval: Interval, value: float) -> float:
    return max(interval.high - value, value - interval.low)


def _conclude(
    plan: PricedRequest, asked: Products, equations: Equations, means: tuple[Estimate, ...]
) -> tuple[Estimate, ...]:
    """Take the Newton step, and return the coefficients in the units of the columns.

    The sides of intervals are joined by squares: those of the means g, and what A may be off times
    the step.
    """
    inverse = np.linalg.inv(equations.matrix)
    step = inverse @ np.array([mean.value for mean in means])
    (y_center, *centers), (y_scale, *scales) = asked.centers, asked.scales
    units = np.diag(y_scale / np.array([1.0, *scales]))
    units[0, 1:] = -np.array(centers) * np.diag(units)[1:]
    values = units @ (np.array(asked.coefficients) + step)
    values[0] += y_center
    intervals: list[tuple[Interval, ...]] = [()] * plan.n_columns
    if plan.confidence is not None:
        squares = (units @ inverse) ** 2
        indirect = squares @ (equations.off**2 @ step**2)
        intervals = _intervals(plan.confidence, values, squares, indirect, means)
    count = next((mean.present for mean in means if mean.present is not None), None)
    return tuple(
        Estimate(
            value, own, notes=_notes(means), name=name, statistic=COEFFICIENT, present=count,
            count=None if count is None else count[0],
        )
        for name, value, own in zip(_names(plan), values.tolist(), intervals, strict=True)
    )  # fmt: skip


def _intervals(
    confidence: float,
    values: Floats,
    squares: Floats,
    indirect: Floats,
    means: tuple[Estimate, ...],
) -> list[tuple[Interval, ...]]:
    """Return the intervals of every coefficient: as far as the tail is seen, and without it."""
    found = []
    for each in zip(*(mean.intervals for mean in means), strict=False):
        half = [_half_width(one, mean.value) for one, mean in zip(each, means, strict=True)]
        off = np.sqrt(squares @ np.array(half) ** 2 + indirect)
        parts = {
            name: np.sqrt(squares @ np.array(sizes) ** 2 + indirect * (name == "privacy")).tolist()
            for name in PARTS
            if None not in (sizes := [one.error_components[name] for one in each])
        }
        found.append([
            Interval(
                value - one, value + one, COEFFICIENT, each[0].basis, False,
                {name: parts[name][place] if name in parts else None for name in PARTS},
                confidence,
            )
            for place, (value, one) in enumerate(zip(values.tolist(), off.tolist(), strict=True))
        ])  # fmt: skip
    return list(zip(*found, strict=True))


def _notes(means: tuple[Estimate, ...]) -> tuple[Note, ...]:
    """Return what is to be said of every coefficient, since each is made of all means."""
    warned = any(note.kind == "warning" for mean in means for note in mean.notes)
    return (_FEW,) if warned else ()


def _refused(plan: PricedRequest) -> tuple[Estimate, ...]:
    """Return rows without a value, and why."""
    nothing = dict.fromkeys(PARTS)
    ends: tuple[Interval, ...] = ()
    if plan.confidence is not None:
        none = Interval(-math.inf, math.inf, COEFFICIENT, "none", True, nothing, plan.confidence)
        ends = (none,)
    return tuple(
        Estimate(math.nan, ends, notes=(COLLINEAR,), name=name, statistic=COEFFICIENT)
        for name in _names(plan)
    )


def _names(plan: PricedRequest) -> tuple[str, ...]:
    return (INTERCEPT, *plan.columns[1:])


class Predicted(Prediction):
    """What is promised of a regression: no number, which would depend on the columns."""

    scale = ""

    @property
    def notes(self) -> tuple[Note, ...]:
        """Say that it is experimental, and whether there are few records."""
        plan = self.plan
        if plan.n is None:
            return (EXPERIMENTAL,)
        inner = _inner(plan, "products", (plan.n_columns * (plan.n_columns + 3)) // 2 - 1)
        return (EXPERIMENTAL,) if inner.has("center") else (_FEW, EXPERIMENTAL)
