"""The errors that tametail raises, and nothing else.

::

    TametailError
    ├── ParameterError   a public argument is wrong            (exit code 2)
    ├── BudgetError      the privacy budget is refused          (exit code 3)
    ├── DataError        the data cannot be read at all         (exit code 4)
    │   └── ColumnError  the column is not there or not numeric (exit code 4)
    ├── MissingExtraError  an optional package is not installed (exit code 1)
    └── InternalError    tametail broke one of its own rules    (exit code 1)

Every message says what to write instead. A message may show a public argument; it never
quotes, counts or describes records: only the schema of the data is public.
"""

from __future__ import annotations


class TametailError(Exception):
    """The base of everything that tametail raises on purpose."""

    exit_code = 1


class ParameterError(TametailError, ValueError):
    """A public argument is wrong; nothing was read and nothing was spent."""

    exit_code = 2


class BudgetError(TametailError):
    """The privacy budget does not cover the request; nothing was read and nothing was spent."""

    exit_code = 3


class DataError(TametailError):
    """The data cannot be read; the message says whether budget counts as spent."""

    exit_code = 4


class ColumnError(DataError, KeyError):
    """The column does not exist or is not declared numeric."""

    def __str__(self) -> str:
        # KeyError would print the repr of the message.
        return str(self.args[0]) if self.args else ""


class MissingExtraError(TametailError, ImportError):
    """An optional package is needed; the message has the line that installs it."""


class InternalError(TametailError, AssertionError):
    """Tametail caught itself breaking one of its own rules; please report it."""
