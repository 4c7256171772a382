"""The mean: of a column, of several, by group, of records and of persons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Unpack, overload

from tametail.api.arguments import (
    About,
    Arrays,
    ArraysAlone,
    Columns,
    Numbers,
    Others,
    Person,
    Several,
    Single,
    SingleAlone,
    Within,
    read_arguments,
)
from tametail.api.running import execute_plan
from tametail.parse import Parse
from tametail.planning import Plan
from tametail.privacy.budget import Budget
from tametail.release import Release
from tametail.tail import Tail

if TYPE_CHECKING:
    from tametail.ledger import Ledger


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

    No bounds are needed. A private median and a noisy histogram give clipping bounds, and the
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
        "population": an interval for the mean of the population of the records; "data": for
        the mean of these records.
    plan
        A plan made before. Beside it may be said what is about the data: column, ``person``,
        ``where``, ``by``, ``keys``, ``other``, ``parse`` and who pays; all else stays at its
        default.
    same_scale
        For several columns: they share a unit and a size (pixels, embeddings, returns), so
        use one center and one scale for all of them.
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
        request returns the stored release and spends nothing (docs/how-to/track-budgets.md).
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
    asked, payment = read_arguments(said, plan, about)
    release = execute_plan(asked, data, column, None, payment, table)
    return replace(release, listed=isinstance(column, list | tuple))
