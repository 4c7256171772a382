"""Exact sums of doubles, one for each person, whatever the order in which records come.

Every finite double is a whole multiple of 2**-1074. A sum is kept as an integer in words of 32
bits: word k counts multiples of 2**(32 k - 1074). A record adds to three neighbouring words, in
64-bit integers, so nothing is rounded before :meth:`ExactSums.read`, and what that returns follows
from the exact sum alone.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tametail.doubles import LARGEST

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: Bits of a word, and the digits that it holds once carries are done.
BITS = 32
DIGITS = (1 << BITS) - 1

#: The exponent of the least bit of word 0: the smallest double.
LEAST_EXPONENT = -1074

#: Digits of the words that a double is read from: 65 bits or more, of which it keeps 53.
WORDS_READ = 3

#: Rows that are taken apart at a time, to bound memory.
_PART = 1 << 18


class ExactSums:
    """Sums by person: an accumulator.

    >>> sums = ExactSums()
    >>> sums.add(np.array([0, 1, 0, 0]), np.array([1e300, 2.5, 1.0, -1e300]), persons=2)
    >>> sums.read().tolist()
    [1.0, 2.5]
    """

    def __init__(self) -> None:
        self._persons = 0
        self._words: dict[int, Integers] = {}

    def add(self, persons_of: Integers, numbers: Floats, persons: int) -> None:
        """Add numbers to the sums of the persons of these codes, each below ``persons``.

        An infinity counts as the largest double; NaN must not occur.
        """
        self._persons = max(self._persons, persons)
        for word, sums in self._words.items():
            self._words[word] = _grown(sums, self._persons)
        for start in range(0, len(numbers), _PART):
            part = slice(start, start + _PART)
            self._add_part(persons_of[part], np.clip(numbers[part], -LARGEST, LARGEST))

    def _add_part(self, persons_of: Integers, numbers: Floats) -> None:
        first, words = _taken_apart(numbers)
        for lowest in np.unique(first).tolist():
            chosen = first == lowest
            whose = persons_of[chosen]
            for offset, digits in enumerate(words):
                np.add.at(self._word(lowest + offset), whose, digits[chosen])

    def _word(self, word: int) -> Integers:
        if word not in self._words:
            self._words[word] = np.zeros(self._persons, dtype=np.int64)
        return self._words[word]

    def read(self) -> Floats:
        """Return every sum as a double, within one unit in the last place of the exact one.

        A sum beyond all doubles is the largest one.
        """
        if not self._words:
            return np.zeros(self._persons)
        lowest, highest = min(self._words), max(self._words)
        nothing = np.zeros(self._persons, dtype=np.int64)
        # Carries of 64-bit sums reach two words further; the last one says the sign.
        words = [self._words.get(word, nothing) for word in range(lowest, highest + 4)]
        words = [_grown(word, self._persons)[: self._persons] for word in words]
        sign = np.where(_digits(words)[1] < 0, -1, 1)
        digits, _ = _digits([sign * word for word in words])
        sizes = _to_doubles(digits, lowest)
        return np.minimum(sizes, LARGEST) * sign


def _taken_apart(numbers: Floats) -> tuple[Integers, tuple[Integers, Integers, Integers]]:
    """Return the lowest word of every number, and its digits in that and in the next two.

    The 53 bits of a number, moved by up to 31, fill at most 84 bits: two words and 20 bits.
    """
    bits = np.ascontiguousarray(numbers).view(np.int64)
    field = (bits >> 52) & 0x7FF
    mantissa = (bits & ((1 << 52) - 1)) | (np.int64(1) << 52) * (field > 0)
    place = np.maximum(field, 1) - 1
    shift, sign = (place % BITS).astype(np.uint64), np.where(bits < 0, -1, 1)
    low = (mantissa & DIGITS).astype(np.uint64) << shift
    high = ((mantissa >> BITS).astype(np.uint64) << shift) + (low >> np.uint64(BITS))
    words = low & np.uint64(DIGITS), high & np.uint64(DIGITS), high >> np.uint64(BITS)
    one, two, three = (word.astype(np.int64) * sign for word in words)
    return place // BITS, (one, two, three)


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


def _grown(sums: Integers, persons: int) -> Integers:
    if len(sums) >= persons:
        return sums
    # Twice as long, so that many small chunks copy no more than a few large ones.
    larger = np.zeros(max(persons, 2 * len(sums)), dtype=np.int64)
    larger[: len(sums)] = sums
    return larger
