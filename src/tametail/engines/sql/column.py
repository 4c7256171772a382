"""One number for each record of a database: exact answers, of which only integers travel.

Count, cells and clipped sums are one row; the profile around a centre is one GROUP BY with a row
for each bin that holds records; the centre needs a secret sample. Where the database is a library
in this process there is nothing to travel, and its arrays go through the kernel as they lie: that
is several times cheaper than its own GROUP BY (docs/decisions/0170-databases.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from tametail.engines.cells import Floats, arrow_to_floats
from tametail.engines.kernels.passes import Passes
from tametail.engines.kernels.plain import BINS
from tametail.engines.kernels.profile import Profile, conclude
from tametail.engines.local import LocalEngine
from tametail.engines.sampling import Sampler
from tametail.engines.sql.dialects import LARGEST_CENTRE, Dialect
from tametail.engines.sql.records import Records
from tametail.engines.sql.sessions import Row, Session
from tametail.engines.tables import Tell, cut
from tametail.errors import DataError, InternalError
from tametail.queries.column import ClippedSum, Count, DistanceSum, Median, Squares, TailNodes
from tametail.queries.groups import Cells
from tametail.queries.query import Exact, Query
from tametail.queries.rows import Rows

#: If more coins than this would have to be sent, rows are numbered instead.
_MOST_COINS = 1 << 16

CHANGES = (
    "the data have other rows each time they are read, although one snapshot is read: a view with "
    "a random part, or one that looks elsewhere. Copy it to a table, and pass that."
)


class SqlColumn:
    """Answers queries over the numbers of some records."""

    def __init__(self, session: Session, records: Records, name: str) -> None:
        self.columns: tuple[str, ...] = (name,)
        self._session = session
        self._records = records
        self._profiles: dict[float, Profile] = {}
        self._count: int | None = None

    @property
    def locator(self) -> str | None:
        """Where the table lies, for a ledger."""
        return self._session.locator

    @property
    def reading(self) -> str:
        """How the records are read, in the words of a plan."""
        return reading(self._session)

    def close(self) -> None:
        """End the session."""
        self._session.close()

    @cached_property
    def size(self) -> int:
        """The number of records, missing ones included."""
        ((rows,),) = self._session.rows(f"SELECT count(*) FROM {self._records.rows}")
        return int(rows)

    def answer(self, query: Query[object]) -> Exact:
        """Return the exact answer to ``query``, in at most one pass over the records."""
        match query:
            case Count() | Rows():
                numbers, others, left_out = self._counts
                is_count = isinstance(query, Count)
                return self._counts if is_count else (numbers + others, left_out)
            case Cells():
                return self._cells(query)
            case ClippedSum():
                return self._clipped_sum(query)
            case Median() if not self._session.in_process:
                everybody = Median(0, query.low, query.high)
                return Passes().answer(everybody, lambda _: [self._sample(query.halvings)])
            case TailNodes() | Squares() | DistanceSum() if self._is_computable(query.centre):
                if query.centre not in self._profiles:
                    self._profiles[query.centre] = self._profile(query.centre)
                return conclude(query, self._profiles[query.centre])
            case _:
                return self._streamed.answer(query)

    def rows(self, start: int, stop: int) -> SqlColumn:
        """Refuse: rows have no stable positions, so no two asks can share the budget by them."""
        raise InternalError(f"rows {start}..{stop} of a database have no stable positions.")

    def column(self, index: int) -> SqlColumn:
        """Return the engine itself: there is one column."""
        if index:
            raise InternalError(f"there is no column number {index}.")
        return self

    @cached_property
    def _streamed(self) -> LocalEngine:
        """The engine of this machine, over the numbers as they stream by."""
        return LocalEngine(NumbersTable(self._session, self._records, self.columns))

    def _is_computable(self, centre: float) -> bool:
        return not self._session.in_process and abs(centre) < LARGEST_CENTRE

    @cached_property
    def _counts(self) -> tuple[int, int, int]:
        records = self._records
        ((rows, numbers),) = self._session.rows(
            f"SELECT count(*), {how_many(records.present)} FROM {records.relation}"
        )
        present = int(numbers or 0)
        return present, int(rows) - present - self._left_out, self._left_out

    @cached_property
    def _left_out(self) -> int:
        if self._records.left_out is None:
            return 0
        ((rows,),) = self._session.rows(self._records.left_out)
        return int(rows)

    def _cells(self, query: Cells) -> tuple[int, ...]:
        (found,) = self._session.rows(
            f"SELECT {cells_text([self._number(cut) for cut in query.cuts])} "
            f"FROM {self._records.relation} WHERE {self._records.present}"
        )
        return cells_answer(found)

    def _clipped_sum(self, query: ClippedSum) -> tuple[int, ...]:
        dialect = self._session.dialect
        ends = {name: self._number(end) for name, end in lattice_ends(query, dialect).items()}
        terms = ticks_text(dialect, ends)
        ((total, count),) = self._session.rows(
            f"SELECT sum({terms}), count(*) "
            f"FROM {self._records.relation} WHERE {self._records.present}"
        )
        return clipped_answer(query, total, count)

    def _number(self, number: float) -> str:
        return self._session.dialect.number(number)

    def _profile(self, centre: float) -> Profile:
        """Count the distances from ``centre`` by their top 16 bits, and add up the next 28."""
        dialect, records = self._session.dialect, self._records
        distance = dialect.bits.format(y=f"x - {self._number(centre)}")
        found = self._session.rows(
            f"SELECT {dialect.bin.format(b='b')} AS bin, count(*), "
            f"sum({dialect.rest.format(b='b')}) FROM (SELECT {distance} AS b "
            f"FROM {records.relation} WHERE {records.present}{dialect.barrier}) AS d GROUP BY 1"
        )
        return profile_of(found)

    def _sample(self, halvings: int) -> Floats:
        """Return the numbers among the records of a secret sample, by coins for their places.

        Coins are drawn here, for every place in which a record can be; the records of the places
        that fell into the sample are asked for (docs/proofs/databases.md).
        """
        if halvings == 0:
            return self._numbers(f"SELECT x FROM {self._records.relation}")
        places = self._session.places() if self._records.slot else None
        if places is None or places.count >> halvings > _MOST_COINS:
            return self._sample_by_number(halvings)
        coins = Sampler(halvings).pick(places.count)
        blocks, within = np.divmod(coins, places.in_block)
        items = ",".join(
            f'"({block},{row + 1})"'
            for block, row in zip(blocks.tolist(), within.tolist(), strict=True)
        )
        chosen = self._session.dialect.member.format(x=self._records.slot, items=items, kind="tid")
        return self._numbers(self._records.among(chosen))

    def _sample_by_number(self, halvings: int) -> Floats:
        """Number the records in the order in which they happen to come, and pick numbers."""
        dialect, rows = self._session.dialect, self.size
        coins = Sampler(halvings).pick(rows) + 1
        # Nobody has the number after the last, unless there are other records than were counted.
        items = ",".join(map(str, [*coins.tolist(), rows + 1]))
        numbered = f"SELECT x, row_number() OVER () AS slot FROM {self._records.relation}"
        chosen = dialect.member.format(x="slot", items=items, kind="bigint")
        found = self._session.rows(f"SELECT x, slot FROM ({numbered}) AS n WHERE {chosen}")
        if any(slot > rows for _, slot in found):
            raise DataError(CHANGES)
        return _floats(x for x, _ in found)

    def _numbers(self, text: str) -> Floats:
        return _floats(x for (x,) in self._session.rows(text))


def profile_of(found: Iterable[Row]) -> Profile:
    """Return the profile from bins with their counts and sums."""
    counts, rests = np.zeros(BINS, dtype=np.int64), np.zeros(BINS, dtype=object)
    for place, count, rest in found:
        counts[int(place)], rests[int(place)] = int(count), int(rest)
    return Profile.of(counts, rests)


def _floats(cells: Iterator[float | None]) -> Floats:
    return np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)


def reading(session: Session) -> str:
    """Say how records are read, in the words of a plan."""
    if session.in_process:
        return f"{session.dialect.name} reads the records; its arrays are added up in this process"
    return f"computed in {session.dialect.name}; integers and a sample for the centre travel"


def how_many(condition: str) -> str:
    """Return the aggregate of how many rows a condition is true for; NULL where there are none.

    A sum of ones: DuckDB counts by CASE or FILTER at half of that speed.
    """
    return f"sum(CAST({condition} AS integer))"


def cells_text(cuts: Sequence[str]) -> str:
    """Return the aggregates of :class:`Cells`: how many records there are, and from each cut on."""
    return ", ".join(["count(*)", *(how_many(f"x >= {cut}") for cut in cuts)])


def cells_answer(found: Row) -> tuple[int, ...]:
    """Return the answer to :class:`Cells` from these aggregates."""
    beyond = [*(int(count or 0) for count in found), 0]
    return tuple(from_here - from_next for from_here, from_next in pairwise(beyond))


#: The least positive double is 2**-1074, and what is not above its half becomes 0.
_VANISHES = -1075


def lattice_ends(query: ClippedSum, dialect: Dialect) -> dict[str, float]:
    """Return what :func:`ticks_text` needs of a lattice.

    The inverse tick, clip points and centre in ticks; and clip points as records are clipped by,
    and what times the inverse becomes 0, where the dialect scales by them.
    """
    lattice = query.lattice

    def scaled(ticks: int) -> float:
        with np.errstate(over="ignore"):  # an infinity clips nothing, and another clip follows
            return float(np.ldexp(float(ticks), lattice.exponent))

    ends = {
        "inverse": 2.0**-lattice.exponent,
        "low": float(lattice.low),
        "high": float(lattice.high),
        "centre": float(lattice.centre),
    }
    if "{vanishing}" not in dialect.scaled:
        return ends
    vanishing = 2.0 ** (lattice.exponent + _VANISHES) if lattice.exponent > 0 else 0.0
    return ends | {
        "least": scaled(lattice.low), "most": scaled(lattice.high), "vanishing": vanishing,
    }  # fmt: skip


def ticks_text(dialect: Dialect, ends: dict[str, str]) -> str:
    """Return floor(clip(x * inverse, low, high)) - centre, so that nothing raises.

    A dialect that raises where a product overflows or vanishes has a guarded form of it
    (docs/proofs/databases.md).
    """
    scaled = dialect.scaled.format(x="x", zero=dialect.number(0.0), **ends)
    ticks = f"floor(least(greatest({scaled}, {ends['low']}), {ends['high']}))"
    return f"{dialect.whole.format(x=ticks)} - {dialect.whole.format(x=ends['centre'])}"


def clipped_answer(query: ClippedSum, total: int | None, count: int) -> tuple[int, ...]:
    """Return the answer to :class:`ClippedSum` from sum and count."""
    whole = int(total or 0)
    return (whole, query.count_weight * int(count)) if query.count_weight else (whole,)


class NumbersTable:
    """The numbers of some records, streamed: a table of one column."""

    in_place = False

    def __init__(self, session: Session, records: Records, columns: tuple[str, ...]) -> None:
        self._session, self._records = session, records
        self.columns = columns

    def rows(self) -> int:
        """Return the number of records."""
        ((rows,),) = self._session.rows(f"SELECT count(*) FROM {self._records.rows}")
        return int(rows)

    def chunks(self, most: int, start: int, stop: int | None, tell: Tell) -> Iterator[Floats]:
        """Yield the numbers as they come; they come in no order."""
        return cut(self._parts(most, tell), start, stop)

    def _parts(self, most: int, tell: Tell) -> Iterator[Floats]:
        text = f"SELECT x FROM {self._records.relation}"
        for (cells,) in self._session.stream(text, ["double"]):
            numbers = arrow_to_floats(cells).reshape(-1, 1)
            for first in range(0, len(numbers), most):
                yield numbers[first : first + most]
        tell(1.0)

    def column(self, index: int) -> NumbersTable:
        """Return the table itself: there is one column."""
        if index:
            raise InternalError(f"there is no column number {index}.")
        return self
