"""The laws behind the lower bounds, as samplers that take the caller's generator."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tametail._shown import shown
from tametail.errors import ParameterError
from tametail.inequalities.checks import moment_order, positive, probability
from tametail.inequalities.lower_bounds import hardest_mass
from tametail.inequalities.moments import one_hot_atom, two_point_atom, two_point_moment
from tametail.theory.codes import binary_code

if TYPE_CHECKING:
    from numpy.random import Generator

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PointMass:
    """D1 of Theorem ``one-d-pdp-lb``: always 0."""

    @property
    def mean(self) -> float:
        """The mean, 0."""
        return 0.0

    def kth_moment(self, k: float) -> float:
        """Return ``E|X|^k = 0``."""
        moment_order(k)
        return 0.0

    def sample(self, n: int, rng: Generator) -> Floats:  # noqa: ARG002  all laws take rng
        """Return n zeros."""
        return np.zeros(n)


@dataclass(frozen=True)
class TwoPoint:
    """The value ``tau`` (of either sign) with probability p, and 0 otherwise."""

    p: float
    tau: float

    def __post_init__(self) -> None:
        probability(p=self.p)

    @property
    def mean(self) -> float:
        """The mean, ``p tau``."""
        return self.p * self.tau

    def kth_moment(self, k: float) -> float:
        """Return ``E|X - mu|^k = p (1-p) |tau|^k ((1-p)^(k-1) + p^(k-1))``."""
        return two_point_moment(self.p, self.tau, k)

    def sample(self, n: int, rng: Generator) -> Floats:
        """Return n independent draws: a binomial number of atoms, at random places."""
        records = np.zeros(n)
        records[rng.choice(n, rng.binomial(n, self.p), replace=False, shuffle=False)] = self.tau
        return records


@dataclass(frozen=True)
class Packing:
    """P_c of Theorem ``high-d-lb``: Q_1 where the codeword c has a 1, else Q_0 = 0.

    Q_1 is ``scale sqrt(d)/alpha`` with probability ``alpha^2/d``, and 0 otherwise; coordinates are
    independent. Means of distinct words are at least ``scale alpha/2`` apart.
    """

    codeword: tuple[int, ...]
    alpha: float
    scale: float = 1.0

    @property
    def atom(self) -> TwoPoint:
        """Q_1."""
        root = math.sqrt(len(self.codeword))
        return TwoPoint((self.alpha / root) ** 2, self.scale * root / self.alpha)

    @property
    def mean(self) -> Floats:
        """The mean vector, ``scale alpha/sqrt(d)`` times the codeword."""
        return self.atom.mean * np.array(self.codeword, dtype=np.float64)

    def kth_moment(self, k: float) -> float:
        """Return the largest ``E|X_j - mu_j|^k`` over coordinates.

        For k = 2 it is the largest over all directions, as the coordinates are independent.
        """
        return self.atom.kth_moment(k) if any(self.codeword) else 0.0

    def sample(self, n: int, rng: Generator) -> Floats:
        """Return n independent rows."""
        hit = rng.random((n, len(self.codeword))) < self.atom.p
        return np.where(hit & (np.array(self.codeword) == 1), self.atom.tau, 0.0)


@dataclass(frozen=True)
class OneHot:
    """The two-point family in d dimensions: ``tau S_j`` on coordinate j with probability p each.

    A record falls on at most one coordinate, and is 0 with probability ``1 - d p``.
    """

    p: float
    tau: float
    signs: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 0 < self.p * len(self.signs) <= 1:
            raise ParameterError(f"Expected p={shown(self.p)} to be above 0 and at most 1/d.")

    @property
    def mean(self) -> Floats:
        """The mean vector, ``p tau S``."""
        return self.p * self.tau * np.array(self.signs, dtype=np.float64)

    def kth_moment(self, k: float) -> float:
        """Return the largest ``E|X_j - mu_j|^k`` over coordinates; it is the same for all."""
        return two_point_moment(self.p, self.tau, k)

    def sample(self, n: int, rng: Generator) -> Floats:
        """Return n independent rows."""
        rows = np.zeros((n, len(self.signs)))
        place = np.floor(rng.random(n) / self.p)
        hit = np.flatnonzero(place < len(self.signs))
        column = place[hit].astype(np.int64)
        rows[hit, column] = self.tau * np.array(self.signs)[column]
        return rows


HardInstance = PointMass | TwoPoint | Packing | OneHot


def _d1() -> PointMass:
    return PointMass()


def _d2(*, alpha: float, k: float, scale: float = 1.0) -> TwoPoint:
    """``p = alpha^(k/(k-1))`` and ``tau = alpha^(-1/(k-1))``: mean alpha, ``p tau^k = 1``."""
    positive(alpha=alpha, scale=scale)
    moment_order(k, at_least=2)  # below 2 its central moment would exceed scale^k
    target = alpha / scale
    if target >= 1:
        raise ParameterError(f"Expected alpha={shown(alpha)} to be below scale={shown(scale)}.")
    return TwoPoint(target ** (k / (k - 1)), scale * target ** (-1 / (k - 1)))


def _two_point(
    *,
    n: int,
    k: float,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    neighbors: str = "replace-one",
    scale: float = 1.0,
    sign: int = 1,
) -> TwoPoint:
    positive(scale=scale)
    if sign not in (1, -1):
        raise ParameterError(f"Expected sign={shown(sign)} to be 1 or -1.")
    p = hardest_mass(n, k=k, epsilon=epsilon, delta=delta, rho=rho, neighbors=neighbors)
    return TwoPoint(p, sign * scale * two_point_atom(p, k))


def _packing(*, d: int, alpha: float, index: int = 1, scale: float = 1.0) -> Packing:
    positive(alpha=alpha, scale=scale)
    code = binary_code(d)
    if not 0 <= index < len(code):
        raise ParameterError(
            f"Expected index={shown(index)} to be one of the {len(code)} codewords."
        )
    if alpha**2 >= d:
        raise ParameterError(
            f"Expected alpha={shown(alpha)} to be below sqrt(d)={math.sqrt(d):.6g}."
        )
    return Packing(tuple(int(bit) for bit in code[index]), alpha, scale)


def _one_hot(
    *,
    n: int,
    k: float,
    signs: Sequence[int],
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    neighbors: str = "replace-one",
    scale: float = 1.0,
) -> OneHot:
    positive(scale=scale)
    if len(signs) < 2 or not set(signs) <= {1, -1}:
        raise ParameterError(f"Expected signs={shown(signs)} to be two or more of 1 and -1.")
    d = len(signs)
    p = hardest_mass(n, k=k, epsilon=epsilon, delta=delta, rho=rho, neighbors=neighbors, d=d)
    return OneHot(p, scale * one_hot_atom(p, k, d), tuple(signs))


_KINDS: dict[str, Callable[..., HardInstance]] = {
    "D1": _d1,
    "D2": _d2,
    "two-point": _two_point,
    "packing": _packing,
    "one-hot": _one_hot,
}


def hard_instance(kind: str, **parameters: object) -> HardInstance:
    """Return a law on which every private mean does badly, with ``mean`` and ``sample(n, rng)``.

    Parameters
    ----------
    kind
        * ``"D1"``: always 0. Theorem ``one-d-pdp-lb``; takes no parameters.
        * ``"D2"``: mean alpha and ``p tau^k = scale^k``, with the smallest p that allows it, which
          makes it hardest to tell from D1. Takes ``alpha``, ``k``, ``scale=1``.
        * ``"two-point"``: the member of D+- (``sign=1`` or ``-1``) that gives
          :func:`~tametail.theory.lower_bound`. Takes ``n``, ``k``, ``epsilon``, ``delta``, ``rho``,
          ``neighbors="replace-one"``, ``scale=1``, ``sign=1``.
        * ``"packing"``: P_c for a word c of :func:`~tametail.theory.binary_code`. Theorem
          ``high-d-lb``, k = 2. Takes ``d``, ``alpha``, ``index=1``, ``scale=1``.
        * ``"one-hot"``: the family that gives the bound in ``d = len(signs) >= 2`` dimensions,
          for ``k >= 2``. Takes ``signs`` and what ``"two-point"`` takes.
    **parameters
        The numbers that the kind takes.

    Examples
    --------
    >>> law = hard_instance("D2", alpha=0.1, k=2)
    >>> round(law.mean, 12), round(law.p, 12), round(law.tau, 12)
    (0.1, 0.01, 10.0)
    >>> round(hard_instance("two-point", n=1000, k=2, epsilon=1.0).kth_moment(2), 12)
    1.0
    """
    if kind not in _KINDS:
        raise ParameterError(f"kind={shown(kind)} is not known: write one of {', '.join(_KINDS)}.")
    try:
        signature(_KINDS[kind]).bind(**parameters)
    except TypeError as error:
        raise ParameterError(f"hard_instance({shown(kind)}, ...): {error}.") from None
    return _KINDS[kind](**parameters)
