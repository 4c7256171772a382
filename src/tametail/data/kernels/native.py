"""The compiled inner loops, if they were built: same integers as ``plain.py``, in less time.

``_native.c`` is compiled when tametail is installed and a C compiler is there, on x86-64 a second
time for processors of level 3 (AVX2). Everything works without it. No library is believed by its
name: before it is used it must have this version and give the integers of NumPy on hard values.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeVar, cast

import numpy as np
import numpy.typing as npt

from tametail.data.kernels import plain
from tametail.data.kernels.accumulator import LONG_CHUNK, Counts, Floats
from tametail.data.kernels.loops import Binning, Inside, Loops, RowMap
from tametail.queries.rows import Ball

Hashes = npt.NDArray[np.uint64]
Item = TypeVar("Item", bound=np.generic)

#: Of the C source that this module knows how to call.
VERSION: Final = 8

_FOLDER = Path(__file__).parent

#: Rows that the compiled loops map at a time.
_ROWS = 4

#: The bands of bins, of 64, where distances usually are: between 2**-64 and 2**64, of either sign.
_USUAL_BANDS = 1 << 15 | 1 << 16 | 1 << 47 | 1 << 48


def loops() -> Loops:
    """Return the compiled loops, or else those of NumPy."""
    return library() or plain


@lru_cache(maxsize=1)
def library() -> Compiled | None:
    """Return the fastest compiled loops that this processor can run; None if there are none."""
    base = opened(_FOLDER / "_native.so")
    fast = opened(_FOLDER / "_native_v3.so") if base and base.runs_level_3() else None
    return next((found for found in (fast, base) if found and agrees(found)), None)


def opened(path: Path) -> Compiled | None:
    """Return the loops of a library; None if it is not there, or of another version."""
    try:
        found = Compiled(ctypes.CDLL(str(path)))
    except (OSError, AttributeError):
        return None
    return found if found.version() == VERSION else None


class Compiled:
    """The loops of one library."""

    longest = LONG_CHUNK

    def __init__(self, library: ctypes.CDLL) -> None:
        address, number, real = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
        bands, ball = ctypes.c_uint64, [address, number, number, *[address] * 4, number, address]

        def declare(
            name: str, result: type | None, arguments: Sequence[type]
        ) -> Callable[..., int]:
            function = getattr(library, f"tametail_{name}")
            function.restype, function.argtypes = result, arguments
            return cast("Callable[..., int]", function)

        self.version = declare("version", number, [])
        self.runs_level_3 = declare("level_3", number, [])
        self.scratch = declare("profile_scratch", number, [])
        self.missing = declare("missing", number, [address, number])
        self.distances = declare("subtract", None, [address, number, real, address])
        self.clipped = declare("clipped", None, [address, number, *[real] * 4, address])
        profile = [address, number, real, address, address, bands]
        self.profile = declare("profile", bands, profile)
        self.beyond = declare(
            "beyond", None, [address, number, number, *[address] * 3, number, address]
        )
        self.norms = declare("norms", None, [*ball, address, address])
        self.ball = declare("ball", number, [*ball, real, *[address] * 4])
        self.words = declare("words", None, [address, address, number, address])
        self.digits = declare("digits", None, [address, address, number, address, number, address])
        table = [bands, number, address, address, number, number]
        self.numbered = declare("number", number, [address, address, number, number, *table])
        self.renumbered = declare("renumber", None, [address, number, address, number, bands])
        self.hashed = declare("hash_texts", None, [address, address, number, address, address])
        texts = [*[address] * 3, number, number, address, number, *[address] * 5, *[number] * 3]
        self.numbered_texts = declare("number_texts", number, texts)
        self.renumbered_texts = declare("renumber_texts", None, [address, number, address, number])

    def count_present(self, chunk: Floats) -> int:
        """Count the values that are not NaN."""
        chunk = _plain(chunk)
        return chunk.size - int(self.missing(_address(chunk), chunk.size))

    def subtract(self, chunk: Floats, center: float) -> Floats:
        """Return the distances from a center."""
        chunk, found = _plain(chunk), np.empty(chunk.size)
        self.distances(_address(chunk), chunk.size, center, _address(found))
        return found

    def clipped_sum(
        self, chunk: Floats, inverse_tick: float, ends: tuple[float, float, float]
    ) -> tuple[int, int]:
        """Return the sum and the count of :func:`plain.clipped_sum`."""
        chunk, (low, center, high) = _plain(chunk), ends
        result = np.empty(2, dtype=np.int64)
        self.clipped(_address(chunk), chunk.size, inverse_tick, low, high, center, _address(result))
        return int(result[0]), chunk.size - int(result[1])

    def count_beyond(self, rows: Floats, centers: Floats, steps: Floats, seen: Counts) -> None:
        """Add to the counts of :func:`plain.count_beyond`."""
        found = _steps_by_bin(steps.tobytes())
        if found is None:
            plain.count_beyond(rows, centers, steps, seen)
            return
        rows, (base, edges), (n_columns, width) = _plain(rows), found, seen.shape
        places = [_address(part) for part in (centers, base, edges)]
        self.beyond(_address(rows), len(rows), n_columns, *places, width, _address(seen))

    def words_of(self, codes: Counts, values: Floats) -> Counts:
        """Return the words of :func:`plain.words_of`."""
        values, codes = _plain(values), np.ascontiguousarray(codes)
        used = np.zeros(plain.WORDS, dtype=np.int64)
        self.words(_address(codes), _address(values), codes.size, _address(used))
        words = np.flatnonzero(used)
        return np.unique(np.concatenate([words, words + 1, words + 2]))

    def add_digits(self, codes: Counts, values: Floats, slots: Counts, table: Counts) -> None:
        """Add to the table of :func:`plain.add_digits`."""
        values, codes = _plain(values), np.ascontiguousarray(codes)
        places = _address(slots), table.shape[1], _address(table)
        self.digits(_address(codes), _address(values), codes.size, *places)

    def number(self, ids: Counts, codes: Counts, done: int, slots: Slots, *, more: bool) -> int:
        """Give ids their codes from row ``done`` on; return how far there was room for new ones."""
        most = len(slots.table) // 2
        return self.numbered(
            _address(ids), _address(codes), done, len(ids), slots.factor, slots.bits,
            _address(slots.table), _address(slots.count), most, more,
        )  # fmt: skip

    def renumber(self, slots: Slots, larger: Slots) -> None:
        """Move ids and codes to a larger table, which is empty."""
        self.renumbered(
            _address(slots.table), slots.bits, _address(larger.table), larger.bits, slots.factor
        )

    def hash_texts(self, texts: Texts, key: Hashes) -> Hashes:
        """Return a hash of every text that whoever does not know the key cannot foresee."""
        found = np.empty(len(texts), dtype=np.uint64)
        self.hashed(*texts.places, len(texts), _address(key), _address(found))
        return found

    def number_texts(
        self, texts: Texts, codes: Counts, done: int, slots: TextSlots, *, more: bool
    ) -> int:
        """Give texts their codes from row ``done`` on; return how far there was room for new ones.

        There is more room when it returns, if not for all of them.
        """
        reached = self.numbered_texts(
            *texts.places, _address(codes), done, len(texts), _address(slots.key), slots.bits,
            *slots.places, len(slots.hashes), len(slots.kept), more,
        )  # fmt: skip
        if reached < len(texts) and len(slots) < len(slots.hashes):
            slots.make_room(int(texts.ends[reached + 1] - texts.ends[reached]))
        elif reached < len(texts):
            slots.make_larger()
            table = _address(slots.table)
            self.renumbered_texts(_address(slots.hashes), len(slots), table, slots.bits)
        return reached

    def binning(self, center: float) -> CompiledBinning:
        """Return what adds chunks to a profile."""
        return CompiledBinning(self, center)

    def row_map(self, ball: Ball) -> CompiledRowMap:
        """Return what maps rows."""
        return CompiledRowMap(self, ball)


@dataclass(slots=True)
class Slots:
    """A table of whole ids and their codes; where an id lies depends on a secret factor."""

    factor: int
    bits: int
    count: Counts
    table: Counts

    @classmethod
    def empty(cls, factor: int, bits: int, count: Counts | None = None) -> Slots:
        """Return a table of 2**bits slots, each an id and its code plus 1."""
        table = np.zeros((1 << bits, 2), dtype=np.int64)
        return cls(factor, bits, np.zeros(1, dtype=np.int64) if count is None else count, table)


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts of any bytes, one after the other: text i ends at ``ends[i + 1]``."""

    ends: Counts
    data: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.ends) - 1

    @property
    def places(self) -> tuple[int, int]:
        """Where C finds them."""
        return _address(self.ends), _address(self.data)


