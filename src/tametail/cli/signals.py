"""SIGTERM as an exception, for the commands that end in words of their own."""

from __future__ import annotations


class Terminated(BaseException):
    """SIGTERM, as an exception, so that files are closed and one line is said."""
