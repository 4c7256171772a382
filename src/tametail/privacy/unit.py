"""Unit of protection: which two data sets are neighbours.

``replace-one``
    One record is changed; the number of records n is public. The paper's relation.
``add-remove``
    One record more or less; the number of records is protected too. A guarantee of epsilon
    under add-remove implies 2 epsilon under replace-one, since a replacement is one removal
    and one addition.
"""

from __future__ import annotations

from enum import StrEnum

from tametail.errors import ParameterError


class Unit(StrEnum):
    """The neighbouring relation of a guarantee.

    >>> Unit.parse("replace-one") is Unit.REPLACE_ONE
    True
    """

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"

    @classmethod
    def parse(cls, value: Unit | str) -> Unit:
        """Return the unit named by ``value``, or say which names exist."""
        try:
            return cls(value)
        except ValueError:
            raise ParameterError(
                f"unit={value!r} is not known: write unit='add-remove' (one record more or less, "
                "the size of the data is protected) or unit='replace-one' (one record changed, "
                "the size is public)."
            ) from None

    @property
    def description(self) -> str:
        """The relation in words, for guarantees."""
        if self is Unit.ADD_REMOVE:
            return "any one record is added or removed"
        return "any one record is replaced by another"