class TextSlots:
    """A table of the hashes of known texts and their codes, and the texts themselves."""

    def __init__(self, key: Hashes, bits: int) -> None:
        self.key, self.bits = key, bits
        self.count = np.zeros(1, dtype=np.int64)
        self.table: Hashes = np.zeros(1 << bits, dtype=np.uint64)
        self.hashes: Hashes = np.empty(1 << bits - 1, dtype=np.uint64)
        self.ends: Counts = np.zeros((1 << bits - 1) + 1, dtype=np.int64)
        self.kept = np.empty(16 << bits - 1, dtype=np.uint8)

    def __len__(self) -> int:
        return int(self.count[0])

    @property
    def bytes(self) -> int:
        """How much memory this takes; what is not written yet takes none."""
        return self.table.nbytes + 16 * len(self) + int(self.ends[len(self)])

    @property
    def places(self) -> list[int]:
        """Where C finds what is known."""
        table, hashes, kept = (_address(each) for each in (self.table, self.hashes, self.kept))
        return [table, hashes, _address(self.ends), kept, _address(self.count)]

    def make_room(self, length: int) -> None:
        """Make room for one more text of this length, and for as many bytes again."""
        used = int(self.ends[len(self)])
        self.kept = _longer(self.kept[:used], 2 * len(self.kept) + length)

    def make_larger(self) -> None:
        """Make a table for twice as many texts, which is empty."""
        self.bits += 1
        self.table = np.zeros(1 << self.bits, dtype=np.uint64)
        self.hashes = _longer(self.hashes, 1 << self.bits - 1)
        self.ends = _longer(self.ends, (1 << self.bits - 1) + 1)


