"""Bugs in what databases are asked."""

from __future__ import annotations

from .mutant import Mutant

COLUMN = "tests/sql/test_column.py"
ROWS = "tests/sql/test_rows.py"
FAILURES = "tests/sql/test_failures.py"
SAME = f"{COLUMN}::test_every_query_has_the_integers_of_the_kernel"

DATABASES: tuple[Mutant, ...] = (
    Mutant(
        name="sql-nan-is-a-number",
        why="PostgreSQL takes NaN for the largest number: a missing record would count.",
        file="engines/sql/dialects.py",
        old="present=\"({x} <= CAST('Infinity' AS float8))\"",
        new='present="({x} IS NOT NULL)"',
        tests=(SAME,),
    ),
    Mutant(
        name="sql-profile-by-other-bits",
        why="A record would count at a node where the proof does not have it.",
        file="engines/sql/dialects.py",
        old="get_byte({b}, 0) * 256",
        new="get_byte({b}, 0) * 128",
        tests=(SAME,),
    ),
    Mutant(
        name="sql-scaled-before-it-is-clipped",
        why="PostgreSQL raises where a product overflows: an error that depends on one record.",
        file="engines/sql/dialects.py",
        old="ELSE least(greatest({x}, {least}), {most}) * {inverse} END",
        new="ELSE {x} * {inverse} END",
        tests=(SAME,),
    ),
    Mutant(
        name="sql-literals-of-fewer-digits",
        why="A clip point that is read as another double gives other integers than are proved.",
        file="engines/sql/dialects.py",
        old="written = repr(number) if",
        new="written = f'{number:.15g}' if",
        tests=("tests/sql/test_dialects.py::test_a_number_is_read_as_it_was_written",),
    ),
    Mutant(
        name="sql-vanishing-products",
        why="PostgreSQL raises where a product underflows: an error that depends on one record.",
        file="engines/sql/column.py",
        old="_VANISHES = -1075",
        new="_VANISHES = -1090",
        tests=(SAME,),
    ),
    Mutant(
        name="sql-centre-beyond-the-limit",
        why="A difference that overflows raises in PostgreSQL, or is infinite.",
        file="engines/sql/dialects.py",
        old="LARGEST_CENTRE = 2.0**969",
        new="LARGEST_CENTRE = 2.0**1023",
        tests=(SAME,),
    ),
    Mutant(
        name="sql-places-of-one-page",
        why="Records of all pages but the first would never be in a sample.",
        file="engines/sql/column.py",
        old="coins = Sampler(halvings).pick(places.count)",
        new="coins = Sampler(halvings).pick(places.in_block)",
        tests=(f"{COLUMN}::TestSample::test_every_record_is_in_it_at_the_rate",),
    ),
    Mutant(
        name="sql-no-row-after-the-last",
        why="Rows without a coin would be left out of a sample, and nobody would notice.",
        file="engines/sql/column.py",
        old="[*coins.tolist(), rows + 1]",
        new="coins.tolist()",
        tests=(f"{FAILURES}::TestServer::test_a_view_that_changes_is_noticed",),
    ),
    Mutant(
        name="sql-each-question-its-own-snapshot",
        why="Two questions would be about different records.",
        file="engines/sql/postgres.py",
        old="ISOLATION LEVEL REPEATABLE READ",
        new="ISOLATION LEVEL READ COMMITTED",
        tests=(f"{FAILURES}::TestServer::test_one_snapshot_for_all_questions",),
    ),
    Mutant(
        name="sql-a-missing-record-of-a-person",
        why="GREATEST leaves NULL out: a missing record would count as the least number.",
        file="engines/sql/persons.py",
        old="CASE WHEN x IS NOT NULL THEN float8send",
        new="CASE WHEN true THEN float8send",
        tests=(f"{ROWS}::TestPersons::test_views",),
    ),
    Mutant(
        name="sql-ids-by-collation",
        why="Two persons whose names a collation takes for one would move together.",
        file="engines/sql/persons.py",
        old='if declared == "text" else column',
        new='if declared == "other" else column',
        tests=(
            f"{ROWS}::TestPersons::test_texts_are_compared_by_their_bytes_whatever_the_collation",
            f"{ROWS}::TestPersons::test_ids_are_compared_by_their_bytes",
        ),
    ),
    Mutant(
        name="sql-words-of-the-server",
        why="What a server says of a failure may quote a record.",
        file="engines/sql/postgres.py",
        old='return f"{self.shown} gave no answer: {said}."',
        new='return f"{self.shown} gave no answer: {said}. {error}"',
        tests=(f"{FAILURES}::TestServer::test_a_record_that_makes_a_view_fail_is_not_quoted",),
    ),
)
