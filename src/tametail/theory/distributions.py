"""Ordinary laws with known means and moments, for simulations."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tametail._shown import shown
from tametail.errors import ParameterError
from tametail.inequalities.checks import moment_order, positive
from tametail.inequalities.moments import normal_moment
from tametail.theory.moments import lognormal_moment, pareto_moment, student_moment

if TYPE_CHECKING:
    from numpy.random import Generator

Floats = NDArray[np.float64]


class _Law(NamedTuple):
    """A law with one shape parameter; those shapes have a mean that are above ``least``."""

    parameter: str | None
    least: float
    mean: Callable[[float], float]
    kth_moment: Callable[[float, float], float]
    sample: Callable[[float, int, Generator], Floats]


@dataclass(frozen=True)
class Distribution:
    """A law on the real line with a known mean and known central moments.

    It is that of ``mean + factor (X - E X)``, X of a law by its name and shape.
    """

    name: str
    shape: float
    mean: float
    factor: float

    def kth_moment(self, k: float) -> float:
        """Return ``E|X - mu|^k``."""
        return float(self.factor**k * _LAWS[self.name].kth_moment(self.shape, k))

    def sample(self, n: int, rng: Generator) -> Floats:
        """Return n independent draws, made with the caller's generator."""
        law = _LAWS[self.name]
        return self.mean + self.factor * (law.sample(self.shape, n, rng) - law.mean(self.shape))


_LAWS = {
    "normal": _Law(
        None, 0.0, lambda _: 0.0, lambda _, k: normal_moment(k),
        lambda _, n, rng: rng.standard_normal(n),
    ),
    "t": _Law(
        "nu", 1.0, lambda _: 0.0, student_moment,
        lambda nu, n, rng: np.asarray(rng.standard_t(nu, n), dtype=np.float64),
    ),
    "pareto": _Law(
        "a", 1.0, lambda a: a / (a - 1), pareto_moment,
        lambda a, n, rng: 1 + rng.pareto(a, n),
    ),
    "lognormal": _Law(
        "s", 0.0, lambda s: math.exp(s**2 / 2), lognormal_moment,
        lambda s, n, rng: rng.lognormal(0.0, s, n),
    ),
}  # fmt: skip


def distribution(
    name: str, *, k: float, mean: float = 0.0, scale: float = 1.0, **shape: float
) -> Distribution:
    """Return a law with the given mean and ``E|X - mean|^k = scale^k`` exactly.

    Parameters
    ----------
    name
        ``"normal"``, ``"t"`` (with ``nu``), ``"pareto"`` (with ``a``) or ``"lognormal"`` (``s``).
    k
        The moment that is set to ``scale^k``; it must exist, so ``k < nu`` and ``k < a``.
    mean, scale
        Location of the law and size of its moment.
    **shape
        The law's own shape parameter.

    Examples
    --------
    >>> heavy = distribution("pareto", a=3.0, k=2, mean=10.0, scale=2.0)
    >>> heavy.mean, round(heavy.kth_moment(2), 12), heavy.kth_moment(3)
    (10.0, 4.0, inf)
    """
    moment_order(k)
    positive(scale=scale)
    if name not in _LAWS:
        raise ParameterError(f"law {shown(name)} is not known: write one of {', '.join(_LAWS)}.")
    law = _LAWS[name]
    parameter, expected = law.parameter, set() if law.parameter is None else {law.parameter}
    if set(shape) != expected:
        raise ParameterError(
            f"law({shown(name)}) takes {parameter or 'no shape'}, not {sorted(shape)}."
        )
    for value in shape.values():
        if not law.least < value < math.inf:
            raise ParameterError(
                f"Expected {parameter}={shown(value)} to be finite, above {law.least:g}."
            )
    value = shape.get(parameter or "", 0.0)
    moment = law.kth_moment(value, k)
    if moment == math.inf:
        raise ParameterError(f"law({shown(name)}, ...) has no moment of order k={shown(k)}.")
    return Distribution(name, value, mean, scale * moment ** (-1 / k))
