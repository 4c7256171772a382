"""Statements that several experiments make about their measurements, each with its tolerance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tametail.reproduce.measured import SLACK, Measured
from tametail.reproduce.report import Check, Verdict

#: An error beside a bound is known well enough if its standard error is such a part of it.
PRECISE = 0.1


@dataclass(frozen=True, slots=True)
class Power:
    """A fitted power beside that of the theory, and the wrong ones that it must be told from."""

    where: str
    fitted: Measured
    theory: float
    rivals: Sequence[float]

    @property
    def tolerance(self) -> float:
        """Half of the way to the nearest wrong power: that one fails."""
        return min(abs(self.theory - rival) for rival in self.rivals) / 2

    @property
    def verdict(self) -> Verdict:
        """What the fit says."""
        return judge(abs(self.fitted.value - self.theory), self.fitted.deviation, self.tolerance)


def judge(distance: float, deviation: float, tolerance: float) -> Verdict:
    """Say whether a distance is within the tolerance, with two standard errors to spare.

    >>> [str(judge(distance, 0.01, 0.1)) for distance in (0.07, 0.11, 0.13)]
    ['holds', 'undecided', 'FAILS']
    """
    if distance + SLACK * deviation <= tolerance:
        return Verdict.HOLDS
    return Verdict.FAILS if distance - SLACK * deviation > tolerance else Verdict.UNDECIDED


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst of some verdicts."""
    order = list(Verdict)
    return max(verdicts, key=order.index, default=Verdict.UNDECIDED)


def has_powers(claim: str, powers: Sequence[Power]) -> Check:
    """Say whether fitted powers are those of the theory, and no wrong ones.

    >>> power = Power("k = 2", Measured(-0.52, 0.01), -0.5, (-2 / 3,))
    >>> str(has_powers("the slope", [power]))
    'holds: the slope: k = 2: -0.520 ± 0.010 (theory -0.500; tolerance 0.083)'
    """
    return Check(
        claim,
        ", ".join(f"{power.theory:.3f}" for power in powers),
        "; ".join(f"{power.where}: {power.fitted.fixed(3)}" for power in powers),
        ", ".join(f"{power.tolerance:.3f}" for power in powers),
        worst(power.verdict for power in powers),
    )


def not_below(who: str, points: Iterable[Measured], bounds: Iterable[float]) -> Check:
    """Say whether errors are at least their lower bounds, and how close they come to them.

    An error that is not known well decides nothing, be it above its bound or below.

    >>> str(not_below("no mean", [Measured(3.0, 0.1)], [2.0])).partition(" (")[0]
    'holds: no mean is below the lower bound: closest: 1.5 ± 0.05 times the bound'
    """
    ratios = [point / bound for point, bound in zip(points, bounds, strict=True)]
    closest = min(ratios, key=lambda ratio: ratio.value)
    verdict = Verdict.HOLDS if _is_precise(closest) else Verdict.UNDECIDED
    below = [ratio for ratio in ratios if not ratio.may_be_at_least(1.0)]
    if below:
        verdict = Verdict.FAILS if any(map(_is_precise, below)) else Verdict.UNDECIDED
    return Check(
        f"{who} is below the lower bound",
        "at least 1",
        f"closest: {closest} times the bound",
        f"{SLACK:g} standard errors of at most {PRECISE:.0%}",
        verdict,
    )


def _is_precise(ratio: Measured) -> bool:
    return ratio.deviation <= PRECISE * ratio.value


def at_most(claim: str, value: Measured, limit: float, theory: str | None = None) -> Check:
    """Say whether a value is at most a limit, with two standard errors to spare.

    >>> str(at_most("the ratio", Measured(1.2, 0.3), 1.6).verdict)
    'undecided'
    """
    return Check(
        claim,
        theory or f"at most {limit:g}",
        str(value),
        f"at most {limit:g}, with {SLACK:g} standard errors",
        judge(value.value, value.deviation, limit),
    )


def other_exponents(k: float, moments: Iterable[float], *more: float) -> list[float]:
    """Return the powers ``-(j-1)/j`` of n that other moments have, and some more wrong ones.

    >>> other_exponents(2, (2, 4), -1.0)
    [-0.75, -1.0]
    """
    return [*(-(j - 1) / j for j in moments if j != k), *more]
