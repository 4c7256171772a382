"""Small hostile data sets, and neighbors of them: one record or one person more, less or other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

#: What each role of a column holds.
TYPES = {
    "value": pa.float64(),
    "second": pa.float64(),
    "whole": pa.int64(),
    "text": pa.string(),
    "person": pa.string(),
    "third": pa.float64(),
    "number": pa.int64(),
    "truth": pa.bool_(),
}

#: Names that compilers make up, pseudo-columns, keywords, and text that some language may read.
NAMES = (
    "x", "f", "r", "l", "t", "k", "q", "n", "d", "b", "v", "u", "w", "slot", "code", "bin", "k0",
    "k1", "c0", "c1", "e0", "e1", "a", "ah", "al", "ab", "operand", "operand0", "operand1",
    "operand_0", "tametail", "tametail_records_0", "records", "person", "sum", "count", "key",
    "order", "select", "from", "group", "left", "null", "true", "value", "word", "digit", "rowid",
    "index", "__index_level_0__", "a b", "a.b", "a'b", 'a"b', "a`b", "a\\b", "{x}", "{", "%s", ":x",
    "?", "$1", "--", "/*", ";", "1", "ünï", "\u2028", "*",
)  # fmt: skip

#: Text that every place can hold, and text that some cannot.
TEXTS = (
    "a", "A", "b", "ä", "a\u0308", "a ", " a", "it's", 'a"b', "a\\b", "{", "{x}", "%s", "NULL",
    "nan", "1", "01", "1.0", "true", "abcdefgh", "abcdefghi", "abcdefghj" * 9, "abcdefghj" * 8,
    "\uff5e", "\U0001f600", "\ufeffa", "x,y", "x;y",
)  # fmt: skip
ODD_TEXTS = ("", "a\0b", "a\0", "\0", "a\nb", "a\rb")

NUMBERS = (
    float("nan"), float("nan"), None, float("inf"), float("-inf"), 0.0, -0.0, 5e-324, -2.5e-323,
    2.2250738585072014e-308, 1.7976931348623157e308, -1e300, 1e-300, 1.0, 1.0, -1.0, 2.0, 2.5, 3.0,
    100.0, 100.5, 0.1, 1 / 3, 2.0**53, -(2.0**63), 1e16, 17.0, 1204.0,
)  # fmt: skip


@dataclass(frozen=True)
class Dataset:
    """Columns by role, each under a name of its own."""

    names: dict[str, str]
    columns: dict[str, list[Any]]

    def __len__(self) -> int:
        return len(self.columns["value"])

    @property
    def table(self) -> pa.Table:
        """The columns under their names."""
        return pa.table(
            {self.names[role]: pa.array(cells, TYPES[role]) for role, cells in self.columns.items()}
        )

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The records."""
        return list(zip(*self.columns.values(), strict=True))

    def with_rows(self, rows: list[tuple[Any, ...]]) -> Dataset:
        """Return the data set of other records."""
        cells = zip(*rows, strict=True) if rows else ([] for _ in self.columns)
        return replace(self, columns=dict(zip(self.columns, map(list, cells), strict=True)))

    @property
    def is_portable(self) -> bool:
        """Whether every place can hold the text."""
        odd = set(ODD_TEXTS)
        return not any(odd & set(self.columns[role]) for role in ("text", "person"))


def some_dataset(rng: np.random.Generator, *, odd: bool = False) -> Dataset:
    """Draw a data set whose runs of rows hold numbers, one number, or nothing but NaN."""
    size = int(rng.choice([1, 8, 24, 40]))
    names = [NAMES[place] for place in rng.permutation(len(NAMES))]
    chosen: list[str] = []
    for name in names:  # some databases do not tell upper case from lower case
        if name.lower() not in {each.lower() for each in chosen}:
            chosen.append(name)
    if "*" in chosen[:3]:  # what is averaged must not be called so: it means all records
        chosen.append(chosen.pop(chosen.index("*")))
    texts = [*TEXTS, *ODD_TEXTS] if odd else list(TEXTS)
    few = [texts[place] for place in rng.integers(len(texts), size=4)]
    columns = {
        "value": _numbers(rng, size),
        "second": _numbers(rng, size),
        "whole": _pick(rng, [None, 0, 1, 2, 3, -7, 2**53 + 1, -(2**63), 2**63 - 1], size),
        "text": _pick(rng, [None, *few], size),
        "person": _pick(rng, [None, *few[:3], *texts[:3]], size),
    }
    return Dataset(dict(zip(columns, chosen, strict=False)), columns)


def _pick(rng: np.random.Generator, choices: list[Any], size: int) -> list[Any]:
    return [choices[place] for place in rng.integers(len(choices), size=size)]


def _numbers(rng: np.random.Generator, size: int) -> list[float | None]:
    """Draw numbers in runs of eight, which become row groups of a file."""
    found: list[float | None] = []
    while len(found) < size:
        run = rng.integers(4)
        if run == 0:
            found += [float("nan")] * 8
        elif run == 1:
            found += [NUMBERS[rng.integers(5, len(NUMBERS))]] * 8
        else:
            found += _pick(rng, list(NUMBERS), 8)
    return found[:size]


def some_neighbor(rng: np.random.Generator, data: Dataset, relation: str) -> Dataset:
    """Return the data with one record more or less, or with one record replaced."""
    rows = data.rows
    place = int(rng.integers(len(rows) + 1))
    record = some_record(rng, data)
    if relation == "replace-one" and rows:
        place = min(place, len(rows) - 1)
        return data.with_rows([*rows[:place], record, *rows[place + 1 :]])
    if rng.random() < 0.3 and place < len(rows):
        return data.with_rows([*rows[:place], *rows[place + 1 :]])
    return data.with_rows([*rows[:place], record, *rows[place:]])


def some_record(rng: np.random.Generator, data: Dataset) -> tuple[Any, ...]:
    """Draw a record like those of the data, with a number more often than not."""
    other = some_dataset(rng).columns
    record = {role: cells[0] for role, cells in other.items()}
    record["value"] = NUMBERS[rng.integers(5, len(NUMBERS))]
    for role in ("text", "person"):
        known = [*data.columns[role], None]
        record[role] = known[rng.integers(len(known))]
    return tuple(record[role] for role in data.columns)


def without_person(rng: np.random.Generator, data: Dataset) -> Dataset:
    """Return the data without all records of one person."""
    persons = sorted({cell for cell in data.columns["person"] if cell is not None})
    if not persons:
        return data
    gone = persons[rng.integers(len(persons))]
    place = list(data.columns).index("person")
    return data.with_rows([row for row in data.rows if row[place] != gone])
