"""Synthetic records for a plan: what takes the place of data that nobody reads."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tametail._fakes import Fakes
from tametail.columns import Column
from tametail.data import Backend
from tametail.data.open import open_data
from tametail.data.relation import Relation
from tametail.errors import ParameterError
from tametail.keys import Key
from tametail.planning import Plan
from tametail.request import Request
from tametail.tail import Bounded, Moment
from tametail.testing import MOST_RECORDS

Floats = npt.NDArray[np.float64]

#: Records of a synthetic person.
_RECORDS_EACH = 3

#: Of so many synthetic records a condition is true.
_SHARE = 0.3

#: Synthetic records of a group, if nobody says how many there are.
_IN_A_GROUP = 1_000


def made_up(plan: Plan, fakes: Fakes, rng: np.random.Generator) -> Backend:
    """Return a backend over synthetic records, which has all that the plan asks about."""
    request = plan.request
    keys = _keys(request, fakes)
    size = _size(plan, fakes, len(keys))
    person = request.adjacency.person is not None
    rows = size * _RECORDS_EACH if person else size
    cells = {f"v{i}": _numbers(column, rows, rng) for i, column in enumerate(request.columns)}
    values, by = tuple(cells), () if request.groups is None else request.groups.by
    columns: dict[str, Floats | pa.Array] = {**cells}
    if request.weights is not None:
        columns["weight"] = rng.lognormal(0, 0.5, rows)
    kept = None if request.groups is None else request.groups.groups_per_person
    if person:
        columns["person"] = np.arange(rows) % size
    for i in range(len(by)):
        cells_of_keys = [None if key is None else key.cells[i] for key in keys]
        columns[f"g{i}"] = _cells(cells_of_keys, columns["person"] if kept else np.arange(rows))
    lines = request.one_sided_bounds
    relation = Relation(
        values,
        person=("person",) if person else (),
        by=tuple(f"g{i}" for i in range(len(by))),
        bounds=None if lines is None else tuple(lines),
        groups_per_person=kept,
        weights=None if request.weights is None else "weight",
    )
    # Whoever wants to see the progress is told by one thread, so that draws have one order.
    return open_data(pa.table(columns), list(values), relation, progress=lambda _: None)


def _size(plan: Plan, fakes: Fakes, groups: int) -> int:
    """Return the number of synthetic records, or of persons."""
    usual = max(fakes.n, groups * _IN_A_GROUP)
    return max(1, min(usual if plan.n is None else plan.n, MOST_RECORDS))


def _keys(request: Request, fakes: Fakes) -> list[Key | None]:
    """Return the keys of synthetic records; None stands for rows of no other group."""
    groups = request.groups
    if groups is None:
        return []
    if groups.keys is None:
        names = [f"fake {place}" for place in range(1, fakes.groups + 1)]
        keys: Sequence[Key] = [Key((name,) * len(groups.by)) for name in names]
    else:
        keys = groups.keys
    return [*keys, *([] if groups.rest is None else [None])]


def _cells(of_keys: Sequence[object], turns: Floats | pa.Array) -> pa.Array:
    """Return the column of keys: rows, or persons with all of theirs, go to groups in turn."""
    try:
        return pa.array(of_keys).take(pa.array(turns % len(of_keys)))
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        pass  # raised below, without what it says
    raise ParameterError(
        "Fake releases need keys of one type per column. Use text for all, or numbers for all."
    )


def _numbers(column: Column, rows: int, rng: np.random.Generator) -> Floats:
    """Return numbers for which all that was said of a column holds."""
    if column.is_condition:
        return (rng.random(rows) < _SHARE).astype(np.float64)
    shape: Floats = rng.lognormal(size=rows)
    (low, high), said = column.possible, column.said
    if isinstance(said, Bounded) and not said.one_sided:
        return rng.uniform(said.low, said.high, rows)
    if isinstance(said, Moment):
        away: Floats = shape - shape.mean()
        spread = float(np.mean(np.abs(away) ** said.k)) ** (1 / said.k) or 1.0
        away *= said.scale / spread
        away += _middle(low, high, 2 * said.scale)
        return away
    if math.isfinite(low) and math.isfinite(high):
        shape *= (high - low) / 40
        shape += (low + high) / 2 - shape.mean()
        return shape
    if math.isfinite(low):
        return low + shape
    return high - shape if math.isfinite(high) else shape


def _middle(low: float, high: float, step: float) -> float:
    """Return a place for a mean: in the middle, or a step from the only end."""
    if math.isfinite(low) and math.isfinite(high):
        return (low + high) / 2
    if math.isfinite(low):
        return low + step
    return high - step if math.isfinite(high) else step
