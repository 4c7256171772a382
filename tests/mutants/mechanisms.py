"""Mechanisms with too little noise, the wrong law, or randomness that comes twice."""

from __future__ import annotations

from .mutant import Mutant

NOISE = "tests/mechanisms/test_noise.py"
FORKS = "tests/privacy/test_forks_and_threads.py"
SELECT = "tests/mechanisms/test_select.py"
MEDIAN = "tests/mechanisms/test_median.py"
HISTOGRAMS = "tests/mechanisms/test_histograms.py"
MANY = "tests/vectors/test_mechanisms.py"
SPHERICAL = "tests/mechanisms/test_spherical.py"

MECHANISMS: tuple[Mutant, ...] = (
    Mutant(
        name="laplace-for-sensitivity-one",
        why="Noise must grow with the sensitivity.",
        file="mechanisms/noise.py",
        old="scale = laplace_scale(l1, epsilon)",
        new="scale = laplace_scale(min(l1, 1), epsilon)",
        tests=(f"{NOISE}::test_laplace_noise_follows_its_law",),
    ),
    Mutant(
        name="laplace-lowered-by-one",
        why="A sensitivity of 3 that is taken for 2 makes the release cost 1.5 epsilon.",
        file="mechanisms/noise.py",
        old="scale = laplace_scale(l1, epsilon)",
        new="scale = laplace_scale(max(l1 - 1, 0), epsilon)",
        tests=(f"{NOISE}::test_laplace_noise_follows_its_law",),
    ),
    Mutant(
        name="gaussian-lowered-by-one",
        why="A squared sensitivity that is taken for one less makes the release cost more.",
        file="mechanisms/noise.py",
        old="sigma = gaussian_scale(l2_squared, rho)",
        new="sigma = gaussian_scale(max(l2_squared - 1, 0), rho)",
        tests=(f"{NOISE}::test_gaussian_noise_follows_its_law",),
    ),
    Mutant(
        name="one-noise-for-all-coordinates",
        why="Differences of coordinates that share a noise are exact: a seed reused.",
        file="mechanisms/noise.py",
        old="noise = laplace_noise(scale, len(values))",
        new="noise = laplace_noise(scale, 1) * len(values)",
        tests=(f"{NOISE}::test_laplace_noise_follows_its_law",),
    ),
    Mutant(
        name="noise-repeats-after-fork",
        why="Two children of one process would publish the same noise: a state reused after fork.",
        file="mechanisms/noise.py",
        old="noise = laplace_noise(scale, len(values))",
        new=(
            "from numpy import random as shared\n\n"
            "    p = -math.expm1(-1 / scale)\n"
            "    draws = shared.geometric(p, (2, len(values)))\n"
            "    noise = (draws[0] - draws[1]).tolist()"
        ),
        tests=(f"{FORKS}::test_children_repeat_neither_their_parent_nor_each_other",),
    ),
    Mutant(
        name="spherical-scale-rounded-to-nearest",
        why="A scale rounded to nearest may be below the sensitivity over epsilon.",
        file="mechanisms/spherical.py",
        old="return square_root_up(l2_squared / Fraction(positive(epsilon=epsilon)) ** 2)",
        new="return float(l2_squared**0.5 / positive(epsilon=epsilon))",
        tests=(f"{SPHERICAL}::test_the_scale_is_enough_and_hardly_more",),
    ),
    Mutant(
        name="spherical-noise-along-the-diagonals",
        why="Points of the square beyond the disc make the diagonals more likely: no sphere.",
        file="mechanisms/spherical.py",
        old="        while not self._inside():\n            pass",
        new="        self._inside()",
        tests=(f"{SPHERICAL}::test_a_point_on_the_edge_of_the_disc_is_looked_at_again",),
    ),
    Mutant(
        name="spherical-noise-guesses-an-open-integer",
        why="Integers near a border would get another mass than the law's.",
        file="mechanisms/spherical.py",
        old="return int(floor) if floor == high.to_integral_value(ROUND_FLOOR) else None",
        new="return int(floor)",
        tests=(f"{SPHERICAL}::test_more_digits_of_the_same_draw_decide",),
    ),
    Mutant(
        name="select-repeats-its-draws",
        why="A choice whose bits come from a fixed seed is no choice.",
        file="mechanisms/select.py",
        old="_draw_level(levels, Fraction(rate), random_bits)",
        new="_draw_level(levels, Fraction(rate), __import__('random').Random(7).getrandbits)",
        tests=(f"{SELECT}::test_draws_follow_the_distribution",),
    ),
    Mutant(
        name="select-draws-afresh",
        why="If an open draw is replaced and not refined, levels near a border are too rare.",
        file="mechanisms/select.py",
        old="draw = draw << bits | randbits(bits)",
        new="draw = randbits(bits) << bits | randbits(bits)",
        tests=(f"{SELECT}::test_an_open_draw_gets_more_bits_and_not_a_new_draw",),
    ),
    Mutant(
        name="select-weights-rounded",
        why="Weights in doubles make the probability of far candidates 0 on one side only.",
        file="mechanisms/select.py",
        old="return a * b >> bits, a_error + b_error + (a_error * b_error >> bits) + 2",
        new="return a * b >> bits, 0",
        tests=(f"{SELECT}::test_every_level_weight_is_enclosed",),
    ),
    Mutant(
        name="exponential-rate-of-monotone-scores-for-all",
        why="Scores that move both ways cost twice as much: the rate is epsilon / 2.",
        file="privacy/budget.py",
        old="half_range = _epsilon(cost) / 2",
        new="half_range = _epsilon(cost)",
        tests=("tests/test_accounting.py::test_exponential_rates",),
    ),
    Mutant(
        name="densest-bin-at-the-rate-of-one-way",
        why="A replacement takes from one score and adds to another: the rate is epsilon / 2.",
        file="mechanisms/dispatch.py",
        old="(cost, monotone=adjacency.one_way) / query.score_sensitivity(adjacency)",
        new="(cost, monotone=True) / query.score_sensitivity(adjacency)",
        tests=(
            "tests/mechanisms/test_densest_bin.py::test_the_rate_is_that_of_the_cost_over_the_peak",
        ),
    ),
    Mutant(
        name="densest-bin-forgets-who-nobody-is-near",
        why="A candidate of score 0 can be chosen: else an empty place would be impossible.",
        file="mechanisms/densest_bin.py",
        old="found[Level(0, octave)] += rest",
        new="found[Level(0, octave)] += 1",
        tests=(
            "tests/mechanisms/test_densest_bin.py"
            "::test_every_candidate_is_counted_once_and_found_at_its_place",
        ),
    ),
    Mutant(
        name="exponential-rate-of-zcdp-doubled",
        why="Bounded range gives (2 rate)^2 / 8, so the rate is sqrt(2 rho) and not sqrt(8 rho).",
        file="privacy/budget.py",
        old="half_range = Fraction(square_root_down(2 * _rho(cost)))",
        new="half_range = Fraction(square_root_down(8 * _rho(cost)))",
        tests=(
            "tests/test_accounting.py::test_the_exponential_mechanism_at_this_rate_is_rho_zcdp",
        ),
    ),
    Mutant(
        name="score-of-the-median-of-the-other-unit",
        why="-|below - above| moves by 2 under a replacement.",
        file="mechanisms/candidates.py",
        old="if adjacency.size_is_public:\n        return edges, -np.maximum(below, above)",
        new="if adjacency is None:\n        return edges, -np.maximum(below, above)",
        tests=(f"{MEDIAN}::test_one_record_changed_moves_a_replace_one_score_by_at_most_one",),
    ),
    Mutant(
        name="median-forgets-records-outside",
        why="Records beyond the public range still count: else the score jumps as one moves in.",
        file="mechanisms/candidates.py",
        old="below, above = twice[:-1], smaller[-1] - twice[1:]",
        new="below, above = twice[:-1] - smaller[start], smaller[stop] - twice[1:]",
        tests=(f"{MEDIAN}::test_runs_cover_the_range_with_the_scores_of_the_definition",),
    ),
    Mutant(
        name="median-only-among-the-records",
        why="A choice among the values that occur releases a record's value as it is.",
        file="mechanisms/medians.py",
        old="masses = np.delete(masses, np.cumsum(sizes)[:-1] - 1)",
        new=(
            "masses = np.delete(masses, np.cumsum(sizes)[:-1] - 1)\n"
            "    masses[::2] = 0 if len(masses) > 1 else masses[::2]"
        ),
        tests=(f"{MEDIAN}::test_choices_among_nine_doubles_follow_the_distribution",),
    ),
    Mutant(
        name="histogram-sensitivity-one",
        why="A replacement moves two counts: noise of scale 1 / epsilon costs 2 epsilon.",
        file="mechanisms/histograms.py",
        old="moved = adjacency.changes",
        new="moved = 1",
        tests=(f"{HISTOGRAMS}::test_a_small_universe_has_the_law_of_noise_on_every_bucket",),
    ),
    Mutant(
        name="histogram-without-empty-buckets",
        why="If only buckets with records can show, a bucket that shows is known to have one.",
        file="mechanisms/histograms.py",
        old="draw_exceedances(distribution, _size(universe) - len(occupied), least)",
        new="draw_exceedances(distribution, 0, least)",
        tests=(f"{HISTOGRAMS}::test_a_small_universe_has_the_law_of_noise_on_every_bucket",),
    ),
    Mutant(
        name="stability-threshold-one-too-low",
        why="A key that occurs once would be released with more than delta.",
        file="mechanisms/histograms.py",
        old="return 1 + sparse.reach(distribution, Fraction(budget.delta))",
        new="return sparse.reach(distribution, Fraction(budget.delta))",
        tests=(f"{HISTOGRAMS}::test_the_stability_threshold_is_the_least_that_keeps_delta",),
    ),
    Mutant(
        name="stability-threshold-at-the-wrong-noise",
        why="The threshold must be computed for the noise that is added.",
        file="mechanisms/histograms.py",
        old="return 1 + sparse.reach(distribution, Fraction(budget.delta))",
        new="return 1 + sparse.reach(distribution, 10 * Fraction(budget.delta))",
        tests=(f"{HISTOGRAMS}::test_stability_satisfies_epsilon_delta_by_summation",),
    ),
    Mutant(
        name="largest-bucket-as-if-monotone",
        why="Under a replacement one count falls and another rises: the rate is epsilon / 2.",
        file="mechanisms/histograms.py",
        old="monotone=adjacency.one_way)\n    index = select",
        new="monotone=True)\n    index = select",
        tests=(f"{HISTOGRAMS}::test_the_largest_bucket_is_chosen_with_its_probability",),
    ),
    Mutant(
        name="empty-keys-hit-occupied-ones",
        why="A key drawn for an empty bucket must not be one that has records.",
        file="mechanisms/sparse.py",
        old="return [low + rank + bisect_right(empty_before, rank) for rank in ranks]",
        new="return [low + rank for rank in ranks]",
        tests=(f"{HISTOGRAMS}::test_ranks_of_empty_keys_skip_the_occupied_ones",),
    ),
    Mutant(
        name="every-column-spends-everything",
        why="A row has a cell in every column, so the costs of all choices add up.",
        file="privacy/choices.py",
        old="on_sample(one_of_many(cost, choices), halvings)",
        new="on_sample(cost, halvings)",
        tests=(f"{MANY}::test_choices_have_the_law_of_the_exponential_mechanism",),
    ),
    Mutant(
        name="rank-scores-move-by-two",
        why="The rate is for scores that one row moves by 1.",
        file="mechanisms/ranks.py",
        old="scores: Counts = np.minimum.reduce(",
        new="scores: Counts = 2 * np.minimum.reduce(",
        tests=(f"{MANY}::test_scores_move_by_at_most_one",),
    ),
    Mutant(
        name="rank-scores-add-what-is-lacking",
        why="A row that leaves the body for what lies beyond would move both parts of the sum.",
        file="mechanisms/ranks.py",
        old="query.lead - lacking]",
        new="query.lead - lacking + table - query.target]",
        tests=(f"{MANY}::test_scores_move_by_at_most_one",),
    ),
    Mutant(
        name="quick-median-trusts-a-draw-just-below-a-border",
        why="Floating point may err there: the level may be the next one.",
        file="mechanisms/medians.py",
        old="clear = (before + DOUBT <= targets) & (targets <= after - DOUBT)",
        new="clear = before + DOUBT <= targets",
        tests=(f"{MANY}::test_a_draw_is_clear_only_away_from_the_ends",),
    ),
    Mutant(
        name="quick-median-draws-afresh",
        why="A draw in doubt must be refined, or levels near a border are too rare.",
        file="mechanisms/medians.py",
        old="known = [draw]",
        new="known: list[int] = []",
        tests=(f"{MANY}::test_a_draw_in_doubt_is_continued_and_not_replaced",),
    ),
)
