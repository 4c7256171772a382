"""The ledger: the filter, prices, decimals, and what makes a charge durable."""

from __future__ import annotations

from .mutant import Mutant

FILTER = "tests/ledger/test_filter.py"
LEDGER = "tests/ledger/test_ledger.py"
PAYMENT = "tests/ledger/test_payment.py"
DECIMALS = "tests/privacy/test_decimals.py"
TAMPER = "tests/ledger/test_tamper.py"

LEDGERS: tuple[Mutant, ...] = (
    Mutant(
        name="filter-fourth-branch",
        why="Basic sums plus the converted zCDP part split epsilon along the way: no theorem.",
        file="ledger/filter.py",
        old="    return _basic(budget, spent) or _concentrated(budget, spent)",
        new="    left = budget.epsilon - spent.epsilon\n"
        "    mixed = left > 0 and spent.rho <= concentrated_limit(left, budget.delta / 2)\n"
        "    mixed = mixed and spent.delta <= budget.delta / 2\n"
        "    return mixed or _basic(budget, spent) or _concentrated(budget, spent)",
        tests=(f"{FILTER}::test_what_a_plan_may_do_and_a_filter_may_not",),
    ),
    Mutant(
        name="filter-full-delta-twice",
        why="Either of two rules costs the sum of their deltas.",
        file="ledger/filter.py",
        old="spent.delta <= budget.delta / 2\n    return spent.rho",
        new="spent.delta <= budget.delta\n    return spent.rho",
        tests=(f"{FILTER}::test_what_a_plan_may_do_and_a_filter_may_not",),
    ),
    Mutant(
        name="filter-forgets-pure-charges",
        why="In zCDP a pure charge counts epsilon^2 / 2.",
        file="ledger/filter.py",
        old="self.concentrated + cost.rho + cost.epsilon**2 / 2,",
        new="self.concentrated + cost.rho + cost.epsilon**2 / 8,",
        tests=(f"{FILTER}::test_equal_charges",),
    ),
    Mutant(
        name="filter-limit-too-large",
        why="A larger rho would not convert to the epsilon of the budget.",
        file="ledger/filter.py",
        old="- margin) / (1 + a)",
        new="+ Decimal('1e-6')) / (1 + a)",
        tests=(f"{FILTER}::test_the_limit_is_valid_and_hardly_below_the_best",),
    ),
    Mutant(
        name="person-at-the-price-of-a-record",
        why="A person leaves and comes back with the record: two steps.",
        file="ledger/cost.py",
        old="            return cost.twice()",
        new="            return cost",
        tests=(f"{FILTER}::test_two_steps_cost_what_group_privacy_says",),
    ),
    Mutant(
        name="record-release-on-a-person-ledger",
        why="A person may have any number of records.",
        file="ledger/cost.py",
        old="        if self == of:\n",
        new="        if self == of or not of.person:\n",
        tests=(f"{LEDGER}::test_another_unit_is_refused",),
    ),
    Mutant(
        name="double-nearest-to-the-decimal",
        why="The double nearest to 0.1 is above it: ten of them exceed 1.",
        file="privacy/decimals.py",
        old="return nearest if Fraction(nearest) <= number else",
        new="return nearest if nearest else",
        tests=(f"{DECIMALS}::test_a_mechanism_spends_the_largest_double_not_above_the_decimal",),
    ),
    Mutant(
        name="numbers-made-before-they-are-paid-for",
        why="Whoever reads first and is refused then has read for nothing, and may look again.",
        file="charged_calls.py",
        old="            lambda _ticket: make(),",
        new="            lambda _ticket, made=make(): made,  # type: ignore[misc]",
        tests=("tests/ledger/test_releases.py::test_records_are_read_after_the_charge",),
    ),
    Mutant(
        name="numbers-spend-the-double-above-the-decimal",
        why="The double nearest to 0.1 is above it: what is charged is the decimal.",
        file="paper/_opened.py",
        old="        spendable = budget.spendable()",
        new="        spendable = budget",
        tests=("tests/ledger/test_releases.py::test_the_paper_spends_no_more_than_the_decimal",),
    ),
    Mutant(
        name="part-without-its-whole",
        why="A release about a part is a release about the whole.",
        file="ledger/charging.py",
        old="    for account in with_parents(rows, demand.dataset):",
        new="    for account in with_parents(rows, demand.dataset)[:1]:",
        tests=(f"{LEDGER}::test_a_part_charges_its_wholes",),
    ),
    Mutant(
        name="second-name-for-a-folder",
        why="A file within a folder that has a budget must not get a second one.",
        file="ledger/charging.py",
        old="used = rows.names_at(folders_above(place))",
        new="used = rows.names_at([place])",
        tests=(f"{LEDGER}::test_a_file_in_a_folder_that_was_charged",),
    ),
    Mutant(
        name="lost-release-charged-again",
        why="A charge without a result is spent; the same id is never charged twice.",
        file="ledger/charging.py",
        old="        if earlier is not None:",
        new="        if earlier is not None and rows.result(release) is not None:",
        tests=(f"{LEDGER}::test_a_charge_without_a_result_is_lost",),
    ),
    Mutant(
        name="verify-without-sums",
        why="A forger who mends the chain must still get the sums right.",
        file="ledger/verify.py",
        old="given != running.fixed or spent != running.as_recorded():",
        new="given != running.fixed:",
        tests=(f"{TAMPER}::test_a_forger_who_mends_the_chain_must_still_get_the_sums_right",),
    ),
    Mutant(
        name="verify-without-filter-at-a-raise",
        why="An overspent budget must not be hidden by a later raise.",
        file="ledger/verify.py",
        old="    _must_fit(before)\n",
        new="",
        tests=(f"{TAMPER}::test_overspending_shows_even_with_right_sums",),
    ),
    Mutant(
        name="ledger-synchronous-full",
        why="With FULL a power loss may bring a deleted journal back and undo a charge.",
        file="ledger/sqlite.py",
        old='("EXTRA", 3)',
        new='("FULL", 2)',
        tests=("tests/ledger/test_powerloss.py::test_no_acknowledged_charge_is_lost",),
    ),
    Mutant(
        name="ledger-journal-in-memory",
        why="Without a journal on disk a killed writer leaves a torn file.",
        file="ledger/sqlite.py",
        old='((mode,),) = connection.run("PRAGMA journal_mode = DELETE")',
        new='mode = "delete"; connection.run("PRAGMA journal_mode = MEMORY")',
        tests=("tests/ledger/test_crash.py::test_kill_at_every_step_of_a_file",),
    ),
    Mutant(
        name="ledger-read-before-charged",
        why="A crash between the two would leave a release that nobody paid for.",
        file="ledger/payment.py",
        old="        ticket = self.ledger.charge(\n",
        new="        made = make(Ticket('', '', '', None, '', self.ledger._storage))\n"
        "        make = lambda ticket: made\n"
        "        ticket = self.ledger.charge(\n",
        tests=(f"{PAYMENT}::test_what_is_refused_reads_nothing",),
    ),
    Mutant(
        name="ledger-returned-before-stored",
        why="A result that is seen and not stored would be paid for twice, or be asked back.",
        file="ledger/payment.py",
        old="        ticket.store(write(released))\n        return released",
        new="        try:\n            ticket.store(write(released))\n"
        "        finally:\n            return released",
        tests=(f"{PAYMENT}::test_a_result_that_cannot_be_stored_is_not_returned",),
    ),
)
