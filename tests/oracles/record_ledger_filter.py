"""Record what Google's dp-accounting says about charges that the ledger's filter admits.

Random interleavings of pure, zCDP and approximate charges are drawn, and the filter admits them
one by one until it has refused three. What was admitted is then composed by dp-accounting, with
mechanisms that need the whole of each charge: Laplace noise for epsilon, Gaussian noise for rho,
and the worst pair for (epsilon, delta). Draw with the package's own interpreter, and compose with
one that has dp-accounting (see ``record_dp_accounting.py``)::

    python tests/oracles/record_ledger_filter.py draw
    accounting/bin/python tests/oracles/record_ledger_filter.py compose

The figures stand beside this script: for each sequence the delta that dp-accounting finds at the
budget's epsilon, on an optimistic grid, and for zCDP budgets the sum of Renyi orders.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
from pathlib import Path

FILE = Path(__file__).with_name("ledger_filter_figures.json")
BUDGETS = [
    {"epsilon": 1.0, "delta": 1e-6},
    {"epsilon": 3.0, "delta": 1e-5},
    {"epsilon": 0.3, "delta": 1e-8},
    {"epsilon": 1.0},
    {"rho": 0.1},
]
KINDS = ["pure", "zcdp", "approx", "mixed", "pure and approx", "small"]


def draw_cost(rng: random.Random, kind: str, epsilon: float, delta: float) -> dict[str, float]:
    """Draw a charge that is a fraction of the budget, with few digits."""
    what = {"mixed": ["pure", "zcdp", "approx"], "pure and approx": ["pure", "approx"],
            "small": ["pure", "zcdp"]}.get(kind, [kind])  # fmt: skip
    chosen = rng.choice(what)
    part = 10 ** rng.uniform(-2.2 if kind == "small" else -1.3, -1.3 if kind == "small" else -0.3)
    if chosen == "zcdp":
        return {"rho": float(f"{(part * epsilon) ** 2 / 20:.3g}")}
    cost = {"epsilon": float(f"{part * epsilon:.3g}")}
    if chosen == "approx" and delta:
        cost["delta"] = float(f"{delta * 10 ** rng.uniform(-3, -0.7):.3g}")
    return cost


def draw() -> None:
    """Draw sequences and let the filter admit them."""
    from tametail.ledger.cost import Cost
    from tametail.ledger.filter import TotalSpent, admits
    from tametail.privacy.budget import Approx, Pure, Zcdp

    def cost_of(numbers: dict[str, float]) -> Cost:
        kind = Zcdp if "rho" in numbers else Approx if "delta" in numbers else Pure
        return Cost.of(kind(**numbers))

    rng = random.Random(18)
    made = []
    for budget, kind, _ in itertools.product(BUDGETS, KINDS, range(4)):
        epsilon = budget.get("epsilon", 1.0)
        whole, spent, admitted, refused = cost_of(budget), TotalSpent(), [], 0
        while refused < 3 and len(admitted) < 2_000:
            numbers = draw_cost(rng, kind, epsilon, budget.get("delta", 0.0))
            after = spent.plus(cost_of(numbers))
            if admits(whole, after):
                spent = after
                admitted.append(numbers)
            else:
                refused += 1
        made.append({"budget": budget, "kind": kind, "admitted": admitted})
    FILE.write_text(json.dumps({"sequences": made}, indent=None) + "\n")


def compose() -> None:
    """Compose what was admitted."""
    from importlib.metadata import version

    figures = json.loads(FILE.read_text())
    figures["dp_accounting"] = version("dp-accounting")
    for sequence in figures["sequences"]:
        sequence["truth"] = truth(sequence["budget"], sequence["admitted"])
    lines = ",\n".join(json.dumps(sequence) for sequence in figures["sequences"])
    FILE.write_text(
        f'{{"dp_accounting": "{figures["dp_accounting"]}", "sequences": [\n{lines}\n]}}\n'
    )


def truth(budget: dict[str, float], admitted: list[dict[str, float]]) -> float | None:
    """Return the composition's delta at the budget's epsilon, or its rho."""
    if not admitted:
        return None
    if "rho" in budget:
        return renyi(admitted)
    from dp_accounting.pld import privacy_loss_distribution as pld

    grid = {"pessimistic_estimate": False, "use_connect_dots": False,
            "value_discretization_interval": 1e-3 * budget["epsilon"]}  # fmt: skip
    total = None
    counted: dict[str, int] = {}
    for numbers in admitted:
        key = json.dumps(numbers)
        counted[key] = counted.get(key, 0) + 1
    for key, count in counted.items():
        loss = loss_of(pld, json.loads(key), grid)
        loss = loss.self_compose(count) if count > 1 else loss
        total = loss if total is None else total.compose(loss)
    return float(total.get_delta_for_epsilon(budget["epsilon"]))


def loss_of(pld: object, numbers: dict[str, float], grid: dict[str, object]) -> object:
    """Return the privacy loss distribution of a mechanism that needs all of this charge."""
    from dp_accounting.pld import common

    if "rho" in numbers:
        return pld.from_gaussian_mechanism((1 / (2 * numbers["rho"])) ** 0.5, **grid)
    if "delta" in numbers:
        step = grid["value_discretization_interval"]
        whole = int(numbers["epsilon"] / step) * step  # on the grid, and not above
        parameters = common.DifferentialPrivacyParameters(max(whole, step), numbers["delta"])
        made = pld.from_privacy_parameters(parameters, value_discretization_interval=step)
        # Its losses lie on the grid: nothing was rounded, neither up nor down.
        for half in {id(x): x for x in (made._pmf_remove, made._pmf_add)}.values():
            half._pessimistic_estimate = False
        return made
    return pld.from_laplace_mechanism(1 / numbers["epsilon"], **grid)


def renyi(admitted: list[dict[str, float]]) -> float:
    """Return the largest D_a / a over orders, of Laplace and Gaussian noise together."""
    import numpy as np
    from dp_accounting import dp_event
    from dp_accounting.rdp import RdpAccountant

    orders = np.geomspace(1.01, 1e4, 60)
    accountant = RdpAccountant(orders)
    for numbers in admitted:
        if "rho" in numbers:
            accountant.compose(dp_event.GaussianDpEvent((1 / (2 * numbers["rho"])) ** 0.5))
        else:
            accountant.compose(dp_event.LaplaceDpEvent(1 / numbers["epsilon"]))
    return float(np.max(accountant._rdp / orders))


if __name__ == "__main__":
    {"draw": draw, "compose": compose}[sys.argv[1]]()
