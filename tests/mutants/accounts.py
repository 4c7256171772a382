"""Accounts that forget a cost, and guarantees that promise more than was paid for."""

from __future__ import annotations

from .mutant import Mutant

ASK = "tests/test_ask.py"
BUDGET = "tests/test_budget.py"
ACCOUNTING = "tests/test_accounting.py"
GUARANTEE = "tests/test_guarantee.py"

ACCOUNTS: tuple[Mutant, ...] = (
    Mutant(
        name="account-forgets-parts",
        why="What is asked of parts counts for the whole.",
        file="ask.py",
        old="costs = self._costs + [group for group in self._groups if group is not None]",
        new="costs = self._costs",
        tests=(f"{ASK}::test_the_account_is_sums_of_maxima",),
    ),
    Mutant(
        name="answers-hear-what-numpy-was-told",
        why="A caller's numpy.seterr would turn an underflow into an error that tells of records.",
        file="ask.py",
        old='with np.errstate(all="ignore"):',
        new="with np.errstate():",
        tests=(f"{ASK}::test_an_answer_does_not_hear_what_numpy_was_told",),
    ),
    Mutant(
        name="exact-answers-in-the-log",
        why="A log is kept and read by others: an exact answer in it is a release without noise.",
        file="ask.py",
        old="answer = make_private(exact)",
        new=(
            "answer = make_private(exact)\n"
            '            __import__("logging").getLogger("py4j.clientserver").debug("%s", exact)'
        ),
        tests=("tests/privacy/test_side_channels.py::test_lists_look_alike",),
    ),
    Mutant(
        name="groups-of-parts-as-if-disjoint",
        why="Two ways to cut the same records, or two columns of one row, add up.",
        file="ask.py",
        old="self._groups.append(None)",
        new="self._groups = self._groups or [None]",
        tests=(f"{ASK}::test_two_groups_of_parts_read_the_same_records_and_add_up",),
    ),
    Mutant(
        name="parts-may-overlap",
        why="A record in two parts pays in both: only disjoint parts cost one.",
        file="data/relation.py",
        old="apart = all(one[1] <= other[0] for one, other in pairwise(taken))",
        new="apart = all(one[0] <= other[0] for one, other in pairwise(taken))",
        tests=(f"{ASK}::test_parts_that_overlap_are_refused",),
    ),
    Mutant(
        name="groups-under-replace-one",
        why="A replaced record may change its key, which no cost of a group has in it.",
        file="ask.py",
        old="if relation.groups is not None and self.adjacency.size_is_public:",
        new="if self.adjacency is None:",
        tests=(f"{ASK}::test_groups_are_for_add_remove",),
    ),
    Mutant(
        name="groups-of-other-rows-are-disjoint",
        why="Codes are those of one choice over the same rows: else a record may be in two.",
        file="data/relation.py",
        old="replace(each, part=None) == replace(first, part=None) for each in relations",
        new="True for each in relations",
        tests=(f"{ASK}::test_only_what_nobody_can_be_in_twice_is_disjoint",),
    ),
    Mutant(
        name="groups-among-positions-are-disjoint",
        why="A record more in one group moves a record of another one out of the rows.",
        file="data/relation.py",
        old="if first.groups is not None and first.span is None and by_group:",
        new="if first.groups is not None and by_group:",
        tests=(f"{ASK}::test_only_what_nobody_can_be_in_twice_is_disjoint",),
    ),
    Mutant(
        name="groups-in-parallel-under-replace-one",
        why="A replaced record leaves one group and joins another: both pay.",
        file="data/relation.py",
        old="return in_one and not adjacency.size_is_public and len(set(codes)) == len(codes)",
        new="return in_one and len(set(codes)) == len(codes)",
        tests=(f"{ASK}::test_only_what_nobody_can_be_in_twice_is_disjoint",),
    ),
    Mutant(
        name="parts-by-position-under-add-remove",
        why="A record more shifts all later positions, so every part changes.",
        file="data/relation.py",
        old="return adjacency.keeps_positions and len(spans)",
        new="return adjacency.person is None and len(spans)",
        tests=(f"{ASK}::test_rows_by_position_need_replace_one",),
    ),
    Mutant(
        name="positions-in-sequence-under-add-remove",
        why="A record more moves another one out of the rows: two change, and one is paid for.",
        file="ask.py",
        old="if relation.span is not None and not self.adjacency.keeps_positions:",
        new="if self.adjacency is None:",
        tests=(f"{ASK}::test_rows_by_position_are_for_records_that_stay_where_they_are",),
    ),
    Mutant(
        name="pay-after-reading",
        why="A refusal that comes after the read, and a crash, would leave a read unpaid.",
        file="ask.py",
        old=(
            "self._account.charge(cost)\n"
            "        read, make_private = self._responder.prepare(query, cost, self.adjacency)"
        ),
        new=(
            "read, make_private = self._responder.prepare(query, cost, self.adjacency)\n"
            "        read(query)\n"
            "        self._account.charge(cost)"
        ),
        tests=(f"{ASK}::test_overspending_is_refused_before_a_record_is_read",),
    ),
    Mutant(
        name="answers-without-noise",
        why=(
            "An estimator sees answers only, so the median of un-noised means has no closer "
            "relative here than an ask that adds nothing."
        ),
        file="mechanisms/dispatch.py",
        old="return partial(add_laplace, l1=sensitivity.l1, epsilon=cost.strength)",
        new="return tuple",
        tests=(
            "tests/privacy/test_mutants_ask.py::test_noise_has_the_scale_that_the_query_asks_for",
        ),
    ),
    Mutant(
        name="gaussian-noise-for-l1",
        why="Gaussian noise is for the squared L2 sensitivity; 64 is not 64 squared.",
        file="mechanisms/dispatch.py",
        old="l2_squared=sensitivity.l2_squared, rho=cost.rho",
        new="l2_squared=sensitivity.l1, rho=cost.rho",
        tests=(
            "tests/privacy/test_mutants_ask.py::test_noise_has_the_scale_that_the_query_asks_for",
        ),
    ),
    Mutant(
        name="laplace-noise-for-l2",
        why="Laplace noise on a vector is for its L1 sensitivity.",
        file="mechanisms/dispatch.py",
        old="add_laplace, l1=sensitivity.l1, epsilon",
        new="add_laplace, l1=round(sensitivity.l2_squared**0.5), epsilon",
        tests=(
            "tests/privacy/test_mutants_ask.py::test_noise_has_the_scale_that_the_query_asks_for",
        ),
    ),
    Mutant(
        name="noise-of-the-other-unit",
        why="Noise for one record more or less is too little for a replaced one.",
        file="mechanisms/dispatch.py",
        old="    sensitivity = query.sensitivity(adjacency)\n",
        new="    sensitivity = query.sensitivity(Adjacency.ADD_REMOVE)\n",
        tests=(
            "tests/privacy/test_mutants_ask.py::test_noise_has_the_scale_that_the_query_asks_for",
        ),
    ),
    Mutant(
        name="universe-from-the-data",
        why=(
            "Bounds must not come from the records. No estimator can see them, so this is R from "
            "the data in the one place that could: buckets from the least to the largest key."
        ),
        file="mechanisms/dispatch.py",
        old=(
            "partial(largest_bucket, budget=cost, low=query.low, high=query.high, "
            "adjacency=adjacency)"
        ),
        new=(
            "lambda exact: largest_bucket(\n"
            "        exact,\n"
            "        cost,\n"
            "        low=min(exact, default=query.low),\n"
            "        high=max(exact, default=query.high),\n"
            "        adjacency=adjacency,\n"
            "    )"
        ),
        tests=(
            "tests/privacy/test_mutants_ask.py::test_a_bucket_may_be_chosen_that_no_record_is_in",
        ),
    ),
    Mutant(
        name="winner-at-twice-its-rate",
        why="The scores of a tournament move both ways.",
        file="mechanisms/dispatch.py",
        old="rate = exponential_rate(cost) / query.score_sensitivity(adjacency)",
        new="rate = exponential_rate(cost, monotone=True) / query.score_sensitivity(adjacency)",
        tests=(
            "tests/privacy/test_mutants_ask.py::test_a_winner_is_chosen_at_the_rate_of_its_cost",
        ),
    ),
    Mutant(
        name="sample-pays-nothing-for-being-seen",
        why="A sample of half of the records allows ln(1 + 2 (e^eps - 1)), not 2 eps.",
        file="privacy/budget.py",
        old="exact = math.log1p(math.ldexp(math.expm1(epsilon), halvings))",
        new="exact = math.ldexp(epsilon, halvings)",
        tests=(
            "tests/privacy/test_mutants_ask.py::test_what_a_sample_may_spend_costs_no_more_on_all",
        ),
    ),
    Mutant(
        name="sample-of-a-concentrated-budget-too-cheap",
        why="A pure cost within rho is sqrt(2 rho); sqrt(8 rho) holds for a choice without coins.",
        file="privacy/budget.py",
        old="else square_root_down(2 * _rho(cost))\n    if epsilon",
        new="else square_root_down(8 * _rho(cost))\n    if epsilon",
        tests=(
            "tests/privacy/test_mutants_ask.py::test_what_a_sample_may_spend_costs_no_more_on_all",
        ),
    ),
    Mutant(
        name="lone-gaussian-as-if-continuous",
        why="Discrete noise needs a variance of 16 more for the exact (epsilon, delta).",
        file="mechanisms/noise.py",
        old="(Fraction(s) ** 2 + 16)",
        new="(Fraction(s) ** 2)",
        tests=("tests/paper/test_ball.py::test_discrete_noise_alone_keeps_epsilon_and_delta",),
    ),
    Mutant(
        name="lone-gaussian-lowered-by-one",
        why="The noise is for the squared L2 sensitivity, not for one less.",
        file="mechanisms/dispatch.py",
        old="return partial(add_gaussian, l2_squared=l2_squared, rho=rho)",
        new="return partial(add_gaussian, l2_squared=l2_squared - 1, rho=rho)",
        tests=(
            "tests/privacy/test_mutants_ask.py::test_a_lone_gaussian_has_the_scale_of_its_cost",
        ),
    ),
    Mutant(
        name="disjoint-parts-cost-the-least",
        why="Whoever is in the dearest part paid that much.",
        file="privacy/budget.py",
        old="return kinds.pop().trusted(*map(max, numbers))",
        new="return kinds.pop().trusted(*map(min, numbers))",
        tests=(f"{BUDGET}::test_disjoint_parts_cost_the_largest",),
    ),
    Mutant(
        name="pure-cost-as-an-eighth",
        why="epsilon^2 / 8 holds for the exponential mechanism; a pure cost is epsilon^2 / 2.",
        file="privacy/budget.py",
        old="else _epsilon(cost) ** 2 / 2",
        new="else _epsilon(cost) ** 2 / 8",
        tests=(f"{BUDGET}::test_sums_are_exact_up_to_one_rounding_upwards",),
    ),
    Mutant(
        name="costs-rounded-to-nearest",
        why="A sum of costs that is rounded down claims more privacy than there is.",
        file="privacy/budget.py",
        old="return Pure.trusted(round_up(sum(map(_epsilon, costs), Fraction(0))))",
        new="return Pure.trusted(sum(map(float, map(_epsilon, costs))))",
        tests=(f"{BUDGET}::test_sums_are_exact_up_to_one_rounding_upwards",),
    ),
    Mutant(
        name="deltas-forgotten",
        why="The deltas of the costs use up the delta of the guarantee.",
        file="privacy/budget.py",
        old="left = Fraction(probability(delta=delta)) - deltas",
        new="left = Fraction(probability(delta=delta))",
        tests=(f"{BUDGET}::test_deltas_that_leave_too_little_are_refused",),
    ),
    Mutant(
        name="fits-forgets-delta",
        why="(1, 1e-5) is not within (1, 1e-6).",
        file="privacy/budget.py",
        old="return spent.epsilon <= budget.epsilon and spent.delta <= budget.delta",
        new="return spent.epsilon <= budget.epsilon",
        tests=(f"{BUDGET}::test_fits_compares_exactly",),
    ),
    Mutant(
        name="pieces-exceed-the-whole",
        why="Pieces of a budget that are rounded up cost more than the budget.",
        file="privacy/definitions.py",
        old="return [*pieces, round_down(whole - sum(map(Fraction, pieces)))]",
        new="return [*pieces, float(parts[-1] * whole)]",
        tests=(f"{BUDGET}::test_pieces_never_exceed_the_whole",),
    ),
    Mutant(
        name="conversion-below-the-truth",
        why="An epsilon below the exact one is not the epsilon of that delta.",
        file="privacy/accounting.py",
        old="(log_inverse - log_order) / a - log_a",
        new="(log_inverse - 2 * log_order) / a - log_a",
        tests=(
            f"{ACCOUNTING}::test_zcdp_to_approx_is_never_below_and_hardly_above_the_exact_minimum",
        ),
    ),
    Mutant(
        name="noise-figures-lowered-by-one",
        why="An interval must be as wide as the noise that was added asks for.",
        file="privacy/budget.py",
        old="round_up(l1 / _epsilon(cost))",
        new="round_up((l1 - 1) / _epsilon(cost))",
        tests=(f"{ACCOUNTING}::test_noise_is_laplace_or_gaussian",),
    ),
    Mutant(
        name="group-of-records-for-k-rho",
        why="Group privacy of zCDP is quadratic: k records cost k^2 rho.",
        file="interop.py",
        old="round_up(records**2 * Fraction(cost.rho))",
        new="round_up(records * Fraction(cost.rho))",
        tests=("tests/test_interop.py::test_group_privacy_is_rounded_up",),
    ),
    Mutant(
        name="persons-counted-as-records",
        why="A record of a person costs 2 epsilon, where a metric of records says epsilon.",
        file="interop.py",
        old="if adjacency.person is not None:  # a record",
        new="if adjacency.person == 0:  # a record",
        tests=("tests/test_interop.py::test_persons_are_counted_by_a_metric_of_their_own",),
    ),
    Mutant(
        name="group-lowered-by-one",
        why="Two records cost 2 epsilon, also inside a compositor of OpenDP.",
        file="interop.py",
        old="round_up(records * Fraction(cost.strength))",
        new="round_up((records - (records > 1)) * Fraction(cost.strength))",
        tests=("tests/test_interop.py::test_group_privacy_is_rounded_up",),
    ),
    Mutant(
        name="replacement-for-the-price-of-a-removal",
        why="A replacement is a removal and an addition: 2 epsilon.",
        file="privacy/budget.py",
        old="return Guarantee(2 * epsilon, doubled",
        new="return Guarantee(epsilon, doubled",
        tests=(GUARANTEE,),
    ),
    Mutant(
        name="replacement-doubles-rho",
        why="Group privacy of zCDP is quadratic: two steps cost 4 rho.",
        file="privacy/budget.py",
        old="return Guarantee(None, None, 4 * self.rho",
        new="return Guarantee(None, None, 2 * self.rho",
        tests=(GUARANTEE,),
    ),
    Mutant(
        name="record-for-the-price-of-its-person",
        why="A record less is a person who goes and comes back without it: 2 epsilon.",
        file="privacy/budget.py",
        old="return self._twice(Adjacency.ADD_REMOVE)",
        new="return replace(self, adjacency=Adjacency.ADD_REMOVE)",
        tests=(f"{GUARANTEE}::test_what_a_guarantee_for_persons_implies_for_one_record",),
    ),
    Mutant(
        name="replacement-changes-one-thing",
        why="A replacement is one record that goes and one that comes: two counts move.",
        file="privacy/adjacency.py",
        old="return 2 if self.size_is_public else 1",
        new="return 1",
        tests=("tests/test_queries.py::test_the_sensitivity_is_attained",),
    ),
    Mutant(
        name="guarantee-of-the-way-taken",
        why="Which questions were asked depends on answers, so their cost would say something.",
        file="run.py",
        old="guarantee=Guarantee.from_budget(plan.budget, plan.adjacency),",
        new="guarantee=Guarantee.from_budget(ask.spent or plan.budget, plan.adjacency),",
        tests=("tests/privacy/test_mutants_release.py::test_the_guarantee_is_that_of_the_plan",),
    ),
)
