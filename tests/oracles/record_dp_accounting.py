"""Record what Google's dp-accounting says about conversions and compositions.

dp-accounting pins packages that may be older than tametail's, so it gets an environment of its
own, and the tests read the recorded figures::

    python -m venv accounting
    accounting/bin/pip install dp-accounting
    accounting/bin/python tests/oracles/record_dp_accounting.py

The figures are written beside this script. Those named ``truth`` come from privacy loss
distributions on a grid: optimistic for Gaussian and Laplace, so that the true epsilon is at
least as large, and exact for (epsilon, delta), whose two loss values lie on the grid.
"""

from __future__ import annotations

import itertools
import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
from dp_accounting import dp_event, gaussian_mechanism
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant

# Fine enough that the best of these orders is within 1e-5 of the best real order.
ORDERS = 1 + np.geomspace(1e-3, 1e7, 20_000)
GRID = {
    "pessimistic_estimate": False,
    "use_connect_dots": False,
    "value_discretization_interval": 1e-4,
}


def zcdp(rho: float, delta: float) -> float:
    accountant = RdpAccountant(ORDERS)
    accountant.compose(dp_event.ZCDpEvent(rho))
    return float(accountant.get_epsilon(delta))


def gaussians(sigma: float, count: int, delta: float) -> float:
    loss = pld.from_gaussian_mechanism(sigma, **GRID)
    return float(loss.self_compose(count).get_epsilon_for_delta(delta))


def laplaces(epsilon: float, count: int, delta: float) -> float:
    loss = pld.from_laplace_mechanism(1 / epsilon, **GRID)
    return float(loss.self_compose(count).get_epsilon_for_delta(delta))


def approximates(epsilon: float, own_delta: float, count: int, delta: float) -> float:
    parameters = common.DifferentialPrivacyParameters(epsilon, own_delta)
    loss = pld.from_privacy_parameters(parameters, value_discretization_interval=2.0**-14)
    return float(loss.self_compose(count).get_epsilon_for_delta(delta))


def main() -> None:
    deltas = (1e-3, 1e-6, 1e-9)
    figures = {
        "dp_accounting": version("dp-accounting"),
        "zcdp_to_approx": [
            {"rho": rho, "delta": delta, "epsilon": zcdp(rho, delta)}
            for rho, delta in itertools.product((1e-4, 0.01, 0.1, 0.5, 1.0, 10.0), deltas)
        ],
        "gaussians": [
            {"sigma": s, "count": n, "delta": delta, "truth": gaussians(s, n, delta)}
            for s, n, delta in itertools.product((1.0, 5.0), (1, 10, 100), deltas)
        ],
        "laplaces": [
            {"epsilon": e, "count": n, "delta": delta, "truth": laplaces(e, n, delta)}
            for e, n, delta in itertools.product((0.05, 0.5), (1, 10, 200), deltas)
        ],
        "approximates": [
            {
                "epsilon": e,
                "own_delta": delta / (2 * n),
                "count": n,
                "delta": delta,
                "truth": approximates(e, delta / (2 * n), n, delta),
            }
            for e, n, delta in itertools.product((0.0625, 0.5), (1, 10, 200), deltas)
        ],
        "gaussian_sigma": [
            {
                "epsilon": e,
                "delta": delta,
                "sigma": float(gaussian_mechanism.get_sigma_gaussian(e, delta, tol=1e-12)),
            }
            for e, delta in itertools.product((0.01, 0.1, 1.0, 3.0, 10.0, 30.0), deltas)
        ],
    }
    target = Path(__file__).with_name("dp_accounting_figures.json")
    target.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
