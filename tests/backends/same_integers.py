"""Ask every place the questions of the same releases, and compare the exact answers before noise.

    python -m tests.backends.same_integers [PLACE ...]

A release in memory says which questions a request asks. Memory, DuckDB, PostgreSQL, ClickHouse,
Spark and Spark Connect then answer these questions about the same synthetic records. A line for
each place shows how many integers the answers have, and their hash, which must be that of memory.
The exit code is 1 if one differs. Servers are started here, on loopback; Spark needs Java 17.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from tests.backends import places
from tests.backends.datasets import Dataset
from tests.backends.questions import canonical
from tests.ledger.servers import start_server
from tests.seeded import seeded
from tests.spark import connect_address

import tametail as tt
from tametail.ask import Data
from tametail.data.open import open_data
from tametail.data.relation import Groups, Relation
from tametail.keys import parse_keys

ROOT = Path(__file__).parents[2]

STATES = ("CA", "NY", "TX")

#: What is asked of every place: the arguments of ``mean`` beside data, column and epsilon.
REQUESTS: dict[str, dict[str, Any]] = {
    "one column": {},
    "a condition": {"where": "stay >= 2 and state != 'TX'"},
    "persons": {"person": "patient"},
    "groups": {"by": "state", "keys": STATES},
    "persons in groups": {"person": "patient", "by": "state", "keys": STATES},
}

Asked = tuple[Relation, Any]


def records(count: int = 6_000) -> Dataset:
    """Return synthetic charges of patients, some of them missing."""
    rng = np.random.default_rng(39)
    charges: list[float | None] = rng.lognormal(7, 1.5, count).tolist()
    charges[::97] = [None] * len(charges[::97])
    cells = {
        "value": charges,
        "whole": rng.integers(0, 9, count).tolist(),
        "text": rng.choice(STATES, count, p=(0.6, 0.3, 0.1)).tolist(),
        "person": [f"p{number}" for number in rng.zipf(1.5, count) % 1500],
    }
    names = ("charge", "stay", "state", "patient")
    return Dataset(dict(zip(cells, names, strict=True)), cells)


def questions(data: Dataset) -> dict[str, list[Asked]]:
    """Return the questions of a release of each request, with the relations they are about."""
    asked: list[Asked] = []
    prepare = Data.prepare

    def note(self: Data, query: Any, *rest: Any) -> Any:
        # Which rows a secret sample holds hangs on coins: ask about all rows instead.
        whole = replace(query, halvings=0) if hasattr(query, "halvings") else query
        asked.append((self.relation, whole))
        return prepare(self, query, *rest)

    found = {}
    with mock.patch.object(Data, "prepare", note), seeded("the same integers"):
        for name, request in REQUESTS.items():
            asked.clear()
            tt.mean(data.table, "charge", epsilon=1, **request)
            found[name] = list(asked)
    return found


def answers(place: places.Place, asked: dict[str, list[Asked]]) -> list[Any]:
    """Return the exact answers of a place, as integers in lists."""
    found = []
    for name, request in REQUESTS.items():
        person, by, keys = (request.get(word) for word in ("person", "by", "keys"))
        relation = Relation(
            (), request.get("where"), (person,) if person else (), (by,) if by else ()
        )
        groups = Groups(tuple(parse_keys(keys, 1))) if keys else None
        backend = open_data(
            place["data"], "charge", relation, table=place.get("table"), groups=groups
        )
        found += [canonical(backend.on(about).answer(query)) for about, query in asked[name]]
        backend.close()
    return found


def summary(found: list[Any]) -> str:
    """Return how many questions and integers there are, and a hash of all of them."""
    digest = hashlib.sha256(repr([_ordered(each) for each in found]).encode()).hexdigest()[:16]
    return f"{len(found)} questions, {sum(map(_count, found)):,} integers, {digest}"


def _ordered(answer: Any) -> Any:
    return sorted(answer.items()) if isinstance(answer, dict) else answer


def _count(answer: Any) -> int:
    if isinstance(answer, list):
        return sum(map(_count, answer))
    return len(answer) if isinstance(answer, dict) else 1


def _postgres(data: Dataset, folder: Path) -> places.Place:
    return places.Postgres(start_server("same-integers").get_uri()).table(data, folder)


#: Places that answer in this process, and those that have a server or a session.
PLACES: dict[str, Callable[[Dataset, Path], places.Place]] = {
    "memory": places.arrow,
    "DuckDB": places.duckdb_table,
    "PostgreSQL": _postgres,
    "ClickHouse": places.clickhouse,
    "Spark": places.spark_rows,
}
CONNECT = "Spark Connect"


def through_connect() -> str:
    """Return what a client of Spark Connect prints: it shares no process with the classic one."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.backends.same_integers"]
    done = subprocess.run(
        [*command, connect_address()], capture_output=True, text=True, check=False, cwd=ROOT
    )
    lines = done.stdout.splitlines()
    return lines[-1] if done.returncode == 0 and lines else f"failed: {done.stderr[-2000:]}"


def client(address: str) -> str:
    """Answer through Spark Connect, and return the summary."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote(address).getOrCreate()
    data = records()
    places.local_session = lambda: spark
    return summary(answers(places.spark_rows(data, Path()), questions(data)))


def main(chosen: list[str]) -> int:
    """Print a line for each place, and return how many differ from memory."""
    if chosen and chosen[0].startswith("sc://"):
        print(client(chosen[0]))
        return 0
    data = records()
    asked = questions(data)
    wanted = summary(answers(places.arrow(data, Path()), asked))
    differ = 0
    for name in chosen or (*PLACES, CONNECT):
        with tempfile.TemporaryDirectory() as folder:
            found = (
                through_connect()
                if name == CONNECT
                else summary(answers(PLACES[name](data, Path(folder)), asked))
            )
        print(f"{name:14} {found}{'' if found == wanted else '  DIFFERS'}", flush=True)
        differ += found != wanted
    return differ


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