def _longer(array: npt.NDArray[Item], size: int) -> npt.NDArray[Item]:
    """Return a longer array that begins with this one."""
    longer = np.empty(size, dtype=array.dtype)
    longer[: len(array)] = array
    return longer


@lru_cache(maxsize=4)
def _steps_by_bin(steps: bytes) -> tuple[Counts, Floats] | None:
    """Return how many steps a distance reaches by its top 16 bits, and the step that is unsure.

    None if a bin has two of these, or a step is not above 0.
    """
    values = np.frombuffer(steps)
    starts = (np.arange(1 << 15, dtype=np.uint64) << np.uint64(48)).view(np.float64)
    infinite = 0x7FF << 4
    reached = np.zeros(1 << 15, dtype=np.int64)  # none for NaN, beyond the infinite bin
    reached[: infinite + 1] = np.searchsorted(values, starts[: infinite + 1], side="right")
    edges = np.full(1 << 15, np.nan)  # which no distance reaches, not even an infinite one
    bins = values.view(np.int64) >> 48
    off = values > starts[np.maximum(bins, 0)]
    if values[0] <= 0 or np.unique(bins[off]).size < np.count_nonzero(off):
        return None
    edges[bins[off]] = values[off]
    return reached, edges


def _binning(center: float) -> Binning:
    return loops().binning(center)


def _row_map(ball: Ball) -> RowMap:
    return loops().row_map(ball)


class CompiledBinning:
    """As :class:`plain.Binning`, with tables that are empty between chunks."""

    def __init__(self, loops: Compiled, center: float) -> None:
        self.loops, self.center = loops, center
        self.scratch = np.zeros(loops.scratch(), dtype=np.uint64)
        self.bands = _USUAL_BANDS

    def __reduce__(self) -> tuple[Callable[[float], Binning], tuple[float]]:
        return _binning, (self.center,)  # another process has loops of its own

    def add(self, chunk: Floats, tables: Counts) -> None:
        """Add to ``tables``, which have a count and a sum for every bin."""
        chunk = _plain(chunk)
        places = _address(self.scratch), _address(tables)
        self.bands = self.loops.profile(
            _address(chunk), chunk.size, self.center, *places, self.bands
        )


