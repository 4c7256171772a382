"""Fake releases: what would read data, seed real noise or lose the mark."""

from __future__ import annotations

from .mutant import Mutant

FAKES = "tests/test_fakes.py"

MADE_UP: tuple[Mutant, ...] = (
    Mutant(
        name="fake-mode-that-reads",
        why="Inside of fake_releases() a program would read real data and spend a real budget.",
        file="_fakes.py",
        old="    return _modes[-1] if _modes else None",
        new="    return None",
        tests=(f"{FAKES}::test_data_are_not_read_and_the_same_seed_gives_the_same_fake",),
    ),
    Mutant(
        name="seeded-noise-without-a-mark",
        why="Whoever knows the seed of a real release subtracts its noise.",
        file="run.py",
        old="    if draws_for_fakes() and not plan.request.fake:",
        new="    if draws_for_fakes() and plan.request.fake is None:",
        tests=(f"{FAKES}::test_only_what_is_marked_is_released_with_seeded_noise",),
    ),
    Mutant(
        name="fake-plan-on-real-data",
        why="A release of real data would carry the mark of a fake, and nobody would count it.",
        file="api/running.py",
        old="    if request.fake:",
        new="    if request.fake is None:",
        tests=(f"{FAKES}::test_a_plan_of_a_release_makes_fakes_and_a_plan_of_a_fake_no_releases",),
    ),
    Mutant(
        name="fakes-paid-by-a-real-ledger",
        why="A fake would stand among releases, and a real one could be charged to a fake budget.",
        file="ledger/accounts.py",
        old="    if account.fake == fake:",
        new="    if account.fake <= fake:",
        tests=(f"{FAKES}::test_a_ledger_of_real_data_sets_refuses_fakes",),
    ),
    Mutant(
        name="fake-without-its-mark-in-json",
        why="A fake whose mark was cut out would be read as a release.",
        file="recorded.py",
        old='    if not record.get("fake", False) is noted is fake:',
        new='    if not record.get("fake", fake) is noted is fake:',
        tests=(f"{FAKES}::test_a_changed_mark_is_noticed",),
    ),
)
