"""What the public functions are given: types of their arguments, and what is checked of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

from tametail._shown import shown
from tametail.charged_calls import payment_of
from tametail.errors import ParameterError
from tametail.parse import Parse
from tametail.planning import Plan
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Budget
from tametail.release import Floats, Release
from tametail.request import Request
from tametail.tail import Tail

if TYPE_CHECKING:
    from tametail.ledger import Ledger, Payment


Progress = Callable[[float], None]
Several = list[str] | tuple[str, ...]
Columns = str | Several | None
Person = str | Sequence[str] | None
Within = float | tuple[float, float] | None

#: What type checkers know of a release by what was asked for: numbers or arrays, with intervals or
#: without. A list of numbers is one column; of an array or a frame they do not know the shape.
Single: TypeAlias = "Release[float, float]"
Arrays: TypeAlias = "Release[Floats, Floats]"
SingleAlone: TypeAlias = "Release[float, None]"
ArraysAlone: TypeAlias = "Release[Floats, None]"
Numbers = Sequence[float] | Sequence[float | None]


class Others(TypedDict, total=False):
    """Arguments of :func:`mean` that do not change the type of its result."""

    epsilon: float | None
    delta: float | None
    rho: float | None
    budget: Budget | None
    tail: Tail | list[Tail]
    within: Within | list[Within]
    neighbors: str
    missing: str
    n: int | None
    target: str
    same_scale: bool
    person: Person
    each: str
    n_records: int | None
    where: str | None
    keys: Iterable[object] | None
    other: str | None
    pooling: str | None
    simultaneous: bool | None
    groups_per_person: Literal[1] | None
    parse: Parse | None
    table: str | None
    ledger: Ledger | str | None
    dataset: str | None
    release_id: str | None
    weights: str | None


class Whose(TypedDict, total=False):
    """What is about the data, and who pays, without what makes rows of groups."""

    person: Person
    where: str | None
    keys: Iterable[object] | None
    other: str | None
    parse: Parse | None
    table: str | None
    ledger: Ledger | str | None
    dataset: str | None
    release_id: str | None


class About(Whose, total=False):
    """What is about the data, and who pays."""

    by: str | Sequence[str] | None


class Common(Whose, total=False):
    """The keywords that all statistics share, and that do not change the type of a release."""

    epsilon: float | None
    delta: float | None
    rho: float | None
    budget: Budget | None
    within: Within
    neighbors: str
    n: int | None
    simultaneous: bool | None
    groups_per_person: Literal[1] | None


class Options(About, Common, total=False):
    """The keywords that all statistics share; :func:`mean` says what each is."""

    confidence: float | None


def read_arguments(
    said: dict[str, object], plan: Plan | None, about: About
) -> tuple[Request | Plan, Payment | None]:
    """Check the arguments; return what is asked for and who pays."""
    groups: dict[str, object] = {key: about.get(key) for key in ("by", "keys", "other")}
    person, where, parse = about.get("person"), about.get("where"), about.get("parse")
    payment = payment_of(about.get("ledger"), about.get("dataset"), about.get("release_id"))
    if plan is None:
        asked = Request.parse(**said, **groups, person=person, where=where, parse=parse)
        return asked, payment
    _check_left_alone(said)
    return checked_plan(plan).about(person, where, parse, **groups), payment


def checked_plan(plan: object) -> Plan:
    """Return the plan; refuse anything else."""
    if isinstance(plan, Plan):
        return plan
    raise ParameterError(
        f"Invalid plan={shown(plan)}. Use plan=tametail.plan(...), or plan=Plan.from_json(text) "
        "for a saved plan."
    )


_DEFAULTS = {
    "neighbors": "add-remove", "missing": "skip", "confidence": 0.95, "target": "population",
    "same_scale": False, "each": "record", "pooling": "shape",
}  # fmt: skip


def _check_left_alone(said: dict[str, object]) -> None:
    changed = [name for name, value in said.items() if not _is_default(name, value)]
    if changed:
        raise ParameterError(
            f"{', '.join(changed)} cannot be combined with plan=, because the plan fixes them. "
            "Remove them, or make a new plan."
        )


def _is_default(name: str, value: object) -> bool:
    default = _DEFAULTS.get(name)
    # A frame would be compared cell by cell.
    return value is default or (isinstance(value, str | float | Adjacency) and value == default)
