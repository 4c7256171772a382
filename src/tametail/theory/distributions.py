"""Ordinary laws with known means and moments, for simulations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

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


class Distribution(Protocol):
    """A law on the real line with a known mean and known central moments."""

    @property
    def mean(self) -> float:
        """The mean mu."""

    def kth_moment(self, k: float) -> float:
        """Return ``E|X - mu|^k``."""

    def sample(self, n: int, rng: Generator) -> Floats:
        """Return n independent draws, made with the caller's generator."""


@dataclass(frozen=True)
class Normal:
    """The standard normal law."""

    @property
    def mean(self) -> float:
        """The mean, 0."""
        return 0.0

    def kth_moment(self, k: float) -> float:
        """Return ``E|X|^k``."""
        return normal_moment(k)

    def sample(self, n: int, rng: Generator) -> Floats:
        """Return n draws."""
        return rng.standard_normal(n)


@dataclass(frozen=True)
class StudentT:
    """Student's t with nu > 1 degrees of freedom; moments below nu exist."""

    nu: float

    @property
    def mean(self) -> float:
        """The mean, 0."""
        return 0.0

    def kth_moment(self, k: float) -> float:
        """Return ``E|X|^k``, infinite for ``k >= nu``."""
        return student_moment(self.nu, k)

    def sample(self, n: int, rng: Generator) -> Floats:
        """Return n draws."""
        return np.asarray(rng.standard_t(self.nu, n), dtype=np.float64)


@dataclass(frozen=True)
class Pareto:
    """``P(X > x) = x^-a`` for x >= 1, with a > 1; moments below a exist."""

    a: float

    @property
    def mean(self) -> float:
        """The mean, ``a/(a-1)``."""
        return self.a / (self.a - 1)

    def kth_moment(self, k: float) -> float:
        """Return ``E|X - mu|^k``, infinite for ``k >= a``."""
        return pareto_moment(self.a, k)

    def sample(self, n: int, rng: Generator) -> Floats:
        """Return n draws."""
        return 1 + rng.pareto(self.a, n)


@dataclass(frozen=True)
class Lognormal:
    """``X = exp(s Z)`` with Z standard normal; all moments exist."""

    s: float

    @property
    def mean(self) -> float:
        """The mean, ``exp(s^2/2)``."""
        return math.exp(self.s**2 / 2)

    def kth_moment(self, k: float) -> float:
        """Return ``E|X - mu|^k``."""
        return lognormal_moment(self.s, k)

    def sample(self, n: int, rng: Generator) -> Floats:
        """Return n draws."""
        return rng.lognormal(0.0, self.s, n)


@dataclass(frozen=True)
class Standardised:
    """``mean + factor (X - E X)`` for X of another law."""

    base: Distribution
    mean: float
    factor: float

    def kth_moment(self, k: float) -> float:
        """Return ``factor^k E|X - E X|^k``."""
        return float(self.factor**k * self.base.kth_moment(k))

    def sample(self, n: int, rng: Generator) -> Floats:
        """Return n draws."""
        return self.mean + self.factor * (self.base.sample(n, rng) - self.base.mean)


# Name, shape parameter and class; a shape above the first number has a mean.
_LAWS: dict[str, tuple[str | None, float, type[Normal | StudentT | Pareto | Lognormal]]] = {
    "normal": (None, 0.0, Normal),
    "t": ("nu", 1.0, StudentT),
    "pareto": ("a", 1.0, Pareto),
    "lognormal": ("s", 0.0, Lognormal),
}


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
    parameter, least, kind = _LAWS[name]
    expected = set() if parameter is None else {parameter}
    if set(shape) != expected:
        raise ParameterError(
            f"law({shown(name)}) takes {parameter or 'no shape'}, not {sorted(shape)}."
        )
    for value in shape.values():
        if not least < value < math.inf:
            raise ParameterError(
                f"Expected {parameter}={shown(value)} to be finite, above {least:g}."
            )
    base: Distribution = kind(**shape)
    moment = base.kth_moment(k)
    if moment == math.inf:
        raise ParameterError(f"law({shown(name)}, ...) has no moment of order k={shown(k)}.")
    return Standardised(base, mean, scale * moment ** (-1 / k))
