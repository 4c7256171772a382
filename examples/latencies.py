"""Mean latency of a service: planned from public numbers, released, and checked.

    python examples/latencies.py

The requests are synthetic: mostly quick, one in a hundred hits a slow path.
"""

from __future__ import annotations

import numpy as np

import tametail as tt


def milliseconds(requests: int, seed: int = 3) -> np.ndarray:
    """Return synthetic latencies."""
    rng = np.random.default_rng(seed)
    quick = rng.gamma(shape=4.0, scale=6.0, size=requests)
    slow = 400 * (1 + rng.pareto(2.5, size=requests))
    return np.where(rng.random(requests) < 0.01, slow, quick)


def main() -> None:
    """Plan from public numbers, release, and see that the release follows from its answers."""
    plan = tt.plan(n=50_000, epsilon=0.5)
    print(plan, "\n")
    release = tt.mean(milliseconds(50_000), plan=plan)
    print(release, "\n")
    # Who says how far latencies spread gets an interval that is proved.
    told = tt.mean(milliseconds(50_000), epsilon=0.5, tail=tt.Moment(2, 200))
    print(told, "\n")
    print("follows from its answers:", tt.replay(release.plan, release.answers) == release)


if __name__ == "__main__":
    main()
