"""What each step of a method is for, in the words of the printed plan.

By the name of the method: ``tests/test_guards.py`` fails for a method or a step that has no words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_COLUMN: Final = {
    "count": "approximate number of records",
    "center": "private median",
    "tail": "log-scale histogram of distances from the median",
    "spread": "variance of the clipped values, for the confidence interval",
    "sum": "sum and count of the clipped values",
    "rest": "remaining steps, planned once the count is known",
}
_COLUMNS: Final = _COLUMN | {"center": "private median of each column"}
_BALL: Final = {
    "count": "approximate number of records",
    "center": "private median of each column",
    "scale": "scale of the distances from the median",
    "radius": "L2 norm of the records, over all columns",
    "spread": "variances of the clipped values, for the confidence intervals",
    "sum": "sum of the records after joint L2 clipping",
    "rest": "remaining steps, planned once the count is known",
}

_KEYS: Final = {"keys": "private selection of the groups"}
_QUANTILES: Final = _KEYS | {
    "size": "number of records",
    "place": "points at the levels and around them",
    "cells": "number of records between the points, for the intervals",
}

PURPOSES: Final[Mapping[str, Mapping[str, str]]] = {
    "sum": _KEYS
    | {
        "size": "approximate number of records or people",
        "tail": "log-scale histogram of the values around 0",
        "sum": "sum of the clipped values",
    },
    "count": _KEYS | {"cells": "number of records or people"},
    "share": _KEYS | {"cells": "number of records for which the condition is true or false"},
    "quantiles": _QUANTILES,
    "description": _QUANTILES | {"mean": "clipped mean, as in a release of its own"},
    "linear regression": {
        "count": "approximate number of records",
        "standardize": "centers and scales of the columns",
        "products": "means of products of columns, for a first solution",
        "scores": "means of residuals times columns, for one Newton step",
        "rest": "remaining steps, planned once the count is known",
    },
    "winsorized mean": _COLUMN,
    "winsorized means, column by column": _COLUMNS,
    "winsorized means, joint sum": _COLUMNS
    | {"sum": "norms of the records, then sum and count of the clipped values of all columns"},
    "mean with joint clipping": _BALL,
    "mean with joint clipping, one scale": _BALL,
    "bounded mean": {
        "count": "approximate number of records",
        "sum": "sum and count of the values, clipped to the bounds",
        "rest": "remaining steps, planned once the count is known",
    },
    "clipped mean around the densest bin": {
        "count": "approximate number of records",
        "center": "densest bin, with bins of about the given scale",
        "sum": "sum and count of the values, clipped around the densest bin",
        "rest": "remaining steps, planned once the count is known",
    },
    "mean of the records of persons": {
        "count": "approximate number of people",
        "pilot": "clipped mean of the person means (pilot estimate)",
        "rows": "number of records, with a bounded number per person",
        "tail": "log-scale histogram of people's total differences from the pilot estimate",
        "sum": "sum of these differences, clipped",
        "rest": "remaining steps, planned once the count is known",
    },
    "weighted mean": _KEYS
    | {
        "size": "how many records, or people, have a value and a weight",
        "pilot": "clipped mean without weights (pilot estimate)",
        "rows": "sum of the weights, clipped",
        "tail": "log-scale histogram of weighted differences from the pilot estimate",
        "sum": "sum of these differences, clipped",
    },
    "means by group": {
        "keys": "private selection of the groups",
        "count": "approximate number of records",
        "total": "number of records in all groups",
        "sizes": "number of records per group",
        "center": "private median of all records, for small groups",
        "tail": "log-scale histogram of distances from the median, for small groups",
        "groups": "counts and sum of each small group; complete estimate of each large one",
        "rest": "remaining steps, planned once the count is known",
    },
    "means by group, of persons in one group each": {
        "keys": "private selection of the groups",
        "count": "approximate number of people",
        "kept": "share of the records that stay in the group of their person",
        "sizes": "number of people per group",
        "pool": "spread of all people, for small groups; otherwise added to the groups",
        "groups": "sum of each small group; complete estimate of each large one",
        "rest": "remaining steps, planned once the count is known",
    },
    "means by group, of persons": {
        "keys": "private selection of the groups",
        "count": "approximate number of people",
        "pilot": "mean of all groups together",
        "tail": "log-scale histogram of the norms of people's vectors",
        "rows": "number of records per group, after contribution scaling",
        "groups": (
            "sum of differences from the overall mean per group, after contribution scaling"
        ),
        "spread": "sums of squares, for the confidence intervals",
        "rest": "remaining steps, planned once the count is known",
    },
}
