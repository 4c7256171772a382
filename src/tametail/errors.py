"""The errors that tametail raises.

::

    TametailError
    ├── ParameterError   a public argument is wrong            (exit code 2)
    ├── BudgetError      the privacy budget is refused          (exit code 3)
    │   └── ResultNotStoredError  charged, but no result was stored      (exit code 3)
    ├── LedgerError      the ledger cannot be used              (exit code 1)
    │   └── LedgerIntegrityError  its entries do not match            (exit code 1)
    ├── DataError        the data cannot be read at all         (exit code 4)
    │   └── ColumnError  the column is not there or not numeric (exit code 4)
    ├── MissingExtraError  an optional package is not installed (exit code 1)
    └── InternalError    tametail broke one of its own rules    (exit code 1)

Every message says what is wrong, what to do, and what happened to the budget. A message may show
a public argument; it never quotes, counts or describes records: only the schema is public.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class TametailError(Exception):
    """The base of everything that tametail raises on purpose."""

    exit_code = 1


class ParameterError(TametailError, ValueError):
    """A public argument is wrong; no data were read and no budget was spent.

    A traceback says so, too, without every message having to repeat it.

    >>> ParameterError("Invalid n=-1.").__notes__
    ['No budget was spent.']
    """

    exit_code = 2

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        if "budget was spent" not in "".join(map(str, args)):
            self.add_note("No budget was spent.")


class BudgetError(TametailError):
    """The privacy budget does not cover the request; no data were read and no budget was spent."""

    exit_code = 3


class ResultNotStoredError(BudgetError):
    """A release was charged, but has no stored result: its budget is spent."""


class LedgerError(TametailError):
    """The ledger cannot be opened, read or written; the message says what was spent."""


class LedgerIntegrityError(LedgerError):
    """An entry of the ledger was changed, or does not match those before it."""


class DataError(TametailError):
    """The data cannot be read; the message says whether the budget is spent."""

    exit_code = 4


class ColumnError(DataError, KeyError):
    """The column does not exist or is not declared numeric."""

    def __str__(self) -> str:
        # KeyError would print the repr of the message.
        return str(self.args[0]) if self.args else ""


class MissingExtraError(TametailError, ImportError):
    """An optional package is needed; the message has the line that installs it."""

    @classmethod
    def of(cls, what: str, extra: str) -> MissingExtraError:
        """Return the error for an extra that is not installed.

        It names the packages of the extra, which can be had wherever tametail came from: an
        install line with tametail's own name would fail where no index has tametail.

        >>> "Run: pip install 'duckdb>=" in str(MissingExtraError.of("A DuckDB file", "duckdb"))
        True
        """
        from importlib.metadata import requires

        needed = [line.split(";") for line in requires("tametail") or ()]
        marks = (f"extra == '{extra}'", f'extra == "{extra}"')
        names = [f"'{name.strip()}'" for name, *mark in needed if "".join(mark).strip() in marks]
        return cls(
            f'{what} needs the extra "{extra}". Run: pip install {" ".join(names)}. '
            "No budget was spent."
        )


def imported(module: str, what: str, extra: str) -> Any:
    """Return an optional package, which ``what`` needs, or say how to install it."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError.of(what, extra) from None


class InternalError(TametailError, AssertionError):
    """Tametail caught itself breaking one of its own rules; please report it."""
