"""The public functions: mean and other statistics, plan, sample_size, epsilon_for, replay."""

from tametail.api.arguments import Columns, Others
from tametail.api.means import mean
from tametail.api.planning import epsilon_for, plan, replay, sample_size
from tametail.api.running import execute_plan
from tametail.api.statistics import (
    count,
    describe,
    median,
    quantile,
    regression,
    sum,  # noqa: A004
)

__all__ = [
    "Columns",
    "Others",
    "count",
    "describe",
    "epsilon_for",
    "execute_plan",
    "mean",
    "median",
    "plan",
    "quantile",
    "regression",
    "replay",
    "sample_size",
    "sum",
]
