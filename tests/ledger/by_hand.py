"""Ways around a ledger on a server: rows by hand, under the policy of the guide; swallowed rows."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple
from typing import Any

from tametail.ledger import Ledger
from tametail.ledger.entries import Entry, request_hash
from tametail.ledger.rows import TABLE

#: As the guide has it.
POLICY = """\
GRANT SELECT, INSERT ON tametail_entry TO analysts;
ALTER TABLE tametail_entry ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone_reads ON tametail_entry FOR SELECT USING (true);
CREATE POLICY analysts_spend ON tametail_entry FOR INSERT TO analysts
    WITH CHECK (kind IN ('charge', 'part', 'place', 'result'));
"""


def run(url: str, *statements: str) -> None:
    """Execute statements, each by itself."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


@contextmanager
def role(url: str, *, policy: bool) -> Iterator[str]:
    """Yield the address for a role that may insert and read, under the guide's policy if wished."""
    name = f"spender_{os.getpid()}_{time.monotonic_ns()}"
    schema = url.partition("search_path%3D")[2]
    run(
        url,
        f"CREATE ROLE {name} LOGIN PASSWORD 'secret'",
        f"GRANT USAGE ON SCHEMA {schema} TO {name}",
        f"GRANT SELECT, INSERT ON {TABLE} TO {name}",
    )
    if policy:
        mine = POLICY.replace("analysts;", f"{name};").replace("TO analysts", f"TO {name}")
        run(url, *mine.split(";\n"))
    try:
        yield url.replace("postgres:@", f"{name}:secret@", 1)
    finally:
        run(url, f"DROP OWNED BY {name}", f"DROP ROLE {name}")


def forged(ledger: Ledger, release: str = "forged", cost: str = "0.1", **account: Any) -> Entry:
    """Return a charge that is chained as it should be, and states an account of one's own."""
    with ledger._storage.reading() as rows:
        entry = rows.account("claims")
        last = rows.last()
    body = entry.read()
    stated = body["account"]
    stated = stated | account | {"spent": stated["spent"] | account.get("spent", {})}
    body |= {
        "account": stated, "cost": {"epsilon": cost}, "price": {"epsilon": cost},
        "protection": {"neighbors": "add-remove", "person": []}, "request": {},
    }  # fmt: skip
    return Entry.after(
        last, "charge", "claims", body, release=release, request=request_hash("claims", {})
    )


def forged_at_random(ledger: Ledger, rng: random.Random) -> Entry:
    """Return a forged charge that would leave room for more, if it were believed."""
    small = rng.choice(["0", "0.1", f"{rng.random() / 3:.3f}", "-1"])
    sums = {"epsilon": small, "concentrated": small, "charges": rng.randrange(-2, 3)}
    ways = [
        {"budget": {"epsilon": str(10 ** rng.randrange(1, 7))}},
        {"budget": {"epsilon": "2", "delta": "0.5"}},
        {"budget": {"rho": "1000"}},
        {"spent": sums},
        {"spent": sums, "budget": {"epsilon": "100"}},
        {"cost": f"-{rng.randrange(1, 9)}", "spent": sums},
        {"neighbors": "replace-one", "spent": sums},
        {"person": ["patient"], "budget": {"epsilon": "9"}},
    ]
    return forged(ledger, **rng.choice(ways))


def insert(url: str, entry: Entry) -> None:
    """Insert a row by hand."""
    import psycopg

    marks = ", ".join(["%s"] * 9)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"INSERT INTO {TABLE} VALUES ({marks})", astuple(entry))


#: What makes a server report success for a row that it does not keep.
SWALLOWED = {
    "a rule": ["CREATE RULE swallow AS ON INSERT TO {table} DO INSTEAD NOTHING"],
    "a trigger": [
        "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "CREATE TRIGGER swallow BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION swallow()",
    ],
    "a trigger that changes": [
        "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN NEW.body := replace(NEW.body, ''0.1'', ''0.01''); RETURN NEW; END'",
        "CREATE TRIGGER swallow BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION swallow()",
    ],
    "a trigger at the commit": [
        "DROP TRIGGER {table}_never ON {table}",
        "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN DELETE FROM {table} WHERE seq = NEW.seq; RETURN NULL; END'",
        "CREATE CONSTRAINT TRIGGER swallow AFTER INSERT ON {table} DEFERRABLE INITIALLY DEFERRED "
        "FOR EACH ROW EXECUTE FUNCTION swallow()",
    ],
}
