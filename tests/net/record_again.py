"""Record anew the cases that ask other questions than they did, by their ids, and nothing else.

    python tests/net/record_again.py 2 55 10063

A case whose questions a decision has changed has no answers to them. It gets new ones: of the same
request on new records of the same law, or of another request of its kind if it is structured. An
id that is not there is of a case that was dropped once: it gets a case of the first kind.
"""

from __future__ import annotations

import sys
from typing import Any

import fields
import record
import record_structured

KINDS = sorted({kind for kind, *_ in record_structured.KINDS}, key=len, reverse=True)


def again(number: int, old: dict[str, Any] | None) -> dict[str, Any]:
    """Return a new case of this id, like the old one if there was one."""
    laws = list(record.LAWS)
    if old is None:
        law, lies = laws[number % len(laws)], number % 3 == 2
        if number < record_structured.FIRST:
            return record.some_case(number, law, lies, 1)
        return record_structured.some_case(number, "person", law, 1, lies)
    law = next(tag for tag in old["tags"] if tag.startswith("law:")).removeprefix("law:")
    lies, n_columns = "hostile" in old["tags"], old["request"].get("n_columns", 1)
    if number < record_structured.FIRST:
        return record.some_case(number, law, lies, n_columns, old["request"])
    kind = next(kind for kind in KINDS if set(kind.split()) <= set(old["tags"]))
    return record_structured.some_case(number, kind, law, n_columns, lies)


def main(numbers: list[int]) -> None:
    for path, first in ((fields.RELEASES, 0), (fields.STRUCTURED, record_structured.FIRST)):
        cases = {case["id"]: case for case in fields.load(path)}
        own = [number for number in numbers if (number >= record_structured.FIRST) == bool(first)]
        for number in own:
            cases[number] = again(number, cases.get(number))
            print(number, cases[number]["tags"], flush=True)
        if own:
            fields.save(path, [cases[number] for number in sorted(cases)])


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]])
