"""The theorems as functions: what the paper's algorithms reach, and what none can beat.

Upper bounds are in ``means``, ``multivariate`` and ``promises``, lower bounds in
``packing`` and ``inequalities.lower_bounds``, the distributions that prove them in
``hard_instances``, and ordinary distributions for simulations in ``distributions``. Nothing here
reads data or spends budget.
"""

from tametail.inequalities.lower_bounds import hardest_mass, lower_bound
from tametail.theory.codes import binary_code
from tametail.theory.distributions import Distribution, distribution
from tametail.theory.hard_instances import OneHot, Packing, PointMass, TwoPoint, hard_instance
from tametail.theory.means import mean_sample_size
from tametail.theory.moments import bias_constant, discarding_bias, radius_for_bias, truncation_bias
from tametail.theory.multivariate import (
    Tournament,
    ball_radius,
    ball_sample_size,
    tournament,
    tournament_sample_size,
)
from tametail.theory.not_knowing import price_of_not_knowing
from tametail.theory.packing import accuracy_lower_bound, location_lower_bound, packing_lower_bound
from tametail.theory.promises import Promise, upper_bound
from tametail.theory.rates import (
    approximate_rate,
    local_rate,
    optimal_clip,
    person_rate,
    person_sample_size,
    winsorized_rmse,
)
from tametail.theory.univariate import (
    bucket_count,
    bucket_radius,
    clip_radius,
    median_of_means_blocks,
    range_sample_size,
)

__all__ = [
    "Distribution",
    "OneHot",
    "Packing",
    "PointMass",
    "Promise",
    "Tournament",
    "TwoPoint",
    "accuracy_lower_bound",
    "approximate_rate",
    "ball_radius",
    "ball_sample_size",
    "bias_constant",
    "binary_code",
    "bucket_count",
    "bucket_radius",
    "clip_radius",
    "discarding_bias",
    "distribution",
    "hard_instance",
    "hardest_mass",
    "local_rate",
    "location_lower_bound",
    "lower_bound",
    "mean_sample_size",
    "median_of_means_blocks",
    "optimal_clip",
    "packing_lower_bound",
    "person_rate",
    "person_sample_size",
    "price_of_not_knowing",
    "radius_for_bias",
    "range_sample_size",
    "tournament",
    "tournament_sample_size",
    "truncation_bias",
    "upper_bound",
    "winsorized_rmse",
]
