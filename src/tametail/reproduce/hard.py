"""Error on the hard instances beside the lower bound, which nobody may fall below.

The bound is about the worse of D+ and D-, so errors on both are averaged in squares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tametail.inequalities.moments import two_point_atom
from tametail.paper import mean_1d
from tametail.privacy.budget import pure
from tametail.reproduce.checks import not_below
from tametail.reproduce.measured import Measured, root_mean_square
from tametail.reproduce.releases import moment_releases
from tametail.reproduce.report import Chart, Line, Section, Table
from tametail.reproduce.trials import Cell, Effort, Experiment, Floats, Numbers, Rng
from tametail.theory import TwoPoint, hardest_mass, lower_bound, upper_bound

MOMENTS, BUDGETS = (2, 3, 4), (0.1, 1.0)
FACTOR = 1.6

_OURS = ("tametail.mean", "pure", "replace-one")

_DELTA = 1e-6
#: One block: the median of means is for high confidence, not for a mean squared error.
_ONE_BLOCK = 0.3

#: n epsilon, and repetitions.
_SIZES: dict[Effort, tuple[tuple[int, ...], int]] = {
    "tiny": ((1_000,), 2),
    "quick": ((1_000, 10_000), 20),
    "full": ((1_000, 10_000, 100_000), 300),
}


@dataclass(frozen=True, slots=True)
class Setting:
    """An estimator, a budget, and the family with moment k that its bound is about."""

    estimator: str
    k: float
    epsilon: float
    n: int
    definition: str = "pure"
    unit: str = "replace-one"

    @property
    def budget(self) -> Numbers:
        """The budget as arguments; rho = epsilon^2/2 is what epsilon-DP implies."""
        if self.definition == "zCDP":
            return {"rho": self.epsilon**2 / 2}
        if self.definition == "approximate":
            return {"epsilon": self.epsilon, "delta": _DELTA}
        return {"epsilon": self.epsilon}

    @property
    def bound(self) -> float:
        """The root mean squared error that no estimator can beat."""
        return lower_bound(self.n, k=self.k, neighbors=self.unit, **self.budget)

    def instance(self, multiple: float = 1.0) -> TwoPoint:
        """Return D+ at a multiple of the hardest p."""
        hardest = hardest_mass(self.n, k=self.k, neighbors=self.unit, **self.budget)
        p = min(multiple * hardest, 0.5)
        return TwoPoint(p, two_point_atom(p, self.k))

    def release(self, records: Floats) -> float:
        """Run the estimator once."""
        if self.estimator == "tametail.mean":
            return moment_releases(records, 1, k=self.k, neighbors=self.unit, **self.budget)[0]
        promise = upper_bound(
            self.n, k=self.k, R=1.0, epsilon=self.epsilon, beta=_ONE_BLOCK, constants="tight"
        )
        alpha, budget = promise.alpha, pure(self.epsilon)
        return mean_1d(records, budget, alpha=alpha, beta=_ONE_BLOCK, k=self.k, R=1.0)


def experiment(effort: Effort) -> Experiment[Setting]:
    """Return one cell for each setting."""
    strengths, repeats = _SIZES[effort]
    settings = [
        Setting("tametail.mean", k, epsilon, round(strength / epsilon))
        for k in MOMENTS
        for epsilon in BUDGETS
        for strength in strengths
    ]
    least = strengths[0]
    for k in MOMENTS:
        settings += [
            Setting("tametail.mean", k, 1.0, least, definition="zCDP"),
            Setting("tametail.mean", k, 1.0, least, definition="approximate"),
            Setting("tametail.mean", k, 1.0, least, unit="add-remove"),
            Setting("paper.mean_1d", k, 1.0, least),
            Setting("paper.mean_1d", k, 0.1, 10 * least),
        ]
    cells = {setting: Cell(partial(draw, setting=setting), repeats) for setting in settings}
    return Experiment("Hard instances", cells, conclude)


def draw(rng: Rng, *, setting: Setting, multiple: float = 1.0) -> Sequence[float]:
    """Return the errors on one sample of D+ and one of D-."""
    law = setting.instance(multiple)
    errors = []
    for sign in (1, -1):
        signed = TwoPoint(law.p, sign * law.tau)
        errors.append(setting.release(signed.sample(setting.n, rng)) - signed.mean)
    return errors


def conclude(errors: Mapping[Setting, Floats]) -> Section:
    """Divide every error by the bound."""
    ratios = {setting: root_mean_square(rows) / setting.bound for setting, rows in errors.items()}
    ours = {
        setting: ratio
        for setting, ratio in ratios.items()
        if (setting.estimator, setting.definition, setting.unit) == _OURS
    }
    highest = max(ours.values(), key=lambda ratio: ratio.value)
    checks = [
        not_below("no estimator on the bound's own instance", ratios.values(), [1.0] * len(ratios))
    ]
    head = [
        "estimator", "budget", "unit", "k", "epsilon", "n", "lower bound", "error over bound",
        "always 0", "floor without privacy",
    ]  # fmt: skip
    return Section(
        "The hard instances beside the lower bound",
        [
            "Root mean squared error on D± at the p of the lower bound, over that bound, which "
            "holds for every private estimator. Beside it stands the estimator that always answers "
            "0: on this instance so few records carry the mean that nobody does much better. For "
            "k > 2 and epsilon = 1 it is "
            "sampling, not privacy, that limits everybody: the last column is the error that "
            "nobody beats on normal records even without privacy. The highest ratio of "
            f"tametail.mean in the picture is {highest}; that it be at most {FACTOR:g} is our aim, "
            "not a claim of the theory."
        ],
        checks,
        [Table(head, [_row(setting, ratio) for setting, ratio in ratios.items()])],
        [
            Chart(
                "hard",
                "Error on the hard instance over the lower bound: nothing is below 1",
                "number of records times epsilon",
                "root mean squared error over the lower bound",
                _lines(ours),
                log_y=False,
            )
        ],
    )


def _lines(ours: Mapping[Setting, Measured]) -> list[Line]:
    lines = []
    for color, k in enumerate(MOMENTS):
        for epsilon, style in zip(BUDGETS, ("o-", "s--"), strict=True):
            points = {
                setting.n * setting.epsilon: ratio.value
                for setting, ratio in ours.items()
                if (setting.k, setting.epsilon) == (k, epsilon)
            }
            label = f"k = {k}, epsilon = {epsilon:g}"
            lines.append(Line(label, list(points), list(points.values()), style, color))
    strengths = lines[0].x
    lines += [
        Line("lower bound", strengths, [1.0] * len(strengths), "-", 6),
        Line(f"{FACTOR:g} times the bound", strengths, [FACTOR] * len(strengths), ":", 6),
    ]
    return lines


def _row(setting: Setting, ratio: Measured) -> list[object]:
    zero, floor = setting.instance().mean / setting.bound, lower_bound(setting.n, k=setting.k)
    asked = [setting.estimator, setting.definition, setting.unit, setting.k, setting.epsilon]
    return [*asked, f"{setting.n:,}", f"{setting.bound:.4g}", ratio, f"{zero:.2f}", f"{floor:.4g}"]
