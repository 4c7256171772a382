"""The backend of databases and Spark: exact answers, of which only integers travel.

Counts, cells and clipped sums are one row for each group; the profile around a center is one row
for each bin that holds records; the center needs a secret sample. Where the database is a library
in this process there is nothing to travel, and its arrays go through the kernels as they lie: that
is several times cheaper than its own GROUP BY (decision 0171). What a database cannot compute is
streamed to the backend of this machine.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from tametail.data.cells import Floats
from tametail.data.kernels.passes import Passes
from tametail.data.kernels.profile import NO_RECORDS, Profile, conclude
from tametail.data.local import Local
from tametail.data.persons.spill import memory_limit
from tametail.data.reader import Reader
from tametail.data.relation import Groups, Relation
from tametail.data.sampling import Sampler
from tametail.data.sql.aggregates import AGGREGATES, profile_text, profiles_of
from tametail.data.sql.compiler import Compiler, names_of
from tametail.data.sql.dialects import LARGEST_CENTRE
from tametail.data.sql.persons import persons_text
from tametail.data.sql.sessions import Row, Session
from tametail.data.sql.source import QuerySource
from tametail.data.sql.views import number_of
from tametail.errors import DataError, InternalError
from tametail.keys import Key
from tametail.queries.column import Count, Median, ProfileQuery
from tametail.queries.groups import KeyCounts, Keyed
from tametail.queries.persons import PersonNorm
from tametail.queries.query import Exact, KeysQuery, Query
from tametail.queries.rows import Rows

#: If more coins than this would have to be sent, rows are numbered instead.
_MOST_COINS = 1 << 16

#: Bytes of a row of a group in memory: its number, its code and the order.
_BYTES_OF_A_ROW = 40

CHANGES = (
    "The data change between reads, although one snapshot is read: the view is random or reads "
    "from elsewhere. Copy it to a table, and pass that."
)


class Sql:
    """Answers queries about a relation over a table of a database."""

    def __init__(
        self, session: Session, compiler: Compiler, relation: Relation, local: Local | None = None
    ) -> None:
        self._session, self._compiler, self._rows_here = session, compiler, local
        self.relation = relation
        self._profiles: dict[tuple[Relation, int, float], Profile] = {}
        self._counts: dict[Relation, Exact] = {}
        self._size: list[int] = []  # how many rows the table has, once it is asked

    def on(self, relation: Relation) -> Self:
        """Return the backend for another relation over the same rows; what is found is shared."""
        if relation.span is not None:
            raise InternalError("Rows of a database have no positions that stay.")
        other = copy.copy(self)
        for name in ("_local", "_is_streamed"):
            other.__dict__.pop(name, None)
        other.relation = relation
        return other

    @property
    def is_remote(self) -> bool:
        """Whether the database answers: then it pays to ask several questions at once."""
        return not self._is_streamed

    @property
    def locators(self) -> tuple[str, ...]:
        """Where the records lie, for a ledger."""
        return self._session.locators

    @property
    def reading(self) -> str:
        """How the records are read, in the words of a plan."""
        name = self._session.dialect.name
        several = len(self.relation.columns) > 1 and self.relation.groups is None
        if self._is_streamed or several:
            return f"rows stream from {name} through this process"
        if self._session.in_process:
            return f"{name} reads the records; its arrays are added up in this process"
        return f"computed in {name}; integers and a sample for the center travel"

    @property
    def units(self) -> tuple[str | None, ...]:
        """What the columns are measured in: nothing is known, as durations are refused."""
        return (None,) * len(self.relation.values)

    @property
    def conditions(self) -> tuple[bool, ...]:
        """Which of the columns are conditions."""
        return self._compiler.conditions

    def close(self) -> None:
        """End the session."""
        self._session.close()

    @property
    def size(self) -> int:
        """The number of records, missing ones included, or of persons. Public in replace-one."""
        if self._is_streamed:
            return self._streamed(self.relation).size
        source = self._session.source
        if self.relation.person or self.relation.groups is not None:
            source = self.on(self.relation.column(0))._numbers()  # any has as many rows
        ((rows,),) = self._session.rows(f"SELECT count(*) FROM {source}")
        return int(rows)

    # ------------------------------------------------------------------------------------- answers

    def answer(self, query: Query[object]) -> Exact:
        """Return the exact answer to ``query``, in at most one pass over the records."""
        relation = self.relation
        if isinstance(query, Keyed):
            return self.answer_each(query.parts)
        if isinstance(query, Rows) and len(relation.columns) > 1:
            return self.on(relation.column(0)).answer(query)  # any column has as many rows
        if self._is_streamed or not self._is_computed(query):
            return self._local.answer(query)
        if isinstance(query, KeyCounts):
            return self._key_counts(query)
        if isinstance(query, Count | Rows) and relation.groups is not None:
            return self._counted(query)
        return self._answer(query)

    def _counted(self, query: Count | Rows) -> Exact:
        """Count the cells of groups; rows are counted before them, and both take one pass."""
        if self.relation not in self._counts:
            self._counts[self.relation] = self._answer(Count())
        numbers, missing, left_out = cells = self._counts[self.relation]
        return cells if isinstance(query, Count) else (numbers + missing, left_out)

    def _answer(self, query: Query[object]) -> Exact:
        relation = self.relation
        is_one = relation.groups is not None and len(relation.codes) == 1 and not relation.person
        return self._answers([query], relation.codes if is_one else None)[0]

    def answer_each(self, queries: Sequence[Query[object]]) -> list[Exact]:
        """Return the answer to each query about its own group, in one pass for those of a kind."""
        codes = self.relation.codes
        if self._is_streamed:
            return self._local.answer_each(queries)
        found: dict[int, Exact] = {}
        for places in _alike(queries):
            asked, theirs = [queries[place] for place in places], [codes[place] for place in places]
            if self._is_computed(asked[0]):
                answers = self._answers(asked, theirs)
            else:
                answers = self._streamed(self.relation.of(theirs)).answer_each(asked)
            found |= zip(places, answers, strict=True)
        return [found[place] for place in range(len(queries))]

    def _answers(
        self, queries: Sequence[Query[object]], codes: Sequence[int] | None
    ) -> list[Exact]:
        """Return the answers for each of these groups; None: one answer about all rows."""
        first = queries[0]
        if isinstance(first, ProfileQuery):
            return self._from_profiles([q for q in queries if isinstance(q, ProfileQuery)], codes)
        if isinstance(first, KeysQuery):
            return self._keys([q for q in queries if isinstance(q, KeysQuery)], codes)
        aggregate, dialect = AGGREGATES[type(first)], self._session.dialect
        source, names = self._rows([aggregate.constants(query) for query in queries], codes)
        present = "true" if aggregate.of_all_rows else dialect.present.format(x="x")
        text = f"{aggregate.select(dialect, names)} FROM {source} WHERE {present}"
        rows = self._by_code(text, codes)
        return [
            aggregate.read(query, dialect, row) for query, row in zip(queries, rows, strict=True)
        ]

    def _by_code(self, text: str, codes: Sequence[int] | None) -> list[Row]:
        """Return a row of aggregates for each group; an empty one for a group without rows."""
        if codes is None:
            return [self._session.rows(f"SELECT {text}")[0]]
        found = self._session.rows(f"SELECT code, {text} GROUP BY code")
        by_code = {int(code): tuple(rest) for code, *rest in found}
        return [by_code.get(code, ()) for code in codes]

    def _rows(
        self, constants: Sequence[Sequence[float]], codes: Sequence[int] | None
    ) -> tuple[str, list[str]]:
        """Return the rows behind FROM, with x, f and code, and how constants are named there."""
        dialect = self._session.dialect
        written = [[dialect.number(each) for each in own] for own in constants]
        names = [f"e{place}" for place in range(len(constants[0]))]
        if any(own != written[0] for own in written):
            return self._grouped(codes or (), written), names
        source = self._numbers(codes)
        if not dialect.constant:
            return source, written[0]
        items = [
            f"{dialect.constant.format(x=each)} AS {name}"
            for name, each in zip(names, written[0], strict=True)
        ]
        return f"(SELECT {', '.join(['*', *items])} FROM {source}) AS c", names

    def _numbers(self, codes: Sequence[int] | None = None) -> str:
        """Return x and f for each record or person behind FROM; for some codes, with these."""
        relation = self.relation
        if relation.person:
            persons, number = self._persons()
            return f"(SELECT {number} AS x, f FROM {persons}) AS v"
        if relation.groups is None:
            return self._compiler.numbers(relation)
        return self._chosen(relation.groups) if codes is None else self._grouped(codes, None)

    def _chosen(self, groups: Groups) -> str:
        """Return x and f for the records of the groups that the relation is about."""
        rows = self._compiler.numbers(self.relation)
        return self._compiler.chosen(rows, groups, self.relation.codes)

    def _grouped(self, codes: Sequence[int], constants: Sequence[Sequence[str]] | None) -> str:
        """Return x, f, code and constants e0, e1, ... for the records of some groups."""
        relation = self.relation
        if relation.groups is None:
            raise InternalError("The groups are not chosen yet.")
        rows = self._compiler.numbers(relation)
        return self._compiler.coded(rows, relation.groups, codes, constants)

    def _persons(self) -> tuple[str, str]:
        """Return a row for each person behind FROM, and the number of a view."""
        (view,) = self.relation.views
        source = persons_text(self._compiler, self.relation, view.column)
        return source, number_of(view, self._session.dialect)

    def _key_counts(self, query: KeyCounts) -> dict[Key, int]:
        del query  # of records, each of which weighs 1
        relation, compiler = self.relation, self._compiler
        columns, keys = relation.columns, ", ".join(compiler.keys)
        present = compiler.some_number(names_of(len(columns)))
        found = self._session.rows(
            f"SELECT {keys}, count(*) FROM {compiler.records(relation, columns)} "
            f"WHERE {present} AND {compiler.known(compiler.keys)} GROUP BY {keys}"
        )
        return {self._key(cells): int(count) for *cells, count in found}

    def _key(self, cells: Sequence[Any]) -> Key:
        return Key(tuple(cells))

    # ------------------------------------------------------------------------- profiles and samples

    def _from_profiles(
        self, queries: Sequence[ProfileQuery], codes: Sequence[int] | None
    ) -> list[Exact]:
        """Answer from profiles; what an earlier question has found is not asked for again."""
        whole = replace(self.relation, part=None) if codes is not None else self.relation
        places = [-1] if codes is None else list(codes)
        keys = [(whole, place, query.centre) for place, query in zip(places, queries, strict=True)]
        new = [place for place, key in enumerate(keys) if key not in self._profiles]
        if new:
            chosen = None if codes is None else [places[place] for place in new]
            source, (centre,) = self._rows([[queries[place].centre] for place in new], chosen)
            dialect, code = self._session.dialect, "" if codes is None else "code, "
            rows = self._session.rows(profile_text(dialect, source, centre, code))
            found = profiles_of(dialect, rows if code else [(-1, *row) for row in rows])
            for place in new:
                self._profiles[keys[place]] = found.get(places[place], NO_RECORDS)
        return [
            conclude(query, self._profiles[key]) for query, key in zip(queries, keys, strict=True)
        ]

    def _keys(
        self, queries: Sequence[KeysQuery[object]], codes: Sequence[int] | None
    ) -> list[Exact]:
        """Return the keys of a secret sample of each group.

        All records toss the coins that the largest sample asks for; those of other groups then toss
        as many more as theirs asks for. A record is in one group, so that its coins are used once.
        """
        fewest = min(query.halvings for query in queries)
        found = self._sample(fewest, grouped=codes is not None)
        answers = []
        for query, code in zip(queries, [-1] if codes is None else codes, strict=True):
            numbers = found.get(code, np.empty(0))
            sample = numbers[Sampler(query.halvings - fewest).pick(numbers.size)]
            answers.append(_keys_of(sample, query))
        return answers

    def _sample(self, halvings: int, *, grouped: bool) -> dict[int, Floats]:
        """Return the numbers among the records of a secret sample, by group; -1 for all.

        Coins are drawn here, for every place in which a record can be; the records of the places
        that fell into the sample are asked for (docs/proofs/databases.md).
        """
        code = ", code" if grouped else ""
        if halvings == 0:
            source = self._numbers(self.relation.codes if grouped else None)
            return _by_group(self._session.rows(f"SELECT x{code} FROM {source}"))
        relation = self.relation
        is_table = not relation.person
        places = self._session.places() if is_table else None
        if places is None or places.count >> halvings > _MOST_COINS:
            return self._sample_by_number(halvings, code)
        coins = Sampler(halvings).pick(places.count)
        blocks, within = np.divmod(coins, places.in_block)
        items = ",".join(
            f'"({block},{row + 1})"'
            for block, row in zip(blocks.tolist(), within.tolist(), strict=True)
        )
        chosen = self._session.dialect.member.format(x="slot", items=items, kind="tid")
        # No barrier, so that the places are looked up, and all other rows are not computed.
        rows = self._compiler.numbers(relation, slot=True, barrier=False)
        if relation.groups is not None:
            also = ("x", "f", "slot")
            rows = self._compiler.coded(rows, relation.groups, relation.codes, also=also)
        return _by_group(self._session.rows(f"SELECT x{code} FROM {rows} WHERE {chosen}"))

    def _sample_by_number(self, halvings: int, code: str) -> dict[int, Floats]:
        """Number the records in the order in which they happen to come, and pick numbers."""
        source = self._numbers(self.relation.codes if code else None)
        ((rows,),) = self._session.rows(f"SELECT count(*) FROM {source}")
        coins = Sampler(halvings).pick(int(rows)) + 1
        # Nobody has the number after the last, unless there are other records than were counted.
        items = ",".join(map(str, [*coins.tolist(), int(rows) + 1]))
        numbered = f"SELECT x{code}, row_number() OVER () AS slot FROM {source}"
        chosen = self._session.dialect.member.format(x="slot", items=items, kind="bigint")
        found = self._session.rows(f"SELECT slot, x{code} FROM ({numbered}) AS n WHERE {chosen}")
        if any(slot > rows for slot, *_ in found):
            raise DataError(CHANGES)
        return _by_group([row[1:] for row in found])

    # ----------------------------------------------------------------------------- streamed answers

    def _is_computed(self, query: Query[object]) -> bool:
        """Say whether the database answers this by itself, and does not stream its numbers."""
        if isinstance(query, KeyCounts | Rows):
            return True
        if len(self.relation.columns) > 1 and self.relation.view is None:
            return False
        if isinstance(query, KeysQuery | ProfileQuery):
            streams = self._session.in_process and self.relation.groups is None
            return not streams and not _is_far(query)
        return type(query) in AGGREGATES

    @cached_property
    def _is_streamed(self) -> bool:
        """Whether the rows of the relation are read by the backend of this machine."""
        relation = self.relation
        if not self._compiler.is_computable:
            return True
        if relation.person:
            return not self._computes_persons
        return relation.groups is not None and self._session.in_process and self._fits_memory

    @property
    def _computes_persons(self) -> bool:
        relation = self.relation
        wide = self._session.dialect.has_wide_numbers and len(relation.views) == 1
        wide = wide and relation.weights is None  # two sums of a person would take two subqueries
        return wide and not relation.by and not isinstance(relation.view, PersonNorm)

    @property
    def _fits_memory(self) -> bool:
        if not self._size:
            ((rows,),) = self._session.rows(f"SELECT count(*) FROM {self._session.source}")
            self._size.append(int(rows))
        return self._size[0] * _BYTES_OF_A_ROW <= memory_limit()

    @cached_property
    def _local(self) -> Local:
        """The backend of this machine, over rows or numbers as they stream by."""
        relation = self.relation
        alone = len(relation.columns) == 1 and not relation.person and relation.groups is None
        if alone and self._compiler.is_computable:
            text = f"SELECT x FROM {self._compiler.numbers(relation)}"
            return Local(Reader(QuerySource(self._session, text), Relation(("x",))))
        return self._streamed(relation)

    def _streamed(self, relation: Relation) -> Local:
        if self._rows_here is None:
            raise InternalError("Rows are not streamed from here.")
        return self._rows_here.on(relation)


def _alike(queries: Sequence[Query[object]]) -> list[list[int]]:
    """Return the places of queries that can be asked together: of one kind, and computed alike."""
    found: dict[object, list[int]] = {}
    for place, query in enumerate(queries):
        kind = "profile" if isinstance(query, ProfileQuery) else type(query)
        aggregate = AGGREGATES.get(type(query))
        constants = 1 if aggregate is None else len(aggregate.constants(query))
        found.setdefault((kind, constants, _is_far(query)), []).append(place)
    return list(found.values())


def _is_far(query: Query[object]) -> bool:
    """Say whether a difference of some record and the center of a query may overflow."""
    return isinstance(query, ProfileQuery) and abs(query.centre) >= LARGEST_CENTRE


def _keys_of(sample: Floats, query: KeysQuery[object]) -> Exact:
    return Passes().answer(Median(0, query.low, query.high), lambda _: [sample])


def _by_group(rows: Sequence[Row]) -> dict[int, Floats]:
    """Return the numbers of each group, from rows of a number and, if there are groups, a code."""
    if not rows:
        return {}
    cells, *codes = zip(*rows, strict=True)
    numbers = np.array(cells, dtype=np.float64)  # NULL becomes NaN
    if not codes:
        return {-1: numbers}
    whose = np.array(codes[0], dtype=np.int64)
    order = np.argsort(whose, kind="stable")
    found, starts = np.unique(whose[order], return_index=True)
    return dict(zip(found.tolist(), np.split(numbers[order], starts[1:]), strict=True))
