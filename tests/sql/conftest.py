"""Databases for the tests: a PostgreSQL server, DuckDB and SQLite, with the same tables."""

from __future__ import annotations

import itertools
import os
import sqlite3

import numpy as np
import pyarrow as pa
import pytest

_numbers = itertools.count()

TYPES = {
    "double": ("float8", "DOUBLE"),
    "integer": ("bigint", "BIGINT"),
    "text": ("text", "VARCHAR"),
    "boolean": ("boolean", "BOOLEAN"),
    "numeric": ("numeric", "DECIMAL(38,4)"),
    "real": ("real", "FLOAT"),
    "date": ("date", "DATE"),
}


class Postgres:
    """A server, and how tables get there."""

    kind = "postgres"

    def __init__(self, address):
        import psycopg

        self.address = address
        self.connection = psycopg.connect(address, autocommit=True)

    def make(self, columns, types):
        """Make a table, and return what ``mean`` and ``open_table`` take."""
        name = f"t{os.getpid()}_{next(_numbers)}"
        fields = ", ".join(f'"{column}" {TYPES[types[column]][0]}' for column in columns)
        self.connection.execute(f'CREATE TABLE "{name}" ({fields})')
        with self.connection.cursor().copy(f'COPY "{name}" FROM STDIN') as copy:
            for row in zip(*columns.values(), strict=True):
                copy.write_row(row)
        return {"data": self.address, "table": name}


class Duck:
    """DuckDB in memory, and how tables get there."""

    kind = "duckdb"

    def __init__(self):
        self.connection = pytest.importorskip("duckdb").connect()

    def make(self, columns, types):
        """Make a table, and return what ``mean`` and ``open_table`` take."""
        name = f"t{next(_numbers)}"
        fields = ", ".join(f'"{column}" {TYPES[types[column]][1]}' for column in columns)
        self.connection.execute(f'CREATE TABLE "{name}" ({fields})')
        self.connection.register("given", pa.table(columns))
        self.connection.execute(f'INSERT INTO "{name}" SELECT * FROM given')
        return {"data": self.connection, "table": name}


class Lite:
    """SQLite in memory."""

    kind = "sqlite"

    def __init__(self):
        self.connection = sqlite3.connect(":memory:")

    def make(self, columns, types):
        """Make a table; NaN cannot be stored, and becomes NULL."""
        name = f"t{next(_numbers)}"
        fields = ", ".join(f'"{column}"' for column in columns)
        self.connection.execute(f'CREATE TABLE "{name}" ({fields})')
        marks = ", ".join("?" * len(columns))
        rows = list(zip(*columns.values(), strict=True))
        self.connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', rows)
        self.connection.commit()
        return {"data": self.connection, "table": name}


@pytest.fixture(scope="session")
def postgres(server):
    found = Postgres(server)
    yield found
    found.connection.close()


@pytest.fixture(scope="session")
def duck():
    found = Duck()
    yield found
    found.connection.close()


@pytest.fixture(scope="session")
def lite():
    found = Lite()
    yield found
    found.connection.close()


@pytest.fixture(params=["postgres", "duck"])
def database(request):
    """A database that computes."""
    return request.getfixturevalue(request.param)


@pytest.fixture(params=["postgres", "duck", "lite"])
def any_database(request):
    """A database of any kind."""
    return request.getfixturevalue(request.param)


SPECIAL = (
    0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 2.2250738585072014e-308,
    2.225073858507201e-308, -2.225073858507201e-308, 1.7976931348623157e308,
    -1.7976931348623157e308, 1e300, -1e300, 1e-300, 1.0, -1.0, 3.5, 2.0**53, 0.1, 1204.0,
)  # fmt: skip


def hostile(size=4000, seed=1):
    """Doubles of any bits, of every special kind, near others and alike; some are missing."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2**64, size // 2, dtype=np.uint64).view(np.float64)
    # A NaN keeps no payload on its way through text.
    bits = np.where(np.isnan(bits), np.nan, bits)
    usual = np.exp(rng.normal(8, 2, size // 4))
    alike = rng.integers(0, 5, size // 8).astype(np.float64) * 1204.0
    numbers = np.concatenate([bits, usual, alike, np.tile(SPECIAL, 6)])
    rng.shuffle(numbers)
    cells = numbers.tolist()
    for place in range(0, len(cells), 97):
        cells[place] = None
    return cells


def sampled(engine, halvings):
    """Return all cells of a secret sample, of the chosen groups if there are any."""
    found = engine.backend._sample(halvings, grouped=engine.relation.groups is not None)
    return np.concatenate([np.empty(0), *found.values()])
