"""Estimators that cut the records wrongly, ask once more, or let something exact out."""

from __future__ import annotations

from .mutant import Mutant

MEAN = "tests/paper/test_mean_1d.py"
RANGE = "tests/paper/test_range.py"
BALL = "tests/paper/test_ball.py"
TOURNAMENT = "tests/paper/test_tournament.py"
STATISTICS = "tests/statistics/test_statistics.py"
GUESS = "tests/estimators/test_guess.py"

ESTIMATORS: tuple[Mutant, ...] = (
    Mutant(
        name="bounded-mean-counts-missing-records",
        why="A missing record would count as the middle of the bounds.",
        file="methods/bounded/estimate.py",
        old='0 if plan.missing == "none" else thinner',
        new="0",
        tests=("tests/estimators/test_bounded_mean.py::test_missing_records_are_left_out",),
    ),
    Mutant(
        name="blocks-overlap",
        why="A record in two blocks would pay twice.",
        file="paper/univariate.py",
        old="for edge in (block, block + 1))",
        new="for edge in (block, block + 2))",
        tests=(f"{MEAN}::test_parts_are_disjoint_equal_and_in_order",),
    ),
    Mutant(
        name="halves-overlap",
        why="The records that find the range would be averaged as well, each at the full budget.",
        file="paper/univariate.py",
        old="((0, first), (first, second))",
        new="((0, first), (0, second))",
        tests=(f"{MEAN}::test_parts_are_disjoint_equal_and_in_order",),
    ),
    Mutant(
        name="n-of-the-whole",
        why="A half has n // 2 records, so that a block of n // m would not be full.",
        file="paper/univariate.py",
        old="interval, second // blocks",
        new="interval, size // blocks",
        tests=(f"{MEAN}::test_a_block_mean_divides_by_the_block_and_not_by_n",),
    ),
    Mutant(
        name="mean-of-noisy-means",
        why="One block with an unlucky range would move the estimate without bound.",
        file="paper/univariate.py",
        old="return median(means)",
        new="return sum(means) / len(means)",
        tests=(f"{MEAN}::test_the_median_is_taken_of_noisy_means",),
    ),
    Mutant(
        name="interval-width-in-floats",
        why=(
            "Far from 0 the ends of the range round to one float, the sensitivity to 0, and the "
            "mean leaves without noise (P5)."
        ),
        file="paper/univariate.py",
        old="side = interval.side",
        new="side = (interval.ends[1] - interval.ends[0]) / 2",
        tests=(f"{MEAN}::test_a_range_far_from_zero_keeps_its_width",),
    ),
    Mutant(
        name="retry-on-a-bad-range",
        why="A second try costs a second time, and whether there was one shows.",
        file="paper/range.py",
        old="key = ask(buckets, cost)",
        new="key = ask(buckets, cost)\n    if key is None:\n        key = ask(buckets, cost)",
        tests=(f"{RANGE}::test_no_bucket_above_the_threshold_gives_a_fixed_interval",),
    ),
    Mutant(
        name="range-outside-of-what-was-asked",
        why="Buckets must cover [-R - r, R + r], or a mean near R is lost.",
        file="paper/range.py",
        old="low=-last - 1, high=last)",
        new="low=-last + 1, high=last)",
        tests=(f"{RANGE}::test_the_buckets_are_those_of_the_theory",),
    ),
    Mutant(
        name="ball-centered-by-its-own-rows",
        why="A ball that is chosen by the rows that it averages costs twice.",
        file="paper/ball.py",
        old=(
            "ask.disjoint(\n"
            "        [ask.relation.between(0, half), ask.relation.between(half, 2 * half)]\n"
            "    )"
        ),
        new="(ask, ask)",
        tests=(f"{BALL}::test_all_of_the_budget_is_spent_and_the_answers_replay",),
    ),
    Mutant(
        name="every-coordinate-spends-everything",
        why="All coordinates are of the same rows, so their costs add up.",
        file="privacy/choices.py",
        old="equal: list[Budget] = list(budget.split(*[1 / n_columns] * n_columns))",
        new="equal: list[Budget] = [budget] * n_columns",
        tests=(f"{BALL}::test_coordinate_costs_fill_the_budget_and_no_more",),
    ),
    Mutant(
        name="related-halves-spend-everything",
        why="Both steps read all records, so their costs add up.",
        file="paper/related.py",
        old="locating, averaging = opened.budget.split(0.5, 0.5)",
        new="locating, averaging = opened.budget, opened.budget",
        tests=(
            "tests/paper/test_related.py::test_all_of_the_budget_is_spent_and_the_answers_replay",
        ),
    ),
    Mutant(
        name="tournament-on-all-rows",
        why="The first half has paid for the center already.",
        file="paper/tournament.py",
        old="return play(ask_z, budget, center, grid)",
        new="return play(ask, budget, center, grid)",
        tests=(f"{TOURNAMENT}::test_all_of_the_budget_is_spent_and_the_answers_replay",),
    ),
    Mutant(
        name="plan-forgets-its-count",
        why="The steps after the private count share what it has left.",
        file="methods/winsorized/budget_split.py",
        old="left, n = plan.cost(REST), max(noisy_count, 1)",
        new="left, n = plan.budget, max(noisy_count, 1)",
        tests=(
            "tests/estimators/test_known_scale.py"
            "::test_an_unclear_count_is_asked_for_again_and_a_clear_one_is_not",
        ),
    ),
    Mutant(
        name="spared-squares-are-asked-for",
        why="What the squares would have cost goes to the sum, so they must not be asked for.",
        file="methods/winsorized/column.py",
        old='steps = tuple(step for step in self.steps if step.name != "spread")',
        new="steps = tuple(step for step in self.steps)",
        tests=(
            "tests/estimators/test_bounded_mean.py"
            "::test_where_noise_is_most_of_the_error_the_sum_has_what_squares_would_cost",
        ),
    ),
    Mutant(
        name="every-column-apart-spends-everything",
        why="Columns hold parts of the same records: what is spent on them adds up.",
        file="methods/winsorized/column.py",
        old="return all_but_rounding(cost).split(*[1 / n_columns] * n_columns)",
        new="return (cost,) * n_columns",
        tests=("tests/vectors/test_apart.py::test_columns_share_the_budget",),
    ),
    Mutant(
        name="radius-of-a-pool-for-free",
        why="What the radius costs must come out of the sums of the columns.",
        file="methods/joint_sum/estimate.py",
        old="left for _, left in split]",
        new="left for left in costs]",
        tests=("tests/vectors/test_pooled.py::test_every_way_stays_within_the_budget",),
    ),
    Mutant(
        name="pool-and-columns-are-both-summed",
        why="A column that was summed with others has nothing left for a sum of its own.",
        file="methods/joint_sum/estimate.py",
        old="if index in totals\n",
        new="if index in totals and one.finish(asks[index])\n",
        tests=("tests/vectors/test_pooled.py::test_every_way_stays_within_the_budget",),
    ),
    Mutant(
        name="exact-n-under-add-remove",
        why="The number of records is protected: it must not be in the plan of the release.",
        file="run.py",
        old="plan.with_size(backend.size) if plan.adjacency.size_is_public else plan",
        new="plan.with_size(backend.size)",
        tests=("tests/test_api.py::test_release_follows_the_plan",),
    ),
    Mutant(
        name="release-not-a-function-of-its-answers",
        why="Whatever leaves follows from public numbers and answers: a replay must give it again.",
        file="methods/winsorized/estimate.py",
        old="return self.conclude(total, clip, tails, squares)",
        new=(
            "found = self.conclude(total, clip, tails, squares)\n"
            "        seen = getattr(ask._responder, '_backend', None) is not None\n"
            "        return __import__('dataclasses').replace(found, value=found.value + seen)"
        ),
        tests=("tests/test_api.py::test_replay_is_bit_for_bit",),
    ),
    Mutant(
        name="value-leaves-where-it-cannot-be",
        why="The caller's knowledge about the mean restricts what is released.",
        file="methods/winsorized/estimate.py",
        old="value = min(max(raw, plan.possible[0]), plan.possible[1])",
        new="value = raw",
        tests=("tests/test_api.py::test_value_and_interval_stay_within",),
    ),
    Mutant(
        name="tail-question-costs-the-whole-budget",
        why="Every step has a share of its own.",
        file="methods/winsorized/estimate.py",
        old='rest, nodes, cost = plan, histogram_query(plan, center), plan.cost("tail")',
        new="rest, nodes, cost = plan, histogram_query(plan, center), plan.budget",
        tests=("tests/test_api.py::test_a_budget_may_be_given_in_numbers",),
    ),
    Mutant(
        name="new-center-for-free",
        why="What is asked again must come out of the sum's share.",
        file="methods/winsorized/column.py",
        old='costs = self.cost("sum").split(center, tail, 1 - center - tail)',
        new='costs = [self.cost(name) for name in ("center", "tail", "sum")]',
        tests=(
            "tests/estimators/test_winsorized.py"
            "::test_a_new_center_costs_what_the_sum_would_have_cost",
        ),
    ),
    Mutant(
        name="second-look-for-free",
        why="What is asked again must come out of the sum's share.",
        file="methods/winsorized/column.py",
        old='look, total = self.cost("sum").split(tuned.TAIL_SHARE, 1 - tuned.TAIL_SHARE)',
        new='look, total = self.cost("tail"), self.cost("sum")',
        tests=(
            "tests/estimators/test_loose_bounds.py"
            "::test_a_second_look_costs_what_the_sum_would_have_cost",
        ),
    ),
    Mutant(
        name="noise-that-the-records-choose-taken-as-fixed",
        why="The clip points, and so the noise, are chosen by the records that are summed.",
        file="methods/winsorized/guaranteed_interval.py",
        old="fixed = answers.reference.noise if answers.plan.tail is not None else scale",
        new="fixed = scale",
        tests=(
            "tests/estimators/test_interval.py"
            "::test_noise_that_the_records_choose_has_a_quantile_of_its_own",
        ),
    ),
    Mutant(
        name="guess-decides-the-sample",
        why="A guess that is far too small would load every record of a file.",
        file="methods/winsorized/budget_split.py",
        old="halvings(max(n, math.floor(counted - doubt)))",
        new="halvings(n)",
        tests=(f"{GUESS}::test_a_small_guess_samples_as_little_as_the_right_one",),
    ),
    Mutant(
        name="known-scale-interval-always-ends",
        why="A center that may be lost must not come with a finite interval.",
        file="methods/known_scale/estimate.py",
        old="if room <= margin:\n        return math.inf",
        new="if room <= margin:\n        return room + margin",
        tests=(
            "tests/estimators/test_known_scale.py"
            "::test_no_finite_interval_if_the_records_may_be_elsewhere",
        ),
    ),
    Mutant(
        name="releases-compared-as-if-no-person-were-in-both",
        why="Sampling errors of one person depend on each other, whatever releases they are in.",
        file="release.py",
        old="independent=of_records)",
        new="independent=True)",
        tests=("tests/test_comparisons.py::test_a_person_may_be_in_two_releases",),
    ),
    Mutant(
        name="count-interval-of-half-the-noise",
        why="An interval has to hold the noise that was added.",
        file="methods/counting.py",
        old="off = count_noise(cost, adjacency).quantile(1 - confidence)",
        new="off = count_noise(cost, adjacency).quantile(1 - confidence) / 3",
        tests=(f"{STATISTICS}::test_counts_hold_the_number_of_records_and_of_persons",),
    ),
    Mutant(
        name="quantile-interval-without-sampling",
        why="A quantile of the population is farther from that of the records than noise is.",
        file="methods/quantiles/interval.py",
        old="most = cells.size_at_most((1 - confidence) * _FOR_SIZE) if sampled else None",
        new="most = None",
        tests=("tests/statistics/test_ranks.py::test_limits_of_a_population_allow_for_sampling",),
    ),
)
