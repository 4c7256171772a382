"""Other statistics than the mean: sum, count, quantiles, and all of them in one release."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack, cast, overload

from tametail.api.arguments import (
    About,
    Columns,
    Common,
    Options,
    Single,
    read_arguments,
)
from tametail.api.running import execute_plan
from tametail.errors import ParameterError
from tametail.release import Release
from tametail.tail import Tail


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

    Of a frame, a file or a database all records are counted if no column is named; of JSON lines
    and streams a column must be named. With ``person`` persons are counted, each once.

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


def regression(
    data: object,
    y: str,
    x: str | Iterable[str],
    **options: Unpack[Options],
) -> Release:
    """Release the coefficients of a linear regression of y on x. Experimental.

    There is a row for the intercept and one for each column of x, in the units of the columns. It
    takes ``rho``, or ``epsilon`` with ``delta``. Nothing needs to be known of the columns; those of
    which one nearly follows from others are refused, after a look that costs a part of the budget.

    Parameters
    ----------
    data, options
        As for :func:`mean`, without ``by``, ``person``, ``within`` and ``target``. A row in which y
        or a column of x is missing is left out.
    y
        The column, or computation, that is explained.
    x
        A column or several; computations such as ``"log(charge)"`` and conditions such as
        ``"state == 'CA'"``, which are 0 or 1, too.

    Examples
    --------
    >>> import numpy, pandas, tametail as tt
    >>> age = numpy.arange(20_000) % 80
    >>> frame = pandas.DataFrame({"age": age, "paid": 100 + 3.0 * age + numpy.arange(20_000) % 7})
    >>> release = tt.regression(frame, "paid", ["age"], rho=0.5)
    >>> release["age"].low < 3 < release["age"].high, len(release)
    (True, 2)
    """
    columns = [y, *([x] if isinstance(x, str) else x)]
    return _statistic("regression", data, columns, dict(options))


def _statistic(
    name: str, data: object, column: Columns, options: dict[str, object], **said: object
) -> Release:
    """Release another statistic than the mean: the same request, with its name."""
    about = {key: options.pop(key) for key in list(options) if key in About.__annotations__}
    unknown = [key for key in options if key not in Options.__annotations__]
    if unknown:
        raise ParameterError(
            f"{', '.join(unknown)} is not available for a {name}. Remove it. No budget was spent."
        )
    asked, payment = read_arguments(
        options | said | {"statistic": name}, None, cast("About", about)
    )
    return execute_plan(asked, data, column, None, payment, cast("str | None", about.get("table")))
