"""From what was asked to a release: open the data, charge the ledger, run the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tametail._fakes import Fakes, fakes_in_use
from tametail._shown import shown
from tametail.api.arguments import Columns, Progress, checked_plan
from tametail.errors import DataError, ParameterError
from tametail.expressions import Expression
from tametail.issued import Issued
from tametail.planning import Plan
from tametail.release import Release
from tametail.request import Request
from tametail.run import prepare_release, relation_of, run
from tametail.statistic import COUNT
from tametail.tables import library_of

if TYPE_CHECKING:
    from tametail.data import Backend
    from tametail.ledger import Payment
    from tametail.ledger.charging import Ticket


def execute_plan(
    plan: Plan | Request,
    data: object,
    column: Columns = None,
    progress: Progress | None = None,
    payment: Payment | None = None,
    table: str | None = None,
) -> Release:
    """Release what was planned or asked; the command line comes in here, for its progress bar.

    ``progress`` is called with the part of a file that a pass has read, never with rows.
    """
    asked = _within_part(plan if isinstance(plan, Request) else checked_plan(plan), payment)
    if (fakes := fakes_in_use()) is not None:
        return _made_up(asked, data, column, payment, fakes)
    from tametail.data.sources.readers import check_place

    with _opened(data, column, asked, progress, table) as backend:
        planned = _planned(asked, backend)
        if payment is not None:
            check_place(data)
            make = partial(_made, planned, backend)
            return _release_with_ledger(payment, planned, make, backend.locators, data)
        issued = Issued.now()  # before any record is read: the clock tells no more
        released = run(*prepare_release(planned, backend))
        return replace(released, issued=issued, library=library_of(data))


def _within_part(asked: Request | Plan, payment: Payment | None) -> Request | Plan:
    """Return what was asked, about the records of the part that pays, if a condition makes one."""
    condition = None if payment is None else payment.condition()
    if condition is None:
        return asked
    from tametail.ledger.parts import is_within

    where = asked.request.where if isinstance(asked, Plan) else asked.where
    if is_within({"where": where}, condition):
        return asked
    if where is not None:
        condition = str(Expression.parse_condition(f"({condition}) and ({where})"))
    if isinstance(asked, Plan):
        return asked.about(None, condition)
    return replace(asked, where=condition)


def _planned(asked: Request | Plan, backend: Backend) -> Plan:
    """Return the plan for the columns that were opened."""
    names = backend.relation.names
    named = asked.with_names(names)
    if not isinstance(named, Plan):
        if named.statistic == COUNT and any(backend.conditions):
            raise ParameterError(
                f"A count of {shown(names[0])} would count all records in which it is known, true "
                f"or false. To count those in which it is true, use where={shown(names[0])} and "
                "no column. No budget was spent."
            )
        named = Plan.of(named.with_conditions(backend.conditions))
    planned = named
    request = planned.request.measured(backend.units)
    return replace(planned, request=request, reading=backend.reading)


def _made(plan: Plan, backend: Backend) -> Release:
    return run(*prepare_release(plan, backend))


def _made_up(
    asked: Request | Plan, data: object, column: Columns, payment: Payment | None, fakes: Fakes
) -> Release:
    """Return a fake: of the data, only the type is looked at, for the library of frames."""
    from tametail.testing.releases import fake_data, fake_plan

    planned = fake_plan(asked, column, fakes)

    def make() -> Release:
        with fake_data(planned, fakes) as backend:
            return _made(planned, backend)

    if payment is not None:
        return _release_with_ledger(payment, planned, make, (), data)
    return replace(make(), issued=Issued.now(), library=library_of(data))


def _release_with_ledger(
    payment: Payment,
    plan: Plan,
    make: Callable[[], Release],
    locators: tuple[str, ...],
    data: object,
) -> Release:
    """Release what a ledger pays for: charged, then read, then stored, then returned."""
    request = plan.request

    def make_paid(ticket: Ticket) -> Release:
        issued = Issued.now(ticket.release_id)
        return replace(make(), receipt=ticket.receipt, issued=issued)

    released = payment.run(
        make_paid,
        write=Release.to_json,
        read=lambda text: replace(Release.from_json(text), is_stored=True),
        budget=request.budget,
        neighbors=request.adjacency.value,
        person=request.adjacency.person,
        request=request.said(),
        locator=locators,
    )
    return replace(released, library=library_of(data))


@contextmanager
def _opened(
    data: object,
    column: Columns,
    asked: Request | Plan,
    progress: Progress | None = None,
    table: str | None = None,
) -> Iterator[Backend]:
    """Open the data, and close what was opened: a database keeps one snapshot until then."""
    # Imported here because it brings in pyarrow and narwhals, which planning does not need.
    from tametail.data.open import open_data
    from tametail.data.relation import Groups

    request = asked.request if isinstance(asked, Plan) else asked
    if request.fake:
        raise ParameterError(
            "This plan belongs to a fake release. Make a new one with tametail.plan(...). No data "
            "were read and no budget was spent."
        )
    keys = None if request.groups is None else request.groups.keys
    groups = None if keys is None else Groups(tuple(keys))
    try:
        backend = open_data(
            data, column, relation_of(request), parse=request.written, progress=progress,
            n_columns=request.known_n_columns, table=table, groups=groups,
            counted=request.adjacency.keeps_positions,
            counts_records=request.statistic == COUNT,
        )  # fmt: skip
    except DataError as error:
        raise type(error)(f"{error} No budget was spent.") from None
    try:
        yield backend
    finally:
        backend.close()
