"""What each step of a method is for, in the words of the printed plan.

By the name of the method: ``tests/test_guards.py`` fails for a method or a step that has no words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_COLUMN: Final = {
    "count": "roughly how many records there are",
    "centre": "a private median",
    "tail": "how the records spread around it, by octaves",
    "spread": "second moment of the clipped records, for the interval",
    "sum": "sum and count of the clipped records",
    "rest": "the other steps; their shares follow from the count",
}
_COLUMNS: Final = _COLUMN | {"centre": "a private median of every column"}
_BALL: Final = {
    "count": "roughly how many records there are",
    "centre": "a private median of every column",
    "scale": "beyond which distance from it there are few records",
    "radius": "how long a record is, over all columns",
    "spread": "second moments of the records in the ball, for the intervals",
    "sum": "sum of the records, pulled into the ball",
    "rest": "the other steps; their shares follow from the count",
}

_KEYS: Final = {"keys": "which groups there are: those that many records hold"}
_QUANTILES: Final = _KEYS | {
    "size": "how many records there are",
    "place": "points at the levels and around them, among all numbers",
    "cells": "how many records lie between the points, for the intervals",
}

PURPOSES: Final[Mapping[str, Mapping[str, str]]] = {
    "sum": _KEYS
    | {
        "size": "roughly how many records, or persons, there are",
        "tail": "log-scale histogram of the values around 0",
        "sum": "sum of the clipped values",
    },
    "count": _KEYS | {"cells": "how many records, or persons, there are"},
    "share": _KEYS | {"cells": "how many records are true, and how many are false"},
    "quantiles": _QUANTILES,
    "description": _QUANTILES | {"mean": "the clipped mean, as if it were asked for alone"},
    "winsorised mean": _COLUMN,
    "winsorised means, columns apart": _COLUMNS,
    "winsorised means, one sum": _COLUMNS
    | {
        "sum": "how long records are, then sum and count of the clipped records, all columns in one"
    },
    "mean in a weighted ball": _BALL,
    "mean in a ball, one scale for all columns": _BALL,
    "clamped mean": {
        "count": "roughly how many records there are",
        "sum": "sum and count of the records, clamped to their bounds",
        "rest": "the other steps; their shares follow from the count",
    },
    "clamped mean around a crowd": {
        "count": "roughly how many records there are",
        "centre": "where most records are, among buckets of about their scale",
        "sum": "sum and count of the records, clamped around there",
        "rest": "the other steps; their shares follow from the count",
    },
    "mean of the records of persons": {
        "count": "roughly how many persons there are",
        "pilot": "a winsorised mean of the persons' own means",
        "rows": "how many records there are, of persons with a bounded number each",
        "tail": "how persons differ from the pilot with all of their records, by octaves",
        "sum": "sum of these differences, clipped",
        "rest": "the other steps; their shares follow from the count",
    },
    "means by group": {
        "keys": "which groups there are: those that many records hold",
        "count": "roughly how many records there are",
        "total": "how many records all groups have together",
        "centre": "a private median of all records",
        "tail": "how all records spread around it, by octaves",
        "cells": "how many records each group has, and how many far out",
        "groups": "the sum of each small group; the whole estimate of each large one",
        "rest": "the other steps; their shares follow from the count",
    },
    "means by group, of persons in one group each": {
        "keys": "which groups there are: those that many persons hold",
        "count": "roughly how many persons there are",
        "kept": "what share of the records is in the group of their person",
        "sizes": "how many persons each group has",
        "pool": "how all persons spread, for small groups; without these it goes to the groups",
        "groups": "the sums of each small group; the whole estimate of each large one",
        "rest": "the other steps; their shares follow from the count",
    },
    "means by group, of persons": {
        "keys": "which groups there are: those that many persons hold",
        "count": "roughly how many persons there are",
        "pilot": "the mean of all groups together",
        "tail": "how long the vectors of persons are, by octaves: of differences, and of records",
        "rows": "how many records each group has, of persons scaled down",
        "groups": "the sums of differences from the pilot in each group, of persons scaled down",
        "spread": "sums of their squares, for the intervals",
        "rest": "the other steps; their shares follow from the count",
    },
}
