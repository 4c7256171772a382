"""The neighboring relation: which two data sets are adjacent, as a value that code can ask.

``replace-one``
    One protected thing is changed; their number is public. The paper's relation.
``add-remove``
    One protected thing more or less; their number is protected too. A guarantee of epsilon
    under add-remove implies 2 epsilon under replace-one, since a replacement is one removal
    and one addition.

What is protected is a record, or a person: all records that have the same value in a column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tametail._shown import shown
from tametail.errors import ParameterError


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Adjacency:
    """The neighboring relation of a guarantee, and what one protected thing is.

    A relation of records equals the word that names it: ``plan.adjacency == "add-remove"``.

    >>> Adjacency.parse("replace-one") is Adjacency.REPLACE_ONE
    True
    >>> Adjacency.ADD_REMOVE == "add-remove"
    True
    >>> print(Adjacency.parse("add-remove", person="patient"))
    add-remove, person = patient
    """

    value: str
    """The relation: ``"add-remove"`` or ``"replace-one"``."""
    person: str | tuple[str, ...] | None = None
    """The column, or columns, whose value names a person; None if a record is protected."""

    ADD_REMOVE: ClassVar[Adjacency]
    REPLACE_ONE: ClassVar[Adjacency]

    @classmethod
    def parse(cls, value: object, person: object = None) -> Adjacency:
        """Return the relation of these names, or say which names exist."""
        if isinstance(value, Adjacency) and person is None:
            return value
        for adjacency in (cls.ADD_REMOVE, cls.REPLACE_ONE):
            if isinstance(value, str | Adjacency) and value == adjacency:
                return adjacency if person is None else cls(adjacency.value, _columns(person))
        raise ParameterError(
            f"Invalid neighbors={shown(value)}. Use neighbors='add-remove' (add or remove one "
            "record; the number of records is protected) or neighbors='replace-one' (replace one "
            "record; the number of records is public)."
        )

    @property
    def size_is_public(self) -> bool:
        """Whether the number of protected things is known."""
        return self.value == "replace-one"

    @property
    def keeps_positions(self) -> bool:
        """Whether all other rows stay where they are: a person may have any number of rows."""
        return self.size_is_public and self.person is None

    @property
    def changes(self) -> int:
        """How many protected things differ: 2 for a replacement, one that goes and one that comes.

        So many counts of a histogram move, each by 1.
        """
        return 2 if self.size_is_public else 1

    @property
    def one_way(self) -> bool:
        """Whether all counts move the same way: nothing comes for what goes."""
        return not self.size_is_public

    @property
    def thing(self) -> str:
        """What is protected, in words: ``"record"`` or ``"person"``."""
        return "record" if self.person is None else "person"

    @property
    def description(self) -> str:
        """The relation in words, for guarantees."""
        happens = "replacing" if self.size_is_public else "adding or removing"
        return f"{happens} any {self._one}"

    @property
    def change(self) -> str:
        """The relation in a few words, for a line of a result."""
        return f"{'replace' if self.size_is_public else 'add or remove'} {self._one}"

    @property
    def _one(self) -> str:
        if self.person is None:
            return "one record"
        names = self.person if isinstance(self.person, str) else ", ".join(self.person)
        return f"one person ({names}) with all their records"

    def replaced(self) -> Adjacency:
        """Return the relation in which one protected thing of the same kind is replaced."""
        return self.REPLACE_ONE if self.person is None else Adjacency("replace-one", self.person)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return self.person is None and self.value == other
        if isinstance(other, Adjacency):
            return (self.value, self.person) == (other.value, other.person)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.value if self.person is None else (self.value, self.person))

    def __str__(self) -> str:
        if self.person is None:
            return self.value
        names = self.person if isinstance(self.person, str) else ", ".join(self.person)
        return f"{self.value}, person = {names}"

    def __repr__(self) -> str:
        return f"<Adjacency: {self}>"


Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE = Adjacency("add-remove"), Adjacency("replace-one")

#: The relations whose privacy unit is a record.
RECORD_ADJACENCIES = (Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE)


def _columns(person: object) -> str | tuple[str, ...]:
    """Return the checked names of the columns that name a person."""
    given = person if isinstance(person, list | tuple) else [person]
    names = tuple(name for name in given if isinstance(name, str) and name)
    if names and len(names) == len(given) == len(set(names)):
        return names[0] if len(names) == 1 else names
    raise ParameterError(
        f"Invalid person={shown(person)}. Use the name of the column with the person ID, such as "
        "person='patient', or a list of different columns, such as person=['clinic', 'patient']."
    )
