"""Entries: what a ledger consists of. Each holds the hash of the one before it.

An entry is never changed and never deleted. Its body is canonical JSON: the same values always give
the same text. It holds public numbers only, never a record, nor a hash, size or date of the data,
which would confirm guesses.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from json.encoder import encode_basestring_ascii as _quote
from typing import Final

from tametail._json import Json
from tametail.errors import LedgerError

FORMAT: Final = 2
"""Of bodies and of requests; a number that was used once keeps its meaning."""

_OLD_FORMAT: Final = 1

START: Final = "0" * 64
"""The hash before the first entry."""

#: open, raise, close: a data set's budget. charge: before data are read. part: the same charge
#: carried to the whole that a data set is part of. place: where more data of the charge lie.
#: result: what was released.
ACCOUNT_KINDS: Final = ("open", "charge", "part", "raise", "close")


_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
_DECODE: Final = json.JSONDecoder().raw_decode  # no search for white space, which has no place here


def canonical(value: object) -> str:
    """Return plain values as JSON, one text for equal values.

    >>> canonical({"b": 0.1, "a": [True, None]})
    '{"a":[true,null],"b":0.1}'
    """
    return _ENCODER.encode(value)


def request_hash(dataset: str, request: Json) -> str:
    """Return the hash of a request on a data set; it covers the format number."""
    return sha256(canonical([FORMAT, dataset, request]).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger."""

    seq: int
    kind: str
    dataset: str
    release: str | None
    request: str | None
    place: str | None
    body: str
    prev: str
    hash: str

    @classmethod
    def after(
        cls,
        last: tuple[int, str] | None,
        kind: str,
        dataset: str,
        body: Json,
        *,
        release: str | None = None,
        request: str | None = None,
        place: str | None = None,
    ) -> Entry:
        """Return the entry that follows the one with this number and hash."""
        before, prev = last or (0, START)
        fields = before + 1, kind, dataset, release, request, place, canonical(body), prev
        return cls(*fields, hash=_digest(*fields))

    def digest(self) -> str:
        """Return what the hash must be."""
        return _digest(
            self.seq, self.kind, self.dataset, self.release, self.request, self.place, self.body,
            self.prev,
        )  # fmt: skip

    @property
    def places(self) -> list[str]:
        """Where the data of a charge lie; the first place has a column, for its index."""
        first = [] if self.place is None else [self.place]
        return [str(place) for place in self.read().get("places", first)]

    def read(self) -> Json:
        """Return the body as plain values."""
        body: Json
        body, end = _DECODE(self.body)
        if end != len(self.body):
            raise ValueError("there is more than one value.")
        if body.get("format") == _OLD_FORMAT:
            raise LedgerError(
                "This ledger was written by a version before 0.3, whose entries have other names. "
                "Keep it, and create a new ledger whose budgets are what remains in the old one. "
                "No data were read and no budget was spent."
            )
        return body


def _digest(seq: int, *texts: str | None) -> str:
    """Return the hash of ``canonical([seq, *texts])``, put together by hand: it is needed often."""
    quoted = ["null" if text is None else _quote(text) for text in texts]
    return sha256(f"[{seq},{','.join(quoted)}]".encode()).hexdigest()
