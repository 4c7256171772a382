"""What was asked for: columns with what is known about them, budget, unit, and the rest.

A request holds public numbers alone and is checked once, here. It says nothing about how it will
be met: that is the plan's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tametail import statistic as statistics
from tametail._json import Json, not_as_written, read_json
from tametail._shown import shown
from tametail._validate import count, flag, one_of, probability
from tametail.columns import EVERYWHERE, Column, Range, check_length, columns_of
from tametail.errors import ParameterError, TametailError
from tametail.expressions import Expression
from tametail.grouping import Groups
from tametail.parse import Parse, parse_parse
from tametail.privacy.adjacency import Adjacency
from tametail.privacy.budget import Approx, Budget, Pure, Zcdp, parse_budget
from tametail.tail import tail_from_dict

#: Format of the JSON text, and of what is hashed.
FORMAT = 2

#: More records than anyone has.
MOST_RECORDS = 10**15

#: Weaker budgets cannot answer anything: a billion records would still be below the noise.
LEAST_STRENGTH = 1e-6

#: Stronger budgets protect nothing.
GREATEST_STRENGTH = 1e6


@dataclass(frozen=True, slots=True)
class Request:
    """A request for the means of some columns, checked.

    How many columns there are may not be known before the data are opened: ``with_names`` says.

    >>> from tametail.tail import Bounded
    >>> request = Request.parse(epsilon=1, tail=[None, Bounded(0, 9)]).with_names(["paid", "open"])
    >>> request.n_columns, request.columns[1].possible
    (2, (0.0, 9.0))
    >>> Request.from_json(request.to_json()) == request
    True
    """

    columns: tuple[Column, ...]
    budget: Budget
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    missing: str = "skip"
    n: int | None = None
    confidence: float | None = 0.95
    target: str = "population"
    same_scale: bool = False
    each: str = "record"
    n_records: int | None = None
    where: str | None = None
    groups: Groups | None = None
    written: Parse | None = None
    fake: bool = False
    """Whether the records are made up (:mod:`tametail.testing`)."""
    statistic: str = statistics.MEAN
    """What is asked of the column."""
    levels: tuple[float, ...] = ()
    """The levels of quantiles."""
    weights: str | None = None
    """What a record weighs in the mean: a column, or what computes a number."""
    for_any: bool = False
    """Whether the one column stands for as many as the data will turn out to have."""

    @classmethod
    def parse(
        cls,
        *,
        epsilon: object = None,
        delta: object = None,
        rho: object = None,
        budget: object = None,
        tail: object = None,
        within: object = None,
        neighbors: object = Adjacency.ADD_REMOVE,
        missing: object = "skip",
        n: object = None,
        confidence: object = 0.95,
        target: object = "population",
        same_scale: object = False,
        person: object = None,
        each: object = "record",
        n_records: object = None,
        where: object = None,
        by: object = None,
        keys: object = None,
        other: object = None,
        pooling: object = "shape",
        simultaneous: object = None,
        groups_per_person: object = None,
        parse: object = None,
        statistic: object = statistics.MEAN,
        levels: object = None,
        weights: object = None,
    ) -> Request:
        """Check the public arguments, before anything is opened; the first that is wrong is told.

        What is said of columns is said of all of them, or in a list with an entry for each.
        """
        whole = parse_budget(budget, epsilon=epsilon, delta=delta, rho=rho)
        _check_strength(whole)
        wanted = one_of(statistics.STATISTICS, statistic=statistic)
        return cls(
            budget=whole,
            adjacency=Adjacency.parse(neighbors, person),
            missing=one_of(("skip", "none"), missing=missing),
            n=None if n is None else _size(n),
            confidence=None if confidence is None else probability(confidence=confidence),
            # A count is that of the data.
            target="data"
            if wanted == statistics.COUNT
            else one_of(("population", "data"), target=target),
            same_scale=flag(same_scale=same_scale),
            each=one_of(("record", "person"), each=each),
            n_records=None if n_records is None else _size(n_records),
            where=None if where is None else str(Expression.parse_condition(_text(where))),
            columns=columns_of(tail, within),
            groups=Groups.parse(by, keys, other, pooling, simultaneous, groups_per_person),
            written=parse_parse(parse),
            statistic=wanted,
            levels=statistics.parse_levels(wanted, levels),
            weights=None if weights is None else _weights(weights),
            for_any=not isinstance(tail, list) and not isinstance(within, list),
        )

    def __post_init__(self) -> None:
        if not self.columns:
            raise ParameterError("No column is given. Name at least one column.")
        if self.same_scale and self.known_n_columns == 1:
            raise ParameterError("same_scale=True requires several columns. Remove it.")
        self._check_persons()
        if self.groups is not None:
            self._check_groups(self.groups)
        if self.weights is not None:
            self._check_weights()
        if self.statistic != statistics.MEAN:
            self._check_statistic()
        if self.statistic != statistics.COUNT and statistics.RECORDS in self._names:
            raise ParameterError("column='*' stands for all records, which can only be counted.")
        for column in self.columns:
            low, high = column.answer_range
            if low > high:
                also = " That of a condition is between 0 and 1." if column.is_condition else ""
                raise ParameterError(
                    f"within={column.within!r} and tail={column.said!r} do not overlap. The mean "
                    f"must lie within the bounds of the data.{also}"
                )

    def _check_persons(self) -> None:
        if self.adjacency.person is None and (self.each != "record" or self.n_records is not None):
            raise ParameterError(
                "each= and n_records= require person=, the column with the person ID, such as "
                "person='patient'. Add it, or remove them."
            )
        if self.where is not None and self.missing == "none":
            raise ParameterError(
                "missing='none' cannot be combined with where=, because the number of records "
                "that match is private. Remove missing=."
            )
        if self.weighs_records and (self.same_scale or any(one.tail for one in self.columns)):
            raise ParameterError(
                "tail= and same_scale= are not available with person=, except one-sided bounds "
                "such as Bounded(0, None). Remove them, or use each='person'."
            )

    def _check_groups(self, groups: Groups) -> None:
        groups.check(self.adjacency)
        if groups.keys is None and not isinstance(self.budget, Approx):
            of_rho = isinstance(self.budget, Zcdp)
            write = "budget=approx(1, 1e-7)" if of_rho else "delta=1e-7 beside it"
            raise ParameterError(
                "by= without keys= selects the groups privately, which needs a delta. Add "
                f"{write}, or list the groups with keys=['CA', 'NY']."
            )
        if self.same_scale:
            raise ParameterError("same_scale=True is not available with by=. Remove it.")
        if self.adjacency.person is not None and any(column.tail for column in self.columns):
            raise ParameterError(
                "tail= is not available with person= and by=, except one-sided bounds such as "
                "Bounded(0, None). Remove it, or use within=."
            )

    def _check_weights(self) -> None:
        """Refuse what weights do not go with, and say what to write instead."""
        if self.statistic != statistics.MEAN:
            raise ParameterError(
                f"weights= is available for a mean only, not for a {self.statistic}. Remove it. A "
                "weighted sum is the sum of column='weight * charge'."
            )
        if (
            self.known_n_columns or 1
        ) > 1:  # as a plan may say; else whoever opens the data sees it
            raise ParameterError("weights= is available for one column at a time.")
        if self.columns[0].said is not None:
            raise ParameterError(
                "tail= is not available with weights=. Remove it, or clip in the column, such as "
                "column='min(charge, 100000)'."
            )
        if self.each != "record" or self.missing != "skip":
            raise ParameterError(
                "each='person' and missing='none' are not available with weights=. Remove them."
            )
        if self.adjacency.person is not None and self.groups is not None:
            self._check_one_group("weighted mean")

    def _check_one_group(self, asked: str) -> None:
        if self.groups is not None and self.groups.groups_per_person is None:
            raise ParameterError(
                f"A {asked} by group and person is not available, because one person can be in "
                "many groups. Use groups_per_person=1 if each person belongs to one group, or "
                "release one group at a time, such as where=\"state == 'CA'\"."
            )

    def _check_statistic(self) -> None:
        """Refuse what a statistic other than the mean does not go with."""
        asked = self.statistic
        if asked == statistics.REGRESSION:
            self._check_regression()
            return
        if self.same_scale or (self.known_n_columns or 1) > 1:
            raise ParameterError(
                f"A {asked} is released for one column at a time. Pass one column."
            )
        said = self.columns[0].said
        if said is not None and not (asked == statistics.SUM and self.columns[0].half is not None):
            raise ParameterError(
                "tail= is not available for a "
                f"{asked}{', except one-sided bounds' * (asked == statistics.SUM)}. Remove it."
            )
        if self.adjacency.person is not None:
            self._check_statistic_of_persons()
        if self.n is not None:
            statistics.check_levels(self.levels, self.n * self.budget.strength)

    def _check_regression(self) -> None:
        """Refuse what a regression does not go with, and say what to write instead."""
        given = any(one.said is not None or one.within != EVERYWHERE for one in self.columns)
        if given or self.same_scale or self.missing != "skip" or self.target != "population":
            raise ParameterError(
                "tail=, within=, same_scale=, missing= and target= are not available for a "
                "regression. Remove them, or clip in the column, such as y='min(charge, 100000)'."
            )
        if self.known_n_columns == 1:
            raise ParameterError(
                "A regression takes y and at least one column of x, such as y='charge', "
                "x=['age', 'nights']; in a plan, n_columns=3 counts both."
            )
        if any(one.name == statistics.INTERCEPT for one in self.columns[1:]):
            raise ParameterError(
                "A column of x is called 'intercept', as the constant of the regression is. Rename "
                "it, or write x=['1 * intercept']."
            )
        if isinstance(self.budget, Pure):
            raise ParameterError(
                "A regression is not available with epsilon= alone: its noise would grow with the "
                "number of columns squared. Use rho=0.5, or add a delta, such as delta=1e-6."
            )
        if self.adjacency.person is not None:
            raise ParameterError(
                "person= is not available for a regression. Use data with one row per person."
            )
        if self.groups is not None:
            raise ParameterError(
                "by= is not available for a regression. Ask for one group at a time, such as "
                "where=\"state == 'CA'\", or add a condition to x, such as x=['age', \"state == "
                "'CA'\"]."
            )

    def _check_statistic_of_persons(self) -> None:
        asked = self.statistic
        self._check_one_group(asked)
        if asked == statistics.DESCRIBE:
            raise ParameterError(
                "A description with person= is not available. Release mean, sum, count and "
                "quantiles one by one."
            )
        if asked == statistics.QUANTILE and self.each != "person":
            raise ParameterError(
                "A quantile with person= counts every person once, by their own mean. Use "
                "each='person'."
            )
        if asked == statistics.SUM and self.each != "record":
            raise ParameterError("each= is not available for a sum. Remove it.")

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.columns)

    @property
    def known_n_columns(self) -> int | None:
        """The number of columns, if it is known before the data are opened."""
        return None if self.for_any else self.n_columns

    @property
    def one_sided_bounds(self) -> list[Range] | None:
        """Where records are clipped before anything is asked of them, column by column.

        None if no such bound is said, or if a column is taken by itself: its method clips there,
        and can tell whether records lie beyond.
        """
        together = self.same_scale or not isinstance(self.budget, Pure)
        alone = self.known_n_columns == 1 or not together
        if self.groups is None and self.adjacency.person is None and alone:
            return None
        if all(column.half is None for column in self.columns):
            return None
        halves = [column.half for column in self.columns]
        return [EVERYWHERE if half is None else (half.low, half.high) for half in halves]

    @property
    def weighs_records(self) -> bool:
        """Whether persons are protected, and every record counts."""
        return self.adjacency.person is not None and self.each == "record"

    @property
    def wants_spread(self) -> bool:
        """Whether an interval needs second moments of the records."""
        return self.confidence is not None and self.target == "population"

    def about(
        self,
        person: str | Sequence[str] | None,
        where: str | None,
        parse: object = None,
        **groups: object,
    ) -> Request:
        """Return the same request, with what is about the data said now.

        That is the column of persons, the condition, how numbers are written, and which groups
        there are (``by``, ``keys``, ``other``).
        """
        request = self
        if person is not None:
            if self.adjacency.person is None:
                raise ParameterError(
                    "person= requires a plan for people. Use plan(..., person=True)."
                )
            request = replace(request, adjacency=Adjacency.parse(self.adjacency.value, person))
        if where is not None:
            request = replace(request, where=str(Expression.parse_condition(_text(where))))
        if parse is not None:
            request = replace(request, written=parse_parse(parse))
        if any(value is not None for value in groups.values()):
            if self.groups is None:
                raise ParameterError(
                    "by=, keys= and other= require a plan with groups. Use plan(..., by='state', "
                    "keys=['CA', 'NY'])."
                )
            request = replace(request, groups=self.groups.about(**groups))
        return request

    def with_names(self, names: Sequence[str]) -> Request:
        """Return the same request for columns of these names.

        >>> Request.parse(rho=1).with_names(["paid"]).columns[0].name
        'paid'
        """
        columns = list(self.columns * len(names) if self.for_any else self.columns)
        check_length(columns, len(names))
        named = (replace(one, name=name) for one, name in zip(columns, names, strict=True))
        return replace(self, columns=tuple(named), for_any=False)

    def measured(self, measures: Sequence[str | None]) -> Request:
        """Return the same request for columns that are measured in these units."""
        columns = zip(self.columns, measures, strict=True)
        return replace(self, columns=tuple(replace(one, units=units) for one, units in columns))

    @property
    def is_of_shares(self) -> bool:
        """Whether the means are shares of records: of conditions, if each record counts as one."""
        plain = self.statistic == statistics.MEAN and self.weights is None
        return plain and self.each == "record" and all(one.is_condition for one in self.columns)

    def with_conditions(self, conditions: Sequence[bool]) -> Request:
        """Return the same request, told which of the columns are conditions."""
        given = zip(self.columns, conditions, strict=True)
        return replace(
            self, columns=tuple(replace(one, is_condition=is_so) for one, is_so in given)
        )

    def to_dict(self) -> Json:
        """Return plain values, ready for JSON."""
        return {
            "format": FORMAT,
            "columns": [column.to_dict() for column in self.columns],
            "budget": self.budget.to_dict(),
            "neighbors": self.adjacency.value,
            "person": self.adjacency.person,
            **{name: getattr(self, name) for name in (*_PLAIN, *_LATER)},
            "groups": None if self.groups is None else self.groups.to_dict(),
            "parse": None if self.written is None else self.written.to_dict(),
            **({"fake": True} if self.fake else {}),
            **self._other_statistic(),
        }

    def _other_statistic(self) -> Json:
        """Return what is not that of a mean without weights."""
        if self.statistic == statistics.MEAN:
            return {} if self.weights is None else {"weights": self.weights}
        levels = {"levels": list(self.levels)} if self.levels else {}
        return {"statistic": self.statistic, **levels}

    @classmethod
    def from_dict(cls, record: Json) -> Request:
        """Undo :meth:`to_dict`."""
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise ParameterError(_REFUSAL)
        try:
            columns = record["columns"]
            checked = cls.parse(
                budget=Budget.from_dict(record["budget"]),
                neighbors=record["neighbors"],
                tail=[tail_from_dict(column["tail"]) for column in columns],
                within=[tuple(map(float, column["within"])) for column in columns],
                person=record.get("person"),
                **{name: record[name] for name in _PLAIN},
                **{name: record[name] for name in (*_LATER, *_OTHERS) if name in record},
                **(record.get("groups") or {}),
                parse=None if (said := record.get("parse")) is None else Parse.from_dict(said),
            )
            request = checked.with_names([str(column["name"]) for column in columns])
            request = replace(request, fake=flag(fake=record.get("fake", False)))
            kinds = [flag(condition=column.get("condition", False)) for column in columns]
            request = request.with_conditions(kinds)
            return request.measured([column.get("units") for column in columns])
        except TametailError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise not_as_written(_REFUSAL, error) from None

    def to_json(self, indent: int | None = None) -> str:
        """Return the request as JSON; :meth:`from_json` gives it back."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Request:
        """Undo :meth:`to_json`."""
        return cls.from_dict(read_json(text, _REFUSAL))

    def hash(self) -> str:
        """Return a name for what was asked: SHA-256 of all that differs from the defaults.

        It covers the format, the columns, the budget and every argument that is not at its
        default; neither the plan nor the version of the program. An argument that a later version
        adds does not change it, as long as nobody uses it.

        >>> one, other = (Request.parse(epsilon=1, n=n).with_names(["paid"]) for n in (None, 5))
        >>> one.hash() == Request.from_json(one.to_json()).hash(), one.hash() == other.hash()
        (True, False)
        """
        text = json.dumps(self.said(), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def said(self) -> Json:
        """Return the format, the columns, the budget and what differs from its default."""
        columns = tuple(Column(str(place)) for place in range(len(self.columns)))
        usual = Request(columns, self.budget).to_dict()
        record = self.to_dict()
        said = {key: record[key] for key in record if record[key] != usual.get(key)}
        default = Column("").to_dict()
        said["columns"] = [
            {key: cell for key, cell in column.items() if key == "name" or cell != default.get(key)}
            for column in record["columns"]
        ]
        return said | {"format": FORMAT, "budget": record["budget"]}


#: What a request and its JSON hold in the same form.
_PLAIN = ("missing", "n", "confidence", "target", "same_scale")

#: The same, of arguments that texts of the first version lack.
_LATER = ("each", "n_records", "where")

#: What is there if it is not that of a mean.
_OTHERS = ("statistic", "levels", "weights")

_REFUSAL = "This is not a request. Use the output of Request.to_json() or Request.to_dict()."


def _check_strength(budget: Budget) -> None:
    """Refuse a budget that cannot answer anything, or protects nothing."""
    if not LEAST_STRENGTH <= budget.strength <= GREATEST_STRENGTH:
        weak = budget.strength < LEAST_STRENGTH
        raise ParameterError(
            f"{budget} is too {'small to be useful' if weak else 'large to protect anyone'}. Use "
            f"an epsilon (or sqrt(2 rho)) between {LEAST_STRENGTH:g} and {GREATEST_STRENGTH:g}; "
            "0.01 to 10 is common."
        )


def _text(where: object) -> str:
    if isinstance(where, str):
        return where
    raise ParameterError(
        f'where= must be text, not {type(where).__name__}. Use a condition such as where="age >= '
        '65".'
    )


def _weights(weights: object) -> str:
    if isinstance(weights, str) and weights.strip():
        return weights
    raise ParameterError(
        "weights= must be the name of a column, or text that computes a number, such as "
        "weights='weight' or weights='1 / chance'."
    )


def _size(n: object) -> int:
    size = count(n=n)
    if size > MOST_RECORDS:
        raise ParameterError(f"Invalid n={shown(n)}. It must be at most {MOST_RECORDS:g}.")
    return size
