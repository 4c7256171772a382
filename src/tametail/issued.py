"""What was written on a release when it was made: its id, the moment and the version.

None of it follows from the data or the answers. It is outside of equality and of replay: those
show that a release is consistent, and a ledger shows that it was issued.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from uuid import uuid4


@dataclass(frozen=True, slots=True)
class Issued:
    """Id, date and version of a release.

    >>> issued = Issued.now("report-q3")
    >>> issued.release_id, issued.date[-1]
    ('report-q3', 'Z')
    >>> Issued.from_dict(issued.to_dict()) == issued
    True
    """

    release_id: str
    date: str
    """Of the moment before the first record was read, in UTC, to the second."""
    version: str

    @classmethod
    def now(cls, release_id: str | None = None) -> Issued:
        """Return what is to be written on a release that begins now; None: a new id."""
        moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return cls(release_id or uuid4().hex, moment, _version())

    def to_dict(self) -> dict[str, str]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, record: dict[str, object] | None) -> Issued | None:
        """Undo :meth:`to_dict`; None stays None."""
        if record is None:
            return None
        return cls(str(record["release_id"]), str(record["date"]), str(record["version"]))


@cache
def _version() -> str:
    """Return the version of the package, which is read from a file."""
    return version("tametail")
