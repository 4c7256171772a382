"""What was asked about groups: columns to group by, keys, and how groups are pooled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tametail._json import Json
from tametail._shown import shown
from tametail._validate import flag, one_of
from tametail.errors import ParameterError
from tametail.keys import Key, parse_keys
from tametail.privacy.adjacency import Adjacency


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups as they were asked for, checked.

    >>> groups = Groups.parse(by="state", keys=["CA", "NY"], other="rest")
    >>> groups.by, [key.label for key in groups.rows]
    (('state',), ['CA', 'NY', 'rest'])
    >>> Groups.from_dict(groups.to_dict()) == groups
    True
    """

    by: tuple[str, ...]
    keys: tuple[Key, ...] | None = None
    """The public keys; None if they are to be chosen privately."""
    other: str | None = None
    """The name of one more group, for all rows without one of the keys."""
    pooling: str | None = "shape"
    simultaneous: bool | None = None
    groups_per_person: Literal[1] | None = None
    """Whether each person is kept to one group, that of most of their rows."""

    @classmethod
    def parse(
        cls,
        by: object = None,
        keys: object = None,
        other: object = None,
        pooling: object = "shape",
        simultaneous: object = None,
        groups_per_person: object = None,
    ) -> Groups | None:
        """Return what was asked about groups; None if there are none."""
        if by is None:
            _check_unused(
                keys=keys, other=other, simultaneous=simultaneous,
                groups_per_person=groups_per_person,
            )  # fmt: skip
            if not isinstance(pooling, str) or pooling != "shape":
                raise ParameterError(
                    "pooling= requires by=, the grouping column. Remove it, or add by='state'."
                )
            return None
        names = _names(by)
        if other is not None and not isinstance(other, str):
            raise ParameterError(
                f"Invalid other={shown(other)}. Use a name, such as other='other'."
            )
        found = cls(
            by=names,
            keys=None if keys is None else parse_keys(keys, len(names)),
            other=other,
            pooling=None if pooling is None else one_of(("shape", "mean"), pooling=pooling),
            simultaneous=None if simultaneous is None else flag(simultaneous=simultaneous),
            groups_per_person=_one_or_none(groups_per_person),
        )
        if found.rest is not None and found.rest in (found.keys or ()):
            raise ParameterError(f"other={shown(other)} is one of the keys. Use another name.")
        return found

    def about(self, **said: object) -> Groups:
        """Return the same for other columns, keys or another name of the rest; None changes none.

        >>> Groups.parse(by="state", keys=["CA"]).about(keys=["CA", "NY"]).by
        ('state',)
        """
        given = {name: value for name, value in said.items() if value is not None}
        if self.keys is None and "keys" in given:
            raise ParameterError(
                "keys= cannot be combined with a plan that selects the groups privately. Make a "
                "plan with keys=."
            )
        return Groups.parse(**(self.to_dict() | given)) or self

    @property
    def rest(self) -> Key | None:
        """The key of all rows without one of the keys, if they are wanted."""
        return None if self.other is None else Key((self.other,) * len(self.by))

    @property
    def rows(self) -> tuple[Key, ...]:
        """The keys of the rows of a release, if they are public."""
        return (*(self.keys or ()), *(() if self.rest is None else (self.rest,)))

    def check(self, adjacency: Adjacency) -> None:
        """Refuse a relation with which groups cannot be protected as cheaply."""
        if adjacency.size_is_public:
            who = "record" if adjacency.person is None else "person"
            raise ParameterError(
                f"by= requires neighbors='add-remove'. Replacing a {who} can change two groups. An "
                "add-remove epsilon implies 2 x epsilon for replacement."
            )
        if self.groups_per_person is not None:
            if adjacency.person is None:
                raise ParameterError(
                    "groups_per_person=1 is about people: add person='patient', the column with "
                    "the person ID, or remove it. Without person= each record is in one group."
                )
            if self.pooling == "mean":
                raise ParameterError(
                    "pooling='mean' is not available with groups_per_person=1. Remove one of them."
                )
        elif adjacency.person is not None and self.pooling is None:
            raise ParameterError(
                "pooling=None with person= is refused: a person may be in many groups, so that "
                "groups cannot be released each alone at the whole budget. Leave pooling= out, or "
                "write groups_per_person=1 if each person belongs to one group."
            )

    def to_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON, which keeps the types of the keys."""
        kept = {"groups_per_person": 1} if self.groups_per_person else {}
        keys = None if self.keys is None else [list(key.cells) for key in self.keys]
        return {
            "by": list(self.by),
            "keys": keys,
            "other": self.other,
            "pooling": self.pooling,
            "simultaneous": self.simultaneous,
            **kept,  # a name of a request does not change as long as nobody says it
        }

    @classmethod
    def from_dict(cls, record: Json | None) -> Groups | None:
        """Undo :meth:`to_dict`."""
        return None if record is None else cls.parse(**record)


def _check_unused(**arguments: object) -> None:
    given = [name for name, value in arguments.items() if value is not None]
    if given:
        raise ParameterError(
            f"{', '.join(f'{name}=' for name in given)} requires by=, the grouping column, such "
            "as by='state'."
        )


def _one_or_none(groups_per_person: object) -> Literal[1] | None:
    if groups_per_person is None:
        return None
    if type(groups_per_person) is int and groups_per_person == 1:
        return 1
    raise ParameterError(
        f"groups_per_person={shown(groups_per_person)} is not supported. Use groups_per_person=1 "
        "if each person belongs to one group; without it, people can be in any number of groups."
    )


def _names(by: object) -> tuple[str, ...]:
    given = tuple(by) if isinstance(by, list | tuple) else (by,)
    names = tuple(name for name in given if isinstance(name, str) and name)
    if names and len(names) == len(given) == len(set(names)):
        return names
    raise ParameterError(
        f"Invalid by={shown(by)}. Use the name of a column, such as by='state', or a list of "
        "different columns, such as by=['state', 'year']."
    )
