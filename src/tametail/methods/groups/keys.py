"""The groups that are asked about: public keys, or keys that are chosen privately."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tametail.errors import InternalError
from tametail.grouping import Groups
from tametail.keys import Key
from tametail.methods.groups import constants as tuned
from tametail.notes import Note
from tametail.plans import KEYS, PricedRequest, Step, Steps
from tametail.privacy.budget import Approx, Budget, Pure
from tametail.queries.groups import KeyCounts
from tametail.request import Request

if TYPE_CHECKING:
    from tametail.ask import Ask


#: What is said of a group whose count noise alone may have made.
EMPTY = Note(
    "warning",
    "no-signal",
    "The noise hides how many records this group has: it may be empty, so no mean is given. Use a "
    "larger epsilon, or fewer and larger groups.",
)


def asked(request: Request) -> Groups:
    """Return what a request says about groups."""
    if request.groups is None:
        raise InternalError("there are no groups.")
    return request.groups


def usual_size(plan: PricedRequest) -> int | None:
    """Return the records of a group if all were of one size; None if that is unknown."""
    groups = asked(plan.request)
    if plan.n is None or groups.keys is None or not groups.rows:
        return None
    return max(plan.n // len(groups.rows), 1)


def chosen_keys(plan: PricedRequest, ask: Ask) -> tuple[Ask, tuple[Key, ...]]:
    """Choose keys, if they are private; return who may be asked about them, and all keys."""
    wanted = asked(plan.request)
    keys = wanted.keys
    if keys is None:
        persons = plan.adjacency.person is not None
        query = KeyCounts(tuned.WHOLE, tuned.MOST_KEYS) if persons else KeyCounts()
        found = (key for key, _ in ask(query, plan.cost(KEYS)))
        keys = tuple(key for key in found if key != wanted.rest)  # else two rows of one name
    groups = ask.on(ask.relation.coded(keys, other=wanted.rest is not None))
    return groups, keys if wanted.rest is None else (*keys, wanted.rest)


def keys_step(request: Request) -> tuple[Steps, Budget]:
    """Return the step that chooses keys, if there is one, and the budget that is left.

    All of the delta goes to the keys: nothing else needs any.
    """
    budget = request.budget.spendable()
    if request.groups is None or request.groups.keys is not None:
        return (), budget
    if not isinstance(budget, Approx):
        raise InternalError("keys are chosen at a cost with a delta.")
    first, rest = Pure(budget.epsilon).split(tuned.KEYS_SHARE, 1 - tuned.KEYS_SHARE)
    return (Step(KEYS, Approx(first.epsilon, budget.delta)),), rest
