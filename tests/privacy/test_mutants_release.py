"""What only a broken release would do: state a cost that depends on the answers.

These tests kill mutants (``tests/mutants``) for which the other tests looked too weak.
"""

from __future__ import annotations

import numpy as np
import pytest

import tametail as tt
from tametail.ask import Ask, Replay
from tametail.privacy.budget import Guarantee, fits
from tametail.run import run

SPREAD = np.random.default_rng(1).lognormal(2, 1, (3000, 2))
CONSTANT = np.full((3000, 2), 7.0)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_the_guarantee_is_that_of_the_plan(adjacency):
    """Constant columns have no ball to ask for; that they cost less must not be seen."""
    budget = tt.zcdp(0.05)
    releases = [tt.mean(data, budget=budget, neighbors=adjacency) for data in (SPREAD, CONSTANT)]
    for release in releases:
        plan = release.plan
        assert release.guarantee == Guarantee.from_budget(plan.budget, plan.adjacency)
        assert fits(plan.spending, budget)
    assert releases[0].guarantee == releases[1].guarantee
    spent = [_spent(release) for release in releases]
    assert spent[1].strength < spent[0].strength  # or this test has no teeth


def _spent(release):
    ask = Ask(Replay(release.answers), release.plan.budget, release.plan.adjacency)
    run(release.plan, ask)
    return ask.spent
