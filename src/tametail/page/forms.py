"""What a form says, as the arguments of a release; and the same back, to fill the form again.

Fields are text. Empty ones are left out, so that every default is the library's own. Whatever is
wrong raises the library's own errors, with its own words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from tametail._json import Json
from tametail.api import plan
from tametail.errors import ParameterError
from tametail.parse import Parse
from tametail.planning import Plan
from tametail.privacy.budget import parse_budget
from tametail.request import Request
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
    "things": "record",
    "notion": "pure",
    "epsilon": "1",
    "delta": "1e-6",
    "rho": "0.5",
    "know": "nothing",
    "n": "10000",
    "confidence": "0.95",
    "unit": "add-remove",
    "each": "record",
}


def budget_of(form: Form) -> dict[str, float | None]:
    """Return epsilon, delta and rho, by the notion that was chosen.

    >>> budget_of(Form.read("notion=approx&epsilon=1&delta=1e-6&rho=3"))
    {'epsilon': 1.0, 'delta': 1e-06}
    """
    notion = form.one("notion", DEFAULTS["notion"])
    names = {"pure": ("epsilon",), "approx": ("epsilon", "delta"), "zcdp": ("rho",)}
    if notion not in names:
        raise ParameterError("Choose a privacy definition.")
    return {name: form.number(name, name) for name in names[notion]}


def tail_of(form: Form) -> Tail:
    """Return what is assumed about the records."""
    know = form.one("know", DEFAULTS["know"])
    if know == "nothing":
        return None
    if know == "moment":
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
class Asked:
    """A release as a form asks for it: arguments of ``mean``, those at their defaults left out."""

    path: str
    columns: tuple[str, ...]
    options: Json
    ledger: str | None = None
    dataset: str | None = None
    release_id: str | None = None
    table: str | None = None

    def plan(self) -> Plan:
        """Return the plan of the release; nothing is read."""
        return Plan.of(Request.parse(**self.options).with_names(self.columns))


def planned(form: Form) -> Plan:
    """Return the plan that the controls of the planning view describe.

    >>> planned(Form.read("n=20000&epsilon=1")).n
    20000
    """
    return plan(
        n=form.whole("n", "The number of records"),
        tail=tail_of(form),
        within=within_of(form),
        unit=form.one("unit", DEFAULTS["unit"]),
        confidence=confidence_of(form),
        person=form.one("things", DEFAULTS["things"]) == "person",
        budget=parse_budget(**budget_of(form)),
    )


def asked(form: Form) -> Asked:
    """Return the release that a form asks for."""
    columns = (*form.all("column"), *form.all("computed"))
    if not columns:
        raise ParameterError("Choose at least one column.")
    wanted: dict[str, object] = {
        **budget_of(form),
        "tail": tail_of(form),
        "within": within_of(form),
        "n": form.whole("n", "The number of records"),
        "where": form.one("where") or None,
        "parse": parse_of(form),
        **_persons(form),
        **_groups(form),
    }
    options = {name: value for name, value in wanted.items() if value is not None}
    if form.one("unit", DEFAULTS["unit"]) != "add-remove":
        options["unit"] = form.one("unit")
    confidence = confidence_of(form)
    if confidence != 0.95:
        options["confidence"] = confidence
    ledger = form.one("ledger") or None
    return Asked(
        form.one("path"),
        columns,
        options,
        ledger,
        form.one("dataset") or None if ledger else None,
        form.one("release_id") or None if ledger else None,
    )


def _persons(form: Form) -> dict[str, object]:
    people = form.all("person")
    if not people:
        return {}
    each = form.one("each", "record")
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
