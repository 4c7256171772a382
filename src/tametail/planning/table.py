"""The table of methods: when each suits, its steps, its estimate and its promises.

The planner searches it from its top and takes the first that estimates what is asked for
and suits. Nothing else chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from tametail import statistic
from tametail._shown import shown
from tametail.errors import InternalError, ParameterError
from tametail.methods import counting, describing, regression
from tametail.methods.bounded import method as bounded
from tametail.methods.bounded.estimate import NAME as BOUNDED_NAME
from tametail.methods.groups import method as groups
from tametail.methods.groups import plan as by_group
from tametail.methods.groups.each import of_a_group
from tametail.methods.groups.estimate import means_by_group
from tametail.methods.groups.one_group import means_of_separate_persons
from tametail.methods.groups.persons import means_of_persons
from tametail.methods.joint import method as joint
from tametail.methods.joint import settings
from tametail.methods.joint.estimate import vector_mean
from tametail.methods.joint_sum.estimate import joint_sum_means
from tametail.methods.known_scale import method as known_scale
from tametail.methods.known_scale.estimate import NAME as KNOWN_SCALE_NAME
from tametail.methods.persons import budget_split as of_persons
from tametail.methods.persons import method as persons
from tametail.methods.persons import weighted
from tametail.methods.quantiles import method as quantiles
from tametail.methods.separate import method as separate
from tametail.methods.sums import method as sums
from tametail.methods.winsorized import column
from tametail.methods.winsorized import prediction as winsorized
from tametail.methods.winsorized.estimate import column_mean
from tametail.planning import choice
from tametail.plans import Divide, Prediction, PricedRequest, Steps, paid_in
from tametail.privacy.budget import Budget, Pure, Zcdp
from tametail.request import Request
from tametail.statistic import MEAN

if TYPE_CHECKING:
    from tametail.ask import Ask
    from tametail.means import Estimate


class Method(NamedTuple):
    """A row of the table."""

    name: str
    """The name that plans and releases know it by."""
    suits: Callable[[Request, int | None, Budget], bool]
    """Whether it is taken, if no method above it is; n is None as long as it is unknown."""
    definition: type[Budget]
    """The definition in which it is paid from an approximate budget."""
    names: Callable[[Request], tuple[tuple[str, int], ...]]
    """The names and rounds of its steps, once the number of records is known."""
    steps: Divide
    """Its steps, paid from a budget of this definition; None if that does not reach."""
    estimate: Callable[[PricedRequest, Ask], tuple[Estimate, ...]]
    """Asks, and concludes from the answers: an estimate for every row."""
    predict: Callable[[PricedRequest], Prediction]
    """What it promises before any record is read."""
    reasons: Callable[[PricedRequest], tuple[str, ...]] = choice.no_words
    """Why it was chosen, where there was a choice."""
    counts_itself: bool = False
    """Whether its steps do not depend on the number of records, so that no count comes first."""
    statistic: str = MEAN
    """What it estimates: it is never taken for another statistic."""

    def divide(self, request: Request, n: int, budget: Budget) -> Steps:
        """Return its steps, paid from a budget of any definition."""
        steps = self.steps(request, n, paid_in(budget, self.definition))
        if steps is None:
            raise InternalError(f"{self.name} has no steps.")
        return steps


SUM = Method(
    "sum",
    choice.always,
    Pure,
    sums.names,
    sums.steps,
    sums.sums,
    of_a_group(sums.Predicted),
    counts_itself=True,
    statistic=statistic.SUM,
)
COUNTING = Method(
    "count",
    choice.always,
    Pure,
    counting.names,
    counting.steps,
    counting.counts,
    counting.PredictedCount,
    counts_itself=True,
    statistic=statistic.COUNT,
)
QUANTILES = Method(
    "quantiles",
    choice.always,
    Pure,
    quantiles.names,
    quantiles.steps,
    quantiles.quantiles,
    of_a_group(quantiles.Predicted),
    counts_itself=True,
    statistic=statistic.QUANTILE,
)
WEIGHTED = Method(
    "weighted mean",
    weighted.suits,
    Pure,
    weighted.names,
    weighted.steps,
    weighted.weighted_means,
    of_a_group(weighted.PredictedWeighted),
    counts_itself=True,
)
SHARE = Method(
    "share",
    counting.is_share,
    Pure,
    counting.names,
    counting.steps,
    counting.shares,
    of_a_group(counting.PredictedShare),
    counts_itself=True,
)
DESCRIPTION = Method(
    "description",
    choice.always,
    Pure,
    describing.names,
    describing.steps,
    describing.description,
    of_a_group(describing.Predicted),
    counts_itself=True,
    statistic=statistic.DESCRIBE,
)
REGRESSION = Method(
    "linear regression",
    choice.always,
    Zcdp,
    regression.names,
    regression.steps,
    regression.regression,
    regression.Predicted,
    statistic=statistic.REGRESSION,
)
SEPARATE_PERSONS_BY_GROUP = Method(
    "means by group, of persons in one group each",
    choice.persons_in_one_group,
    Pure,
    by_group.names,
    by_group.steps_of_separate_persons,
    means_of_separate_persons,
    groups.PredictedOfSeparatePersons,
)
PERSONS_BY_GROUP = Method(
    "means by group, of persons",
    choice.persons_in_groups,
    Pure,
    by_group.names,
    by_group.steps_of_persons,
    means_of_persons,
    groups.PredictedOfPersons,
)
GROUPS = Method(
    "means by group",
    choice.groups,
    Pure,
    by_group.names,
    by_group.steps,
    means_by_group,
    groups.Predicted,
)
RECORDS_OF_PERSONS = Method(
    "mean of the records of persons",
    choice.records_of_persons,
    Pure,
    of_persons.names,
    persons.steps,
    persons.means_of_records,
    persons.Predicted,
    choice.why_records,
)
BOUNDED = Method(
    BOUNDED_NAME,
    choice.bounded,
    Pure,
    bounded.names,
    bounded.steps,
    bounded.bounded_means,
    bounded.Predicted,
    choice.why_bounded,
)
JOINT = Method(
    "mean with joint clipping",
    choice.joint,
    Zcdp,
    settings.own_names,
    settings.own_steps,
    vector_mean,
    joint.Predicted,
    choice.why_together,
)
JOINT_COMMON = Method(
    "mean with joint clipping, one scale",
    choice.joint_in_common,
    Zcdp,
    settings.common_names,
    settings.common_steps,
    vector_mean,
    joint.PredictedInCommon,
    choice.why_together,
)
KNOWN_SCALE = Method(
    KNOWN_SCALE_NAME,
    choice.scaled,
    Pure,
    known_scale.names,
    known_scale.steps,
    known_scale.known_scale_means,
    known_scale.Predicted,
    choice.why_scaled,
)
WINSORIZED = Method(
    "winsorized mean",
    choice.one_column,
    Pure,
    column.names,
    winsorized.steps,
    column_mean,
    winsorized.Predicted,
)
JOINT_SUM = Method(
    "winsorized means, joint sum",
    choice.one_sum,
    Pure,
    column.names,
    separate.steps,
    joint_sum_means,
    separate.Predicted,
    choice.why_one_sum,
)
SEPARATE = Method(
    "winsorized means, column by column",
    choice.always,
    Pure,
    column.names,
    separate.steps,
    separate.separate_means,
    separate.Predicted,
    choice.why_separate,
)

#: All methods; the first that estimates what is asked for, and suits, is taken.
METHODS = (
    SUM,
    COUNTING,
    QUANTILES,
    DESCRIPTION,
    REGRESSION,
    WEIGHTED,
    SHARE,
    SEPARATE_PERSONS_BY_GROUP,
    PERSONS_BY_GROUP,
    GROUPS,
    RECORDS_OF_PERSONS,
    BOUNDED,
    JOINT,
    JOINT_COMMON,
    KNOWN_SCALE,
    WINSORIZED,
    JOINT_SUM,
    SEPARATE,
)

_BY_NAME: Mapping[str, Method] = {method.name: method for method in METHODS}


def choose(request: Request, n: int | None, budget: Budget) -> Method:
    """Return the method for n records that may cost ``budget``.

    If n is unknown, the one that is expected: it is chosen once more when a private count is there.
    """
    return next(
        method
        for method in METHODS
        if method.statistic == request.statistic and method.suits(request, n, budget)
    )


def find(name: str) -> Method:
    """Return the method of this name."""
    if name not in _BY_NAME:
        raise ParameterError(f"Unknown method={shown(name)}. Methods: {list(_BY_NAME)}.")
    return _BY_NAME[name]
