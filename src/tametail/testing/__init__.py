"""Test a program that releases: without data, without a budget, the same in every run.

Inside of :func:`fake_releases` every release of the process is made up from its plan. It has the
shape, types, columns and notes of a real one, it is marked as fake wherever it is shown or stored,
and the data are never read. docs/how-to/test-your-code.md shows how to test a small pipeline.

There is no seed for the noise of a real release: whoever knows the seed can subtract the noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tametail._fakes import Fakes, using_fakes
from tametail._validate import count
from tametail.errors import ParameterError

__all__ = ["fake_releases"]

#: More records than this are never made up, whatever n says.
MOST_RECORDS = 100_000


@contextmanager
def fake_releases(
    seed: int = 1, *, n: int = 10_000, columns: int = 1, groups: int = 3
) -> Iterator[None]:
    """Make up every release of this process inside of the ``with`` block.

    :func:`tametail.mean` plans as usual, but ``data`` are not touched. Synthetic records take
    their place: lognormal with sigma = 1, moved to where ``tail`` and ``within`` put them. The same
    seed and request give the same release. ``release.fake`` is True, and text, JSON, tables,
    reports and pictures say so. Functions that return plain numbers, such as those of
    ``tametail.paper``, are refused.

    Data sets that are created in the block are fake, too. A ledger holds either fake data sets or
    real ones, and one with real ones refuses fake releases.

    Parameters
    ----------
    seed
        An integer. It seeds synthetic records and the noise on them, and nothing else.
    n
        The number of synthetic records (persons with ``person=``) if the request has no ``n``.
        At most 100,000 are made up.
    columns
        The number of columns, if neither the request nor the plan has it: that of a matrix.
    groups
        The number of groups if ``by=`` is given without ``keys=``. They are called "fake 1" and so
        on.

    Examples
    --------
    >>> import tametail as tt
    >>> with fake_releases(seed=1):
    ...     release = tt.mean("nowhere.csv", "amount", epsilon=1)
    >>> release.fake, release.columns, 1.4 < release.value < 1.9
    (True, ('amount',), True)
    >>> print(release)
    mean       FAKE: 1.6...
    """
    checked = Fakes(
        _seed(seed), _positive(n=n), _positive(columns=columns), _positive(groups=groups)
    )
    with using_fakes(checked):
        yield


def _seed(seed: object) -> int:
    if isinstance(seed, int) and not isinstance(seed, bool):
        return seed
    raise ParameterError(
        f"Invalid seed of type {type(seed).__name__}. Use an integer, such as seed=1."
    )


def _positive(**named: object) -> int:
    ((name, _),) = named.items()
    number = count(**named)
    if 1 <= number <= MOST_RECORDS:
        return number
    raise ParameterError(f"Invalid {name}. Use an integer from 1 to {MOST_RECORDS:,}.")
