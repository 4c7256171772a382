"""Ledgers of both kinds: in a file, and on the PostgreSQL server that runs for the tests."""

from __future__ import annotations

import pytest

from tametail.ledger import Ledger

from .servers import new_schema


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """Return where a new ledger may be made."""
    if request.param == "sqlite":
        return str(tmp_path / "office.ledger")
    return new_schema(request.getfixturevalue("server"))


@pytest.fixture
def ledger(place):
    return Ledger(place)