class CompiledRowMap:
    """As :class:`plain.RowMap`, four rows at a time."""

    def __init__(self, loops: Compiled, ball: Ball) -> None:
        self.loops, self.ball = loops, ball
        self.lows, self.highs = (np.array(ends) for ends in ball.ends)
        self.centers, self.inverse = np.array(ball.centers), np.array(ball.inverse_ticks)
        self.ticks = np.empty((_ROWS, ball.n_columns))
        parts = self.centers, self.inverse, self.lows, self.highs
        self.fixed = ball.n_columns, *map(_address, parts), ball.order, _address(self.ticks)

    def __reduce__(self) -> tuple[Callable[[Ball], RowMap], tuple[Ball]]:
        return _row_map, (self.ball,)

    def norms(self, chunk: Floats) -> Floats:
        """Return the norm of every row."""
        chunk, norms = _plain(chunk), np.empty(len(chunk))
        missing = np.zeros(self.ball.n_columns, dtype=np.int64)
        places = _address(norms), _address(missing)
        self.loops.norms(_address(chunk), len(chunk), *self.fixed, *places)
        return norms

    def inside(self, chunk: Floats, bound: float) -> Inside:
        """Add up the rows whose norm is at most the bound."""
        chunk, sums = _plain(chunk), np.zeros((2, self.ball.n_columns))
        missing = np.zeros(self.ball.n_columns, dtype=np.int64)
        far = np.empty(len(chunk), dtype=np.int64)
        places = [_address(part) for part in (sums[0], sums[1], missing, far)]
        found = self.loops.ball(_address(chunk), len(chunk), *self.fixed, bound, *places)
        added, squares = sums.astype(np.int64)
        return Inside(added, squares, missing, far[:found])

    def far(self, rows: Floats) -> Floats:
        """Return some rows in ticks."""
        with np.errstate(all="ignore"):
            ticks = np.rint((rows - self.centers) * self.inverse)
            ticks[np.isnan(ticks)] = 0.0
        clipped: Floats = np.clip(ticks, self.lows, self.highs)
        return clipped


#: Values on which a compiler that takes liberties would err: what is not a number, infinite,
#: subnormal, between two integers, or at the end of a range.
_HARD = np.array(
    [
        *(np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, 0.5, -0.5),
        *(1.5, -2.5, 0.1, -1.0, 2.0**53, 1e308, -1e308, 1.7976931348623157e308, 3.0, -7.25, 1e-160),
    ]
)


def agrees(compiled: Compiled) -> bool:
    """Say whether the loops give NumPy's integers, in vectors and in what is left over."""
    signalling = np.array([0x7FF0000000000001], dtype=np.uint64).view(np.float64)
    values = np.concatenate([_HARD, signalling, _HARD[::-1], _HARD[3:]])
    results = (_results(compiled, values), _results(plain, values))
    same = all(np.array_equal(one, other) for one, other in zip(*results, strict=True))
    return same and _numbers_exactly(compiled) and _numbers_texts(compiled)


def _numbers_exactly(compiled: Compiled) -> bool:
    """Say whether ids get their codes: each its own, also when the table is made larger."""
    different = [0, -1, 1, 2**63 - 1, -(2**63), 2**32, 2**53, 2**53 + 1, 1 << 40, 3 << 40]
    ids, codes = np.array([*different, *different]), np.zeros(20, dtype=np.int64)
    codes[3] = -1  # nobody
    small = Slots.empty(0x9E3779B97F4A7C15, bits=3)
    done = compiled.number(ids, codes, 0, small, more=True)
    larger = Slots.empty(small.factor, 5, small.count)
    compiled.renumber(small, larger)
    last = compiled.number(ids, codes, done, larger, more=True)
    others = np.zeros(2, dtype=np.int64)
    compiled.number(np.array([7, 1]), others, 0, larger, more=False)
    expected = [0, 1, 2, -1, *range(3, 9), 0, 1, 2, 9, *range(3, 9), -2, 2]
    return (done, last) == (5, 20) and [*codes.tolist(), *others.tolist()] == expected


#: A key; a text with what SipHash-1-3 is of it, where low bytes come first; and two texts that have
#: one slot and one half of a hash, which whoever knows the key can find.
_SIP_KEY = np.array([0x0706050403020100, 0x0F0E0D0C0B0A0908], dtype=np.uint64)
_SIP_TEXT, _SIP_HASH = bytes(range(15)), 0xD320D86D2A519956
_ALIKE = b"1435622", b"2688751"


