"""All methods of ``benchmarks/peers.py``: what they are told, and what they promise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

import tametail as tt
from baselines.bounded_laplace import bounded_laplace_mean
from baselines.bun_steinke import LaplaceLogNormalNoise, StudentNoise, trimmed_mean
from baselines.karwa_vadhan import karwa_vadhan_mean
from baselines.local_model import local_mean

Floats = npt.NDArray[np.float64]
Rng = np.random.Generator

DELTA = 1e-6


class Told(IntEnum):
    """What a method is told, from nothing to most."""

    NOTHING = 0
    RANGE = 1  # [-R, R]
    SCALE = 2  # [-R, R] and the standard deviation

    def __str__(self) -> str:
        return ("nothing", "[-R, R]", "[-R, R], deviation")[self]


#: What else a method is, if it is this: epsilon-DP implies epsilon^2/2-zCDP and (epsilon, delta).
IMPLIES = {
    "local": {"local", "pure", "zCDP", "approx"},
    "pure": {"pure", "zCDP", "approx"},
    "zCDP": {"zCDP"},
    "approx": {"approx"},
}


@dataclass(frozen=True)
class Facts:
    """What may be told: epsilon, the range, the standard deviation and the mean square."""

    epsilon: float
    radius: float
    deviation: float
    root_mean_square: float

    @property
    def rho(self) -> float:
        """The zCDP budget that epsilon-DP implies."""
        return self.epsilon**2 / 2


@dataclass(frozen=True)
class Method:
    """One row of the tables."""

    name: str
    told: Told
    notion: str  # a key of IMPLIES
    unit: str
    run: Callable[[Floats, Facts, Rng], float] | None = None  # None: a worker's
    adapter: str = ""  # the file of the worker's method
    call: str = ""  # its name there
    environment: str = ""  # empty: this one

    @property
    def is_ours(self) -> bool:
        """Whether it is tametail."""
        return self.name == "tametail"

    @property
    def promise(self) -> str:
        """The notion of privacy and the unit of protection."""
        return f"{self.notion}, {self.unit}"

    def may_be_compared_with(self, ours: Method) -> bool:
        """Say whether it promises at least as much as ours does, and is told no more."""
        promises = self.unit == ours.unit and ours.notion in IMPLIES[self.notion]
        return promises and self.told <= ours.told and not self.is_ours


def _tametail(told: Told, notion: str, unit: str) -> Method:
    def run(records: Floats, facts: Facts, rng: Rng) -> float:  # noqa: ARG001  its own noise
        knowledge: dict[str, Any] = {}
        if told >= Told.RANGE:
            knowledge["within"] = facts.radius
        if told >= Told.SCALE:
            knowledge["tail"] = tt.Moment(2, facts.deviation)
        budgets = {
            "pure": tt.pure(facts.epsilon),
            "zCDP": tt.zcdp(facts.rho),
            "approx": tt.approx(facts.epsilon, DELTA),
        }
        # The others know n under replace-one and that nothing is missing, and give no interval.
        missing = "none" if unit == "replace-one" else "skip"
        release = tt.mean(
            records, budget=budgets[notion], neighbors=unit, missing=missing, confidence=None,
            **knowledge,
        )  # fmt: skip
        return float(release)

    return Method("tametail", told, notion, unit, run)


def _paper(
    name: str, told: Told, notion: str, run: Callable[[Floats, Facts, Rng], float]
) -> Method:
    return Method(name, told, notion, "replace-one", run)


def _library(name: str, told: Told, unit: str, adapter: str, call: str, environment: str) -> Method:
    return Method(name, told, "pure", unit, None, adapter, call, environment)


def _karwa_vadhan(records: Floats, facts: Facts, rng: Rng) -> float:  # noqa: ARG001  its own
    return tt.paper.related.karwa_vadhan(
        records, tt.pure(facts.epsilon), R=facts.radius, deviation=facts.deviation
    )


def _karwa_vadhan_unknown(records: Floats, facts: Facts, rng: Rng) -> float:
    return karwa_vadhan_mean(records, facts.epsilon, rng, delta=DELTA).value


METHODS = (
    _tametail(Told.NOTHING, "pure", "replace-one"),
    _tametail(Told.RANGE, "pure", "replace-one"),
    _library("opendp, bounded mean", Told.RANGE, "replace-one", "peers_opendp", "bounded mean", ""),
    _library(
        "opendp, even quantiles", Told.RANGE, "replace-one", "peers_opendp", "even quantiles", "",
    ),
    _library(
        "opendp, geometric quantiles", Told.RANGE, "replace-one", "peers_opendp",
        "geometric quantiles", "",
    ),
    _library(
        "diffprivlib, bounded mean", Told.RANGE, "replace-one", "peers_diffprivlib",
        "bounded mean", "diffprivlib",
    ),
    _library(
        "diffprivlib, quantiles", Told.RANGE, "replace-one", "peers_diffprivlib",
        "quantiles as bounds", "diffprivlib",
    ),
    _paper(
        "bounded Laplace", Told.RANGE, "pure",
        lambda x, facts, rng: bounded_laplace_mean(x, facts.epsilon, facts.radius, rng),
    ),
    _paper(
        "Bun-Steinke, Student", Told.RANGE, "pure",
        lambda x, facts, rng: trimmed_mean(x, facts.radius, StudentNoise(facts.epsilon), rng),
    ),
    _tametail(Told.SCALE, "pure", "replace-one"),
    _paper("Karwa-Vadhan", Told.SCALE, "pure", _karwa_vadhan),
    _paper(
        "Duchi-Jordan-Wainwright", Told.SCALE, "local",
        lambda x, facts, rng: local_mean(x, facts.epsilon, 2, facts.root_mean_square, rng),
    ),
    _tametail(Told.NOTHING, "pure", "add-remove"),
    _library(
        "python-dp, automatic bounds", Told.NOTHING, "add-remove", "peers_pydp",
        "automatic bounds", "python-dp",
    ),
    _tametail(Told.RANGE, "pure", "add-remove"),
    _library(
        "python-dp, bounded mean", Told.RANGE, "add-remove", "peers_pydp", "bounded mean",
        "python-dp",
    ),
    _tametail(Told.NOTHING, "approx", "replace-one"),
    _paper("Karwa-Vadhan", Told.NOTHING, "approx", _karwa_vadhan_unknown),
    _tametail(Told.NOTHING, "zCDP", "replace-one"),
    _tametail(Told.RANGE, "zCDP", "replace-one"),
    _paper(
        "Bun-Steinke, Laplace log-normal", Told.RANGE, "zCDP",
        lambda x, facts, rng: trimmed_mean(
            x, facts.radius, LaplaceLogNormalNoise(facts.rho), rng
        ),
    ),
    _tametail(Told.SCALE, "zCDP", "replace-one"),
    _paper(
        "CoinPress", Told.SCALE, "zCDP",
        lambda x, facts, _: tt.paper.related.coinpress(
            x, tt.zcdp(facts.rho), R=facts.radius, deviation=facts.deviation
        ),
    ),
)  # fmt: skip


def radius_for(points: Floats) -> float:
    """Return a public-looking bound for a real column: the next power of ten beyond all records."""
    return float(10.0 ** math.ceil(math.log10(float(np.abs(points).max()))))
