"""The public functions: mean and other statistics, plan, sample_size, epsilon_for, replay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict, Unpack, cast, overload

from tametail._fakes import Fakes, fakes_in_use
from tametail._shown import shown
from tametail._validate import count as whole_number
from tametail.charged_calls import payment_of
from tametail.errors import DataError, ParameterError, TametailError
from tametail.expressions import Expression
from tametail.issued import Issued
from tametail.parse import Parse
from tametail.planning import Plan
from tametail.privacy.budget import Budget, Pure, parse_budget
from tametail.privacy.unit import Unit
from tametail.release import Floats, Release
from tametail.request import GREATEST_STRENGTH, LEAST_STRENGTH, Request
from tametail.run import prepare_release, prepare_replay, relation_of, run
from tametail.searching import smallest_sufficient, target_half_width
from tametail.statistic import COUNT
from tametail.tables import library_of
from tametail.tail import Tail, parse_tail

if TYPE_CHECKING:
    from tametail.data import Backend
    from tametail.ledger import Ledger, Payment
    from tametail.ledger.charging import Ticket

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


# fmt: off
@overload
def mean(
    data: object, column: str, *, by: None = None, plan: None = None, confidence: float = 0.95,
    **others: Unpack[Others],
) -> Single: ...
@overload
def mean(
    data: object, column: str, *, by: None = None, plan: None = None, confidence: None,
    **others: Unpack[Others],
) -> SingleAlone: ...
@overload
def mean(
    data: Numbers, column: None = None, *, by: None = None, plan: None = None,
    confidence: float = 0.95, **others: Unpack[Others],
) -> Single: ...
@overload
def mean(
    data: Numbers, column: None = None, *, by: None = None, plan: None = None, confidence: None,
    **others: Unpack[Others],
) -> SingleAlone: ...
@overload
def mean(
    data: object, column: Several, *, by: str | Sequence[str] | None = None, plan: None = None,
    confidence: float = 0.95, **others: Unpack[Others],
) -> Arrays: ...
@overload
def mean(
    data: object, column: Several, *, by: str | Sequence[str] | None = None, plan: None = None,
    confidence: None, **others: Unpack[Others],
) -> ArraysAlone: ...
@overload
def mean(
    data: object, column: str, *, by: str | Sequence[str], plan: None = None,
    confidence: float = 0.95, **others: Unpack[Others],
) -> Arrays: ...
@overload
def mean(
    data: object, column: str, *, by: str | Sequence[str], plan: None = None, confidence: None,
    **others: Unpack[Others],
) -> ArraysAlone: ...
@overload
def mean(
    data: object, column: Columns = None, *, by: str | Sequence[str] | None = None,
    plan: Plan | None = None, confidence: float | None = 0.95, **others: Unpack[Others],
) -> Release: ...
# fmt: on


def mean(
    data: object,
    column: Columns = None,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    budget: Budget | None = None,
    tail: Tail | list[Tail] = None,
    within: Within | list[Within] = None,
    neighbors: str = "add-remove",
    missing: str = "skip",
    n: int | None = None,
    confidence: float | None = 0.95,
    target: str = "population",
    plan: Plan | None = None,
    same_scale: bool = False,
    person: Person = None,
    each: str = "record",
    n_records: int | None = None,
    where: str | None = None,
    by: str | Sequence[str] | None = None,
    keys: Iterable[object] | None = None,
    other: str | None = None,
    pooling: str | None = "shape",
    simultaneous: bool | None = None,
    groups_per_person: Literal[1] | None = None,
    parse: Parse | None = None,
    table: str | None = None,
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    release_id: str | None = None,
    weights: str | None = None,
) -> Release:
    """Release the mean of a column under differential privacy.

    No bounds are needed. A private median and private octave counts find clip points, and the
    noisy mean of the clipped records is released with an interval and a guarantee.

    Parameters
    ----------
    data, column
        An array, or a list of cells; a frame (pandas, Polars, Arrow, DuckDB) and the name of a
        column; or the path of a Parquet or CSV file, or a list of paths, and a column. Cells that
        are not numbers are missing. A list of columns, a matrix, or a list of rows (the first item
        is one, and says how many columns there are) gives the means of several columns
        (docs/explanation/joint-estimation.md); ``tail`` and ``within`` may then be lists, one entry
        per column.
    table
        The table, if data is a database: the address of a PostgreSQL server
        (``"postgresql://host/db"``), a connection of psycopg, DuckDB or sqlite3, or a file of
        DuckDB or SQLite (docs/how-to/query-a-database.md).
    epsilon, delta, rho, budget
        The privacy budget: ``epsilon`` (pure), ``epsilon`` and ``delta`` (approximate), ``rho``
        (zCDP), or a ``budget`` object.
    tail
        What you are willing to assume about the records: nothing, ``Moment(k, scale)`` or
        ``Bounded(low, high)``. It can only narrow the clip interval, and it turns the interval
        into one for the mean itself; ``Bounded(0, None)``, a bound on one side, does not. If it is
        wrong, privacy is not affected.
    within
        Where the *mean* can be: R for [-R, R], or (low, high). It never clips records.
    neighbors
        "add-remove" (one record more or less; the size of the data is protected too) or
        "replace-one" (one record changed; the size is public).
    missing
        "skip": missing records are left out, and the count is private. "none": your promise that
        there are none; under replace-one the sum is then divided by the public n.
    n
        A guess of the number of records, if there is a public one. Under add-remove a count for
        0.2% of the budget (without a guess: 1.5%) sees to it that a wrong guess costs accuracy and
        never memory: how many records are sampled follows the larger of the two.
    confidence
        Of the interval; None spends nothing on it.
    target
        "population": an interval for the mean of the law that the records come from; "data": for
        the mean of these records.
    plan
        A plan made before. Beside it may be said what is about the data: column, ``person``,
        ``where``, ``by``, ``keys``, ``other``, ``parse`` and who pays; all else stays at its
        default.
    same_scale
        For several columns: they share a unit and a size (pixels, embeddings, returns), so
        use one centre and one scale for all of them.
    person
        The column of a frame or a file, or a list of columns, whose value says whose record it
        is. Then a person is protected, with all of their records however many these are, and ``n``
        counts persons (docs/how-to/protect-people.md). A record without a person is left out.
    each
        With ``person``, what counts once: "record", so that a person with many records counts
        more, or "person", by the mean of their own records.
    n_records
        A guess of the number of records of all persons; predictions use it.
    where
        A condition on records, such as ``"age >= 65 and region != 'north'"``
        (docs/how-to/filter-and-compute.md). Other records count as missing. ``column``
        may be a computation likewise: ``"charge / nights"``.
    by, keys, other
        A mean for every group: ``by`` names the column, or columns, that say which group a record
        is in. ``keys`` are the groups, which must be public (see docs/how-to); without them
        they are chosen privately, which takes a ``delta``. ``other`` names one more group, for
        all rows without one of the keys.
    pooling
        "shape": small groups are clipped where the records of all groups suggest; "mean": their
        means are also drawn towards the common one, beside; None: each group alone.
    simultaneous
        None: intervals hold for all columns of a group together; True: for all groups too; False:
        for each mean alone.
    groups_per_person
        With ``person`` and ``by``: 1 if each person belongs to one group (patients of one state,
        customers of one branch). Each person then keeps the group with most of their records,
        the first of the keys if there are several, and their other records are left out; the
        release says what share of the records was kept. Each group is released as if it were
        alone, at the whole budget (docs/how-to/hospital.md). None: people can be in any number of
        groups, which costs accuracy.
    parse
        How numbers are written in CSV files and in text: :class:`~tametail.Parse` has the signs for
        fractions, thousands and currencies, delimiter, header and encoding
        (docs/how-to/parse-numbers.md). A column that is declared as text is refused without it.
    ledger, dataset, release_id
        A :class:`~tametail.Ledger`, or its path or address, which is charged before any record is
        read; the name that it has for these data; and an id of your own, under which the same
        request gives the same release again, for nothing (docs/how-to/track-budgets.md).
    weights
        What each record weighs: a column, or a computation such as ``"1 / chance"``. The release is
        sum w y / sum w; weights below 0 count as 0. Strata and clusters of a survey design are not
        accounted for (docs/how-to/survey-weights.md).

    Returns
    -------
    Release
        A table of means with a row for each column; ``release.guarantee`` says what was spent.
        For one column ``release.value`` is a number, for a list of columns or for groups an
        array with one mean each, and all intervals hold at once. Type checkers know which.

    Examples
    --------
    >>> import tametail as tt
    >>> release = tt.mean([2.0, 3.0, 4.0] * 5_000, epsilon=1)
    >>> abs(float(release) - 3.0) < 0.1
    True
    >>> round(release.guarantee.epsilon, 9)  # computed from what was asked, and rounded down
    1.0
    """
    said: dict[str, object] = {
        "epsilon": epsilon, "delta": delta, "rho": rho, "budget": budget, "tail": tail,
        "within": within, "neighbors": neighbors, "missing": missing, "n": n,
        "confidence": confidence, "target": target, "same_scale": same_scale, "each": each,
        "n_records": n_records, "pooling": pooling,
        "simultaneous": simultaneous, "groups_per_person": groups_per_person,
        "weights": weights,
    }  # fmt: skip
    about: About = {
        "person": person, "where": where, "by": by, "keys": keys, "other": other, "parse": parse,
        "table": table, "ledger": ledger, "dataset": dataset, "release_id": release_id,
    }  # fmt: skip
    asked, payment = _asked(said, plan, about)
    release = execute_plan(asked, data, column, None, payment, table)
    return replace(release, listed=isinstance(column, list | tuple))


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


# fmt: off
@overload
def sum(  # noqa: A001 - as everybody calls it
    data: object, column: str | None = None, *, by: None = None, confidence: float = 0.95,
    tail: Tail = None, target: str = "data", **options: Unpack[Common],
) -> Single: ...
@overload
def sum(  # noqa: A001 - as everybody calls it
    data: object, column: str | None = None, *, tail: Tail = None, target: str = "data",
    **options: Unpack[Options],
) -> Release: ...
# fmt: on


def sum(  # noqa: A001 - as everybody calls it
    data: object,
    column: str | None = None,
    *,
    tail: Tail = None,
    target: str = "data",
    **options: Unpack[Options],
) -> Release:
    """Release the sum of a column, with an interval.

    The sum is asked for directly, around 0: no count is needed. With ``person`` a person is
    protected with all of their records; with ``by`` there is a sum for every group.

    Parameters
    ----------
    data, column, options
        As for :func:`mean`.
    tail
        Nothing, or a bound on one side, such as ``Bounded(0, None)``.
    target
        "data": an interval for the sum of these records. "population": for the expected sum of
        such data; the number of records is then taken to vary as a Poisson number does.

    Examples
    --------
    >>> import tametail as tt
    >>> release = tt.sum([2.0, 3.0, 4.0] * 5_000, epsilon=1)
    >>> release.low < 45_000 < release.high
    True
    """
    return _statistic("sum", data, column, dict(options), tail=tail, target=target)


# fmt: off
@overload
def count(
    data: object, column: str | None = None, *, by: None = None, confidence: float = 0.95,
    **options: Unpack[Common],
) -> Single: ...
@overload
def count(
    data: object, column: str | None = None, **options: Unpack[Options]
) -> Release: ...
# fmt: on


def count(data: object, column: str | None = None, **options: Unpack[Options]) -> Release:
    """Release how many records have a number in a column, with an interval.

    Of a frame, a file or a database all records are counted if no column is named. With ``person``
    persons are counted, each once.

    >>> import tametail as tt
    >>> release = tt.count([2.0, None, 4.0] * 5_000, epsilon=1)
    >>> release.low <= 10_000 <= release.high
    True
    """
    return _statistic("count", data, column, dict(options), target="data")


def quantile(
    data: object,
    column: str | None = None,
    q: float | Iterable[float] = 0.5,
    *,
    target: str = "population",
    each: str = "record",
    **options: Unpack[Options],
) -> Release:
    """Release quantiles of a column, with intervals that hold for every distribution.

    Parameters
    ----------
    data, column, target, options
        As for :func:`mean`. ``within`` says where the quantiles can be.
    q
        The level, or levels, between 0 and 1: all come from one budget, and there is a row for
        each. A level with too few records beyond it is refused if ``n`` is given, and warned of.
    each
        With ``person``, write ``each="person"``: every person counts once, by the mean of their
        own records.

    Examples
    --------
    >>> import tametail as tt
    >>> release = tt.quantile(list(range(10_000)), q=[0.5, 0.9], epsilon=1)
    >>> [row.label for row in release], 4_800 < release[0].value < 5_200
    (['median', '90% quantile'], True)
    """
    return _statistic("quantile", data, column, dict(options), target=target, each=each, levels=q)


# fmt: off
@overload
def median(
    data: object, column: str | None = None, *, by: None = None, confidence: float = 0.95,
    target: str = "population", each: str = "record", **options: Unpack[Common],
) -> Single: ...
@overload
def median(
    data: object, column: str | None = None, *, target: str = "population", each: str = "record",
    **options: Unpack[Options],
) -> Release: ...
# fmt: on


def median(
    data: object,
    column: str | None = None,
    *,
    target: str = "population",
    each: str = "record",
    **options: Unpack[Options],
) -> Release:
    """Release the median of a column, with an interval that holds for every distribution.

    >>> import tametail as tt
    >>> release = tt.median(list(range(10_000)), epsilon=1)
    >>> release.low < 5_000 < release.high
    True
    """
    return _statistic("quantile", data, column, dict(options), target=target, each=each, levels=0.5)


def describe(
    data: object,
    column: str | None = None,
    *,
    target: str = "population",
    **options: Unpack[Options],
) -> Release:
    """Release count, mean, sum and the quantiles 5, 25, 50, 75 and 95% from one budget.

    There is no standard deviation: on heavy-tailed data no interval for it was found that covers.
    The distance of two quantiles says how far records spread.

    >>> import tametail as tt
    >>> release = tt.describe(list(range(20_000)), epsilon=2)
    >>> [row.label for row in release][:4]
    ['count', 'mean', 'sum', '5% quantile']
    """
    return _statistic("describe", data, column, dict(options), target=target)


def _statistic(
    name: str, data: object, column: str | None, options: dict[str, object], **said: object
) -> Release:
    """Release another statistic than the mean: the same request, with its name."""
    about = {key: options.pop(key) for key in list(options) if key in About.__annotations__}
    unknown = [key for key in options if key not in Options.__annotations__]
    if unknown:
        raise ParameterError(
            f"{', '.join(unknown)} is not available for a {name}. Remove it. No budget was spent."
        )
    asked, payment = _asked(options | said | {"statistic": name}, None, cast("About", about))
    return execute_plan(asked, data, column, None, payment, cast("str | None", about.get("table")))


def _asked(
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
    return _checked(plan).about(person, where, parse, **groups), payment


def plan(
    n: int | None = None,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    budget: Budget | None = None,
    tail: Tail | list[Tail] = None,
    within: Within | list[Within] = None,
    neighbors: str = "add-remove",
    missing: str = "skip",
    confidence: float | None = 0.95,
    target: str = "population",
    n_columns: int = 1,
    same_scale: bool = False,
    person: bool | str | Sequence[str] = False,
    each: str = "record",
    n_records: int | None = None,
    by: str | Sequence[str] | None = None,
    keys: Iterable[object] | None = None,
    other: str | None = None,
    pooling: str | None = "shape",
    simultaneous: bool | None = None,
    groups_per_person: Literal[1] | None = None,
    statistic: str = "mean",
    q: float | Iterable[float] | None = None,
    weights: str | None = None,
) -> Plan:
    """Plan a release from public numbers, before any data is read.

    The arguments are those of :func:`mean`. ``statistic`` is "mean", "sum", "count", "quantile"
    (with levels ``q``) or "describe". The plan predicts its error (``rmse`` with a tail
    assumption, ``relative_rmse`` without), prints its steps and says what would help. ``n_columns``
    is the number of columns. With ``person=True``, ``n`` counts persons; which column says who they
    are may be said later, beside ``plan=``, and is "person" if it is not.

    >>> import tametail as tt
    >>> plan = tt.plan(n=10_000, epsilon=1, tail=tt.Moment(2, 100.0))
    >>> plan.rmse < 10
    True
    >>> tt.plan(n=100, epsilon=0.1).advice != ()
    True
    >>> tt.plan(n=100, rho=0.5, n_columns=50).method  # too few records for a scale of every column
    'mean in a ball, one scale for all columns'
    """
    said = Request.parse(
        epsilon=epsilon, delta=delta, rho=rho, budget=budget, tail=tail, within=within,
        neighbors=neighbors, missing=missing, n=n, confidence=confidence, target=target,
        same_scale=same_scale,
        person="person" if person is True else None if person is False else person,
        each=each, n_records=n_records, by=by,
        keys=keys, other=other, pooling=pooling, simultaneous=simultaneous,
        groups_per_person=groups_per_person,
        statistic=statistic, levels=q, weights=weights,
    )  # fmt: skip
    if whole_number(n_columns=n_columns) < 1:
        raise ParameterError(f"Invalid n_columns={shown(n_columns)}. Use at least one column.")
    return Plan.of(said.with_names([str(number) for number in range(n_columns)]))


def sample_size(
    error: float | None = None,
    *,
    relative_error: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    budget: Budget | None = None,
    tail: Tail = None,
    confidence: float = 0.95,
    neighbors: str = "add-remove",
) -> int:
    """Return the least n whose planned interval has a half-width of at most ``error``.

    ``error`` is in the units of the records, for which a tail must be told; with ``Bounded`` it is
    that of the worst law within the bounds. Without a tail ``relative_error`` is in standard
    deviations of the reference law, lognormal with sigma = 1. Where the method changes a larger n
    may promise less: the least n of either method counts.

    >>> import tametail as tt
    >>> n = tt.sample_size(error=0.1, epsilon=1.0, tail=tt.Moment(2, 1.0), confidence=0.95)
    >>> 1_000 < n < 20_000
    True
    >>> 100 < tt.sample_size(relative_error=0.1, epsilon=1) < 20_000
    True
    """
    whole = parse_budget(budget, epsilon=epsilon, delta=delta, rho=rho)
    most_error = target_half_width(error, relative_error, parse_tail(tail))

    def made(size: int) -> Plan:
        return plan(n=size, budget=whole, tail=tail, confidence=confidence, neighbors=neighbors)

    refusal = (
        f"error={most_error!r} is not reachable with up to 10^15 records. Allow a larger error."
    )
    return smallest_sufficient(made, confidence, most_error, 10**15, refusal)


def epsilon_for(
    error: float | None = None,
    *,
    relative_error: float | None = None,
    n: int,
    tail: Tail = None,
    confidence: float = 0.95,
    neighbors: str = "add-remove",
) -> float:
    """Return the least epsilon whose planned interval at n has a half-width of ``error``.

    ``error`` and ``relative_error`` are those of :func:`sample_size`.

    >>> import tametail as tt
    >>> epsilon = tt.epsilon_for(error=0.1, n=10_000, tail=tt.Moment(2, 1.0), confidence=0.95)
    >>> 0.05 < epsilon < 5
    True
    """
    most_error, size = target_half_width(error, relative_error, parse_tail(tail)), whole_number(n=n)
    steps_of_one = round(1 / LEAST_STRENGTH)

    def made(steps: int) -> Plan:
        whole = Pure(steps / steps_of_one)
        return plan(n=size, budget=whole, tail=tail, confidence=confidence, neighbors=neighbors)

    most = round(GREATEST_STRENGTH * steps_of_one)
    refusal = (
        f"error={most_error!r} is not reachable with n={size} records. Allow a larger error, or "
        "use more records."
    )
    return smallest_sufficient(made, confidence, most_error, most, refusal) / steps_of_one


def replay(plan: Plan, answers: Iterable[object]) -> Release:
    """Return the release that follows from a plan and its noisy answers.

    No data are read: a release is a function of public numbers and of what was answered. Plan and
    answers must come from this version of tametail. On one machine the release is the same bit
    for bit; on others numbers agree to 1e-12, since NumPy's exponentials, logarithms and products
    of matrices differ in their last bits between processors.

    >>> import tametail as tt
    >>> release = tt.mean([1.0, 2.0, 4.0] * 1000, epsilon=1)
    >>> tt.replay(release.plan, release.answers) == release
    True
    """
    checked = _checked(plan)
    try:
        return run(*prepare_replay(checked, answers))
    except TametailError:
        raise
    except (TypeError, ValueError, ArithmeticError, AttributeError, IndexError):
        pass  # raised below, without what these say
    raise ParameterError(
        "These answers do not belong to this plan. Use replay(release.plan, release.answers)."
    )


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
    asked = _within_part(plan if isinstance(plan, Request) else _checked(plan), payment)
    if (fakes := fakes_in_use()) is not None:
        return _made_up(asked, data, column, payment, fakes)
    with _opened(data, column, asked, progress, table) as backend:
        planned = _planned(asked, backend)
        if payment is not None:
            make = partial(_made, planned, backend)
            return _release_with_ledger(payment, planned, make, backend.locators, data)
        issued = Issued.now()  # before any record is read: the clock tells no more
        return replace(
            run(*prepare_release(planned, backend)), issued=issued, library=library_of(data)
        )


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
    from tametail.testing.releases import fake_plan, fake_run

    planned = fake_plan(asked, column, fakes)
    make = partial(fake_run, planned, fakes)
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
        read=Release.from_json,
        budget=request.budget,
        neighbors=request.unit.value,
        person=request.unit.person,
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
            dim=request.known_dim, table=table, groups=groups,
            counted=request.unit.keeps_positions,
            counts_records=request.statistic == COUNT,
        )  # fmt: skip
    except DataError as error:
        raise type(error)(f"{error} No budget was spent.") from None
    try:
        yield backend
    finally:
        backend.close()


def _checked(plan: object) -> Plan:
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
    return value is default or (isinstance(value, str | float | Unit) and value == default)
