"""A fake release: the true method, on synthetic records, with seeded noise, and marked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tametail._fakes import Fakes
from tametail.data.open import Columns, names_of
from tametail.expressions import says_condition
from tametail.planning import Plan
from tametail.randomness import drawing_for_fakes
from tametail.request import Request
from tametail.testing import MOST_RECORDS
from tametail.testing.records import made_up
from tametail.testing.source import SeededSource

if TYPE_CHECKING:
    from tametail.data import Backend


def fake_plan(asked: Request | Plan, columns: Columns, fakes: Fakes) -> Plan:
    """Return the plan of a fake: that of a real release, with the mark in its request."""
    request = asked.request if isinstance(asked, Plan) else asked
    n_columns = request.known_n_columns or fakes.columns
    names = names_of(columns) or [str(place) for place in range(n_columns)]
    named = asked.with_names(names)
    if isinstance(named, Plan):
        plan = replace(named, request=replace(named.request, fake=True))
    else:
        conditions = [says_condition(name) for name in names]
        plan = Plan.of(replace(named.with_conditions(conditions), fake=True))
    return plan if plan.n is None or plan.n <= MOST_RECORDS else replace(plan, n=MOST_RECORDS)


@contextmanager
def fake_data(plan: Plan, fakes: Fakes) -> Iterator[Backend]:
    """Make up the records of a marked plan; the same plan and seed give the same release.

    The door of randomness is replaced only here, for this thread, while the method asks about
    records that were made up two lines before.
    """
    seed = f"{fakes.seed} {plan.request.hash()}"
    digest = hashlib.sha256(f"records {seed}".encode()).digest()
    backend = made_up(plan, fakes, np.random.default_rng(list(digest)))
    with drawing_for_fakes(SeededSource(f"noise {seed}")):
        yield backend