def _numbers_texts(compiled: Compiled) -> bool:
    """Say whether texts get their codes: each its own, also when there is more room for them."""
    words = [b"", b"\0", b"\0\0", b"Ann", b"An", b"Ann\0", *_ALIKE, b"x" * 99, _SIP_TEXT]
    texts = texts_of([*words, *words])
    codes = np.zeros(20, dtype=np.int64)
    codes[3] = -1  # nobody
    slots, done = TextSlots(_SIP_KEY, bits=1), 0
    while done < len(texts):
        done = compiled.number_texts(texts, codes, done, slots, more=True)
    few, others = TextSlots(_SIP_KEY, bits=3), np.zeros(20, dtype=np.int64)
    compiled.number_texts(texts_of(words[:2]), others[:2], 0, few, more=True)
    compiled.number_texts(texts, others, 0, few, more=False)
    expected = [0, 1, 2, -1, *range(3, 9), 0, 1, 2, 9, *range(3, 9)]
    same = codes.tolist() == expected and others.tolist() == [0, 1, *[-2] * 8] * 2
    (hashed,) = compiled.hash_texts(texts_of([_SIP_TEXT]), _SIP_KEY).tolist()
    return same and (sys.byteorder == "big" or hashed == _SIP_HASH)


def texts_of(words: Sequence[bytes]) -> Texts:
    """Return words as C reads them."""
    data = np.frombuffer(b"".join(words), dtype=np.uint8)
    return Texts(np.cumsum([0, *map(len, words)], dtype=np.int64), data)


def _results(loops: Loops, values: Floats) -> list[npt.ArrayLike]:
    found: list[npt.ArrayLike] = [loops.count_present(values), loops.count_present(values[:3])]
    found += [loops.subtract(values, center).view(np.int64) >> 48 for center in (0.1, 2.0**-1022)]
    found = [np.where(np.isnan(values), 0, part) if np.ndim(part) else part for part in found]
    for inverse, ends in ((1.0, (-3.0, 1.0, 4.0)), (2.0**30, (-(2.0**36), 0.0, 2.0**36))):
        found += [loops.clipped_sum(values, inverse, ends)]
    tables = np.zeros((plain.BINS, 2), dtype=np.int64)
    for center in (0.0, 0.1, 2.0**-1022):
        loops.binning(center).add(values, tables)
    tables.reshape(2, -1, 16, 2)[:, -1, 1:] = 0  # the bits of a NaN may differ, and are not used
    found.append(tables)
    cells = values[: values.size // 5 * 5].reshape(-1, 5)
    inverse_ticks = (1.0, 3.7, 0.0, 8.0, 2.0**20)
    limits, floors = (40, 3, 9, 2**21, 1), (2, 30, 1, 0, 2**21)
    for order, clip in ((1, (limits, floors)), (2, (limits, None)), (2, (None, None))):
        ball = Ball((0.0, -0.5, 1.0, 2.0, 1e-160), inverse_ticks, (4, 30), order, *clip)
        inside = loops.row_map(ball).inside(cells, 30.0**order)
        found += [loops.row_map(ball).norms(cells) > 4.0**order]
        found += [inside.sums, inside.squares, inside.missing, inside.far]
    seen = np.zeros((5, 4), dtype=np.int64)
    loops.count_beyond(cells, np.array(ball.centers), np.array([0.3, 2.0, 2.0**60]), seen)
    found.append(seen[:, 1:])
    return [*found, *_totals(loops, values)]


def _totals(loops: Loops, values: Floats) -> list[npt.ArrayLike]:
    """Return the totals of three persons, and of nobody, and the words that they are in."""
    codes = np.arange(values.size) % 4 - 1
    words = loops.words_of(codes, values)
    slots, table = np.zeros(plain.WORDS, dtype=np.int64), np.zeros((3, len(words) + 1), np.int64)
    slots[words] = 1 + np.arange(len(words))
    loops.add_digits(codes, values, slots, table)
    return [words, table]


def _plain(chunk: Floats) -> Floats:
    """Return the chunk as C sees an array: values side by side, in native byte order."""
    return np.require(chunk, dtype=np.float64, requirements=["C", "A"])


def _address(array: npt.NDArray[np.generic]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
