"""What a form says, as the arguments of a release; and the same back, to fill the form again.

Fields are text. Empty ones are left out, so that every default is the library's own. Whatever is
wrong raises the library's own errors, with its own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from tametail._json import Json
from tametail.api.planning import plan
from tametail.errors import ParameterError
from tametail.expressions import says_condition
from tametail.parse import Parse
from tametail.planning import Plan
from tametail.privacy.budget import parse_budget
from tametail.request import Request
from tametail.statistic import COUNT, DESCRIBE, MEAN, QUANTILE, RECORDS, SUM
from tametail.tail import Bounded, Moment, Tail

#: The most fields that a form may have.
_MOST_FIELDS = 200


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form, each with all its values.

    >>> form = Form.read("column=paid&column=open&epsilon=0.5&n=")
    >>> form.all("column"), form.number("epsilon", "epsilon"), form.whole("n", "n")
    (['paid', 'open'], 0.5, None)
    """

    fields: Mapping[str, list[str]] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> Form:
        """Return the fields of a query or of the body of a form."""
        try:
            pairs = parse_qsl(text, max_num_fields=_MOST_FIELDS, keep_blank_values=True)
        except ValueError:
            raise ParameterError("The form has too many fields.") from None
        found: dict[str, list[str]] = {}
        for name, value in pairs:
            found.setdefault(name, []).append(value)
        return cls(found)

    def one(self, name: str, default: str = "") -> str:
        """Return a field's last value without spaces around it; the default if it is empty."""
        return self.fields.get(name, [""])[-1].strip() or default

    def all(self, name: str) -> list[str]:
        """Return all values of a field that are not empty."""
        return [value for value in self.fields.get(name, []) if value.strip()]

    def number(self, name: str, called: str) -> float | None:
        """Return a field as a number; None if it is empty. Commas between digits are allowed."""
        text = self.one(name).replace(",", "").replace("\u202f", "").replace(" ", "")
        if not text:
            return None
        try:
            return float(text)
        except ValueError:
            raise ParameterError(f"{called} must be a number, such as 1000.") from None

    def whole(self, name: str, called: str) -> int | None:
        """Return a field as a whole number; None if it is empty."""
        value = self.number(name, called)
        if value is None:
            return None
        if not abs(value) <= 1e15 or value != int(value):
            raise ParameterError(f"{called} must be an integer, such as 10000.")
        return int(value)


#: What a control holds before anyone touches it.
DEFAULTS: Mapping[str, str] = {
    "statistic": MEAN,
    "levels": "0.5",
    "privacy_unit": "record",
    "definition": "pure",
    "epsilon": "1",
    "delta": "1e-6",
    "rho": "0.5",
    "assumption": "nothing",
    "n": "10000",
    "confidence": "0.95",
    "neighbors": "add-remove",
    "each": "record",
}


#: What can be asked for, and what the page calls it.
STATISTICS: Mapping[str, str] = {
    MEAN: "Mean",
    SUM: "Sum",
    COUNT: "Count",
    QUANTILE: "Quantiles",
    DESCRIBE: "Summary",
}


def statistic_of(form: Form) -> str:
    """Return which statistic is asked for."""
    wanted = form.one("statistic", MEAN)
    if wanted not in STATISTICS:
        raise ParameterError("Choose a statistic.")
    return wanted


def levels_of(form: Form) -> list[float] | None:
    """Return the levels of quantiles; None for other statistics.

    >>> levels_of(Form.read("statistic=quantile&levels=0.25,+0.5;0.9"))
    [0.25, 0.5, 0.9]
    """
    if statistic_of(form) != QUANTILE:
        return None
    words = re.split(r"[\s,;]+", form.one("levels", DEFAULTS["levels"]))
    try:
        return [float(word) for word in words if word]
    except ValueError:
        raise ParameterError(
            "Levels must be numbers between 0 and 1, such as 0.25, 0.5, 0.9."
        ) from None


def budget_of(form: Form) -> dict[str, float | None]:
    """Return epsilon, delta and rho, by the definition that was chosen.

    >>> budget_of(Form.read("definition=approx&epsilon=1&delta=1e-6&rho=3"))
    {'epsilon': 1.0, 'delta': 1e-06}
    """
    definition = form.one("definition", DEFAULTS["definition"])
    names = {"pure": ("epsilon",), "approx": ("epsilon", "delta"), "zcdp": ("rho",)}
    if definition not in names:
        raise ParameterError("Choose a privacy definition.")
    return {name: form.number(name, name) for name in names[definition]}


def tail_of(form: Form) -> Tail:
    """Return what is assumed about the records; only means and sums take an assumption."""
    if statistic_of(form) not in (MEAN, SUM):
        return None
    assumption = form.one("assumption", DEFAULTS["assumption"])
    if assumption == "nothing":
        return None
    if assumption == "moment":
        scale = form.number("scale", "The standard deviation")
        if scale is None:
            raise ParameterError("Enter the maximum standard deviation.")
        return Moment(2, scale)
    low, high = (
        form.number("low", "The smallest possible value"),
        form.number("high", ("The largest possible value")),
    )
    if low is None and high is None:
        raise ParameterError("Enter at least one bound.")
    return Bounded(low, high)


def within_of(form: Form) -> tuple[float, float] | None:
    """Return where the mean can be; an end that is empty is open."""
    if statistic_of(form) != MEAN:
        return None
    low = form.number("within_low", "The lower limit of the mean")
    high = form.number("within_high", "The upper limit of the mean")
    if low is None and high is None:
        return None
    return (-float("inf") if low is None else low, float("inf") if high is None else high)


