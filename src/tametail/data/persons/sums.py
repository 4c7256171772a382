"""Exact sums of doubles, one for each person, whatever the order in which records come.

Every finite double is a whole multiple of 2**-1074. A sum is kept as an integer in words of 32
bits: word k counts multiples of 2**(32 k - 1074). A record adds to three neighboring words, in
64-bit integers, so nothing is rounded before :meth:`ExactSums.read`, and what that returns follows
from the exact sum alone.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tametail.data.kernels import native
from tametail.data.kernels.plain import WORD_BITS, WORDS
from tametail.doubles import LARGEST

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: Bits of a word, and the digits that it holds once carries are done.
BITS = WORD_BITS
DIGITS = (1 << BITS) - 1

#: The exponent of the least bit of word 0: the smallest double.
LEAST_EXPONENT = -1074

#: Digits of the words that a double is read from: 65 bits or more, of which it keeps 53.
WORDS_READ = 3

#: Rows that are taken apart at a time, to bound memory, and persons whose sums are read, so that
#: their words stay in a processor's cache: all at once took three times as long.
_PART, _READ = 1 << 18, 1 << 14


class ExactSums:
    """Sums and numbers of records by person: an accumulator.

    A person has a row of integers: the number of records, and one for each word that occurs.

    >>> sums = ExactSums()
    >>> sums.add(np.array([0, 1, 0, 0, -1]), np.array([1e300, 2.5, 1.0, -1e300, 7.0]), persons=2)
    >>> sums.read().tolist(), sums.counts.tolist()
    ([1.0, 2.5], [3, 1])
    """

    def __init__(self) -> None:
        self._persons = 0
        self._slots = np.zeros(WORDS, dtype=np.int64)  # where in a row a word is; 0: nowhere
        self._table: Integers = np.zeros((0, 1), dtype=np.int64)

    def add(self, persons_of: Integers, numbers: Floats, persons: int) -> None:
        """Add numbers to the sums of the persons of these codes, each below ``persons``.

        An infinity counts as the largest double. What is missing (NaN), and what belongs to nobody
        (a negative code), is left out.
        """
        self._persons = max(self._persons, persons)
        loops = native.loops()
        for start in range(0, len(numbers), _PART):
            part = slice(start, start + _PART)
            codes, values = persons_of[part], numbers[part]
            self._make_room(loops.words_of(codes, values))
            loops.add_digits(codes, values, self._slots, self._table)

    def _make_room(self, words: Integers) -> None:
        """See that every person has a row, and every word a place in it."""
        new = words[self._slots[words] == 0]
        rows, width = self._table.shape
        if self._persons <= rows and not len(new):
            return
        if self._persons > rows:
            # Twice as many, so that many small chunks copy no more than a few large ones.
            rows = max(self._persons, 2 * rows)
        larger = np.zeros((rows, width + len(new)), dtype=np.int64)
        larger[: len(self._table), :width] = self._table
        self._slots[new] = width + np.arange(len(new))
        self._table = larger

    @property
    def counts(self) -> Integers:
        """The number of records of every person."""
        counts: Integers = self._table[: self._persons, 0]
        return np.concatenate([counts, np.zeros(self._persons - len(counts), dtype=np.int64)])

    @property
    def bytes(self) -> int:
        """How much memory this takes."""
        return int(self._table.nbytes)

    def read(self) -> Floats:
        """Return every sum as a double, within one unit in the last place of the exact one.

        A sum beyond all doubles is the largest one.
        """
        found = np.zeros(self._persons)
        words = np.flatnonzero(self._slots)
        if len(words):
            for start in range(0, min(self._persons, len(self._table)), _READ):
                part = self._table[start : min(start + _READ, self._persons)]
                found[start : start + len(part)] = self._read(part, words)
        return found

    def _read(self, table: Integers, occurring: Integers) -> Floats:
        lowest, highest = int(occurring[0]), int(occurring[-1])
        nothing = np.zeros(len(table), dtype=np.int64)
        # Carries of 64-bit sums reach two words further; the last one says the sign.
        places = [self._slots[word] if word < WORDS else 0 for word in range(lowest, highest + 4)]
        words = [table[:, place] if place else nothing for place in places]
        sign = np.where(_digits(words)[1] < 0, -1, 1)
        digits, _ = _digits([sign * word for word in words])
        sizes = _to_doubles(digits, lowest)
        return np.minimum(sizes, LARGEST) * sign


def _digits(words: list[Integers]) -> tuple[list[Integers], Integers]:
    """Carry: return words between 0 and 2**32 - 1, and what is left above the last."""
    carry, digits = np.zeros_like(words[0]), []
    for word in words:
        whole = word + carry
        digits.append(whole & DIGITS)
        carry = whole >> BITS
    return digits, carry


def _to_doubles(digits: list[Integers], lowest: int) -> Floats:
    """Read the highest digits that are not 0, and the two words below them."""
    size = np.zeros(len(digits[0]))
    taken, last = np.zeros((2, len(size)), dtype=np.int64)
    for word in range(len(digits) - 1, -1, -1):
        digit = digits[word]
        takes = ((taken > 0) | (digit != 0)) & (taken < WORDS_READ)
        size = np.where(takes, size * (DIGITS + 1) + digit, size)
        last[takes] = word
        taken += takes
    with np.errstate(all="ignore"):
        return np.ldexp(size, BITS * (last + lowest) + LEAST_EXPONENT)
