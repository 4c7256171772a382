"""Jobs of ours about which PySpark writes nothing: what it logs of one that fails quotes cells."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Final

from pyspark.logger import PySparkLogger

#: Where PySpark writes what the server says of an error, before it raises it.
_LOGGER: Final = "SQLQueryContextLogger"

_HERE: Final = threading.local()


@contextmanager
def quiet() -> Iterator[None]:
    """Let PySpark log nothing of errors in this thread; other threads, and other jobs, may."""
    _filter()
    before = getattr(_HERE, "is_quiet", False)
    _HERE.is_quiet = True
    try:
        yield
    finally:
        _HERE.is_quiet = before


def _is_said(record: logging.LogRecord) -> bool:
    del record
    return not getattr(_HERE, "is_quiet", False)


@cache
def _filter() -> None:
    PySparkLogger.getLogger(_LOGGER).addFilter(_is_said)