def confidence_of(form: Form) -> float | None:
    """Return the confidence; None if no interval is wanted."""
    if form.one("confidence") == "none":
        return None
    return form.number("confidence", "confidence") or 0.95


#: How a form writes a sign that would be lost in it.
_SIGNS = {"tab": "\t", "space": " "}


def parse_of(form: Form) -> Parse | None:
    """Return how the numbers of a file are written; None if nothing is said about it.

    >>> parse_of(Form.read("decimal=%2C&thousands=space&header=no")).to_dict()
    {'decimal': ',', 'thousands': ' ', 'header': False}
    """
    given: Json = {
        name: _SIGNS.get(form.one(name), form.one(name))
        for name in ("delimiter", "decimal", "thousands", "encoding")
        if form.one(name)
    }
    given |= {name: True for name in ("accounting", "percent") if form.one(name)}
    if form.one("currency"):
        given["currency"] = tuple(form.one("currency").split())
    if form.one("header"):
        given["header"] = form.one("header") == "yes"
    return Parse(**given) if given else None


@dataclass(frozen=True, slots=True)
class ReleaseForm:
    """A release as a form asks for it: a statistic and arguments, without those at defaults."""

    path: str
    columns: tuple[str, ...]
    options: Json
    ledger: str | None = None
    dataset: str | None = None
    release_id: str | None = None
    table: str | None = None
    statistic: str = MEAN
    levels: list[float] | None = None

    @property
    def request(self) -> Request:
        """What is asked for, checked; nothing is read."""
        said = Request.parse(
            **self.options,
            statistic=self.statistic,
            levels=self.levels,
            target=_target(self.statistic),
        )
        return said.with_names(self.columns)

    def plan(self) -> Plan:
        """Return the plan of the release, as far as it is known before the data are opened."""
        return Plan.of(self.request.with_conditions(list(map(says_condition, self.columns))))

    @property
    def called(self) -> str:
        """What is asked for, in the words of the page."""
        levels = ", ".join(f"{level:g}" for level in self.levels or ())
        return f"{STATISTICS[self.statistic]}{f' at levels {levels}' * bool(levels)}"


def _target(statistic: str) -> str:
    """Return what the interval is for, as the function of the statistic says by itself."""
    return "data" if statistic == SUM else "population"


def plan_from_form(form: Form) -> Plan:
    """Return the plan that the controls of the planning view describe.

    >>> plan_from_form(Form.read("n=20000&epsilon=1")).n
    20000
    """
    people = form.one("privacy_unit", DEFAULTS["privacy_unit"]) == "person"
    statistic = statistic_of(form)
    return plan(
        statistic=statistic,
        target=_target(statistic),
        q=levels_of(form),
        each="person" if people and statistic == QUANTILE else "record",
        n=form.whole("n", "The number of records"),
        tail=tail_of(form),
        within=within_of(form),
        neighbors=form.one("neighbors", DEFAULTS["neighbors"]),
        confidence=confidence_of(form),
        person=people,
        budget=parse_budget(**budget_of(form)),
    )


def release_from_form(form: Form) -> ReleaseForm:
    """Return the release that a form asks for."""
    columns = (*form.all("column"), *form.all("computed"))
    if not columns and statistic_of(form) == COUNT:
        columns = (RECORDS,)
    if not columns:
        raise ParameterError("Choose at least one column.")
    wanted: dict[str, object] = {
        **budget_of(form),
        "tail": tail_of(form),
        "within": within_of(form),
        "n": form.whole("n", "The number of records"),
        "where": form.one("where") or None,
        "weights": (form.one("weights") or None) if statistic_of(form) == MEAN else None,
        "parse": parse_of(form),
        **_persons(form),
        **_groups(form),
    }
    options = {name: value for name, value in wanted.items() if value is not None}
    if form.one("neighbors", DEFAULTS["neighbors"]) != "add-remove":
        options["neighbors"] = form.one("neighbors")
    confidence = confidence_of(form)
    if confidence != 0.95:
        options["confidence"] = confidence
    ledger = form.one("ledger") or None
    return ReleaseForm(
        form.one("path"),
        columns,
        options,
        ledger,
        form.one("dataset") or None if ledger else None,
        form.one("release_id") or None if ledger else None,
        statistic=statistic_of(form),
        levels=levels_of(form),
    )


def _persons(form: Form) -> dict[str, object]:
    people = form.all("person")
    if not people:
        return {}
    each = form.one("each", "record") if statistic_of(form) == MEAN else "record"
    if statistic_of(form) == QUANTILE:  # the only way to count every person once
        each = "person"
    return {
        "person": people[0] if len(people) == 1 else people,
        "each": None if each == "record" else each,
    }


def _groups(form: Form) -> dict[str, object]:
    by = form.all("by")
    if not by:
        return {}
    keys = _keys(form.one("keys").splitlines(), len(by))
    return {
        "by": by[0] if len(by) == 1 else by,
        "keys": keys or None,
        "other": form.one("other") or None,
        "groups_per_person": 1 if form.one("one_group") and form.all("person") else None,
    }


def _keys(lines: Iterable[str], width: int) -> list[object]:
    """Return a key for each line; with several columns, cells with tabs or commas between."""
    found: list[object] = []
    for line in lines:
        if not line.strip():
            continue
        if width == 1:
            found.append(line.strip())
        else:
            cells = line.split("\t") if "\t" in line else line.split(",")
            found.append(tuple(cell.strip() for cell in cells))
    return found
