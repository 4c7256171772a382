"""Bugs in what databases are asked."""

from __future__ import annotations

from .mutant import Mutant

COLUMN = "tests/sql/test_column.py"
ROWS = "tests/sql/test_rows.py"
FAILURES = "tests/sql/test_failures.py"
SAME = "tests/backends/test_conformance.py::test_every_answer_is_that_of_memory"
ATTACHED = "test_tables_that_others_attach_do_not_show_in_a_release"
VIRTUAL = "test_a_column_that_is_computed_when_it_is_read_is_refused"

NAN = "tests/backends/test_neighbors.py::test_nan_is_missing_whatever_a_parquet_file_states"
CLICKHOUSE_NAMES = "tests/sql/test_clickhouse.py::test_names_of_ours_are_columns_like_others"
NUL = f"{ROWS}::test_a_key_with_the_character_0_is_a_key_like_others"

DATABASES: tuple[Mutant, ...] = (
    Mutant(
        name="sql-nan-by-comparison-in-duckdb",
        why="DuckDB answers comparisons by statistics of a file: one record decides about others.",
        file="data/sql/dialects.py",
        old="present=DUCKDB_IS_NUMBER",
        new="present=\"({x} <= CAST('Infinity' AS DOUBLE))\"",
        tests=(NAN,),
    ),
    Mutant(
        name="sql-nan-by-isnan-in-duckdb",
        why="DuckDB folds isnan away as well, where statistics of a file leave NaN out.",
        file="data/sql/dialects.py",
        old="present=DUCKDB_IS_NUMBER",
        new='present="({x} IS NOT NULL AND NOT isnan({x}))"',
        tests=(NAN,),
    ),
    Mutant(
        name="clickhouse-nan-is-a-number",
        why="A missing record would count in ClickHouse, and have a bin of its own.",
        file="expressions/sql.py",
        old="<= 9218868437227405312, false)",
        new=">= -9218868437227405312, false)",
        tests=(f"{SAME}[ClickHouse-one column]",),
    ),
    Mutant(
        name="clickhouse-aliases-before-columns",
        why="A column with a name like one of ours would be taken for what we call so.",
        file="data/sql/clickhouse.py",
        old="prefer_column_name_to_alias = 1",
        new="prefer_column_name_to_alias = 0",
        tests=(CLICKHOUSE_NAMES,),
    ),
    Mutant(
        name="sql-keys-without-the-character-0",
        why="Rows of such a key would be those of another group, or not, by the way they are read.",
        file="data/sql/compiler.py",
        old='if "\\0" in text and not dialect.has_nul:',
        new='if "\\0" in text:',
        tests=(NUL,),
    ),
    Mutant(
        name="sql-nan-is-a-number",
        why="PostgreSQL takes NaN for the largest number: a missing record would count.",
        file="data/sql/dialects.py",
        old="present=\"({x} <= CAST('Infinity' AS float8))\"",
        new='present="({x} IS NOT NULL)"',
        tests=(f"{SAME}[PostgreSQL-one column]",),
    ),
    Mutant(
        name="sql-profile-by-other-bits",
        why="A record would count at a node where the proof does not have it.",
        file="data/sql/dialects.py",
        old="(get_byte(b, 0) * 256 + get_byte(b, 1)) AS bin",
        new="(get_byte(b, 0) * 128 + get_byte(b, 1)) AS bin",
        tests=(f"{SAME}[PostgreSQL-one column]",),
    ),
    Mutant(
        name="sql-rounds-half-even",
        why="One backend with another rounding answers another query than the one that was proved.",
        file="data/sql/aggregates.py",
        old="x=f'floor({ticks})'",
        new="x=f'round({ticks})'",
        tests=(f"{SAME}[PostgreSQL-one column]",),
    ),
    Mutant(
        name="sql-scaled-before-it-is-clipped",
        why="PostgreSQL raises where a product overflows: an error that depends on one record.",
        file="data/sql/aggregates.py",
        old='ticks = f"least(greatest(x, {least}), {most}) * {inverse}"',
        new='ticks = f"least(greatest(x * {inverse}, {least} * {inverse}), {most} * {inverse})"',
        tests=(f"{SAME}[PostgreSQL-one column]",),
    ),
    Mutant(
        name="sql-literals-of-fewer-digits",
        why="A clip point that is read as another double gives other integers than are proved.",
        file="data/sql/dialects.py",
        old="written = repr(number) if",
        new="written = f'{number:.15g}' if",
        tests=("tests/sql/test_dialects.py::test_a_number_is_read_as_it_was_written",),
    ),
    Mutant(
        name="sql-vanishing-products",
        why="PostgreSQL raises where a product underflows: an error that depends on one record.",
        file="data/sql/aggregates.py",
        old="_VANISHES = -1075",
        new="_VANISHES = -1090",
        tests=(f"{SAME}[PostgreSQL-one column]",),
    ),
    Mutant(
        name="sql-centre-beyond-the-limit",
        why="A difference that overflows raises in PostgreSQL, or is infinite.",
        file="data/sql/dialects.py",
        old="LARGEST_CENTRE = 2.0**969",
        new="LARGEST_CENTRE = 2.0**1023",
        tests=(f"{SAME}[PostgreSQL-one column]",),
    ),
    Mutant(
        name="sql-far-centres-among-near-ones",
        why="A center of another group beyond the limit raises where one record is large.",
        file="data/sql/backend.py",
        old="(kind, constants, _is_far(query))",
        new="(kind, constants)",
        tests=(f"{SAME}[PostgreSQL-groups by state]",),
    ),
    Mutant(
        name="sql-places-of-one-page",
        why="Records of all pages but the first would never be in a sample.",
        file="data/sql/backend.py",
        old="coins = Sampler(halvings).pick(places.count)",
        new="coins = Sampler(halvings).pick(places.in_block)",
        tests=(f"{COLUMN}::TestSample::test_every_record_is_in_it_at_the_rate",),
    ),
    Mutant(
        name="sql-no-row-after-the-last",
        why="Rows without a coin would be left out of a sample, and nobody would notice.",
        file="data/sql/backend.py",
        old="[*coins.tolist(), int(rows) + 1]",
        new="coins.tolist()",
        tests=(f"{FAILURES}::TestServer::test_a_view_that_changes_is_noticed",),
    ),
    Mutant(
        name="sql-each-question-its-own-snapshot",
        why="Two questions would be about different records.",
        file="data/sql/postgresql.py",
        old="ISOLATION LEVEL REPEATABLE READ",
        new="ISOLATION LEVEL READ COMMITTED",
        tests=(f"{FAILURES}::TestServer::test_one_snapshot_for_all_questions",),
    ),
    Mutant(
        name="sql-a-missing-record-of-a-person",
        why="GREATEST leaves NULL out: a missing record would count as the least number.",
        file="data/sql/persons.py",
        old="CASE WHEN x IS NOT NULL THEN float8send",
        new="CASE WHEN true THEN float8send",
        tests=(f"{SAME}[PostgreSQL-persons by who]",),
    ),
    Mutant(
        name="sql-ids-by-collation",
        why="Two persons whose names a collation takes for one would move together.",
        file="data/sql/compiler.py",
        old=(
            '        if declared == "text":\n'
            "            return dialect.binary.format(x=column)\n"
            '        if declared == "integer":'
        ),
        new=(
            '        if declared == "text":\n'
            "            return column\n"
            '        if declared == "integer":'
        ),
        tests=(
            f"{ROWS}::test_texts_are_compared_by_their_bytes_whatever_the_collation",
            f"{ROWS}::test_ids_are_compared_by_their_bytes",
        ),
    ),
    Mutant(
        name="sql-groups-skipped",
        why="That a group was left out on its exact count tells that nobody is in it.",
        file="data/sql/backend.py",
        old="return [by_code.get(code, ()) for code in codes]",
        new="return [by_code[code] for code in sorted(by_code)]",
        tests=(f"{SAME}[PostgreSQL-groups by state]",),
    ),
    Mutant(
        name="sql-ids-as-floats",
        why="Beyond 2^53 ids would fall together, and one person's removal change another's row.",
        file="data/sql/compiler.py",
        old='return f"CAST({column} AS bigint)"',
        new='return f"CAST({column} AS {dialect.double})"',
        tests=(f"{SAME}[PostgreSQL-persons by at]",),
    ),
    Mutant(
        name="sql-words-of-the-server",
        why="What a server says of a failure may quote a record.",
        file="data/sql/postgresql.py",
        old='return f"{self.shown} gave no answer: {said}."',
        new='return f"{self.shown} gave no answer: {said}. {error}"',
        tests=(f"{FAILURES}::TestServer::test_a_record_that_makes_a_view_fail_is_not_quoted",),
    ),
    Mutant(
        name="postgres-attached-tables-show",
        why="What another session attaches would show from the next question on.",
        file="data/sql/postgresql.py",
        old='return f"ONLY {name}"',
        new="return name",
        tests=(f"{FAILURES}::TestServer::{ATTACHED}",),
    ),
    Mutant(
        name="postgres-attached-partitions-show",
        why="The same for a table that has partitions or children already.",
        file="data/sql/postgresql.py",
        old='return f"(SELECT * FROM {name} WHERE tableoid IN ({known})) AS known_tables"',
        new="return name",
        tests=(f"{FAILURES}::TestServer::{ATTACHED}",),
    ),
    Mutant(
        name="postgres-virtual-columns",
        why="1 / x is computed when it is read: one zero would show in an exception.",
        file="data/sql/postgresql.py",
        old="CASE WHEN virtual THEN 'virtual' ELSE typname::text END",
        new="typname::text",
        tests=(f"{FAILURES}::TestServer::{VIRTUAL}",),
    ),
    Mutant(
        name="postgres-rows-of-the-connection",
        why="A connection whose rows are dictionaries would fail.",
        file="data/sql/postgresql.py",
        old="cursor = self._driver.Cursor(self._connection, row_factory=as_tuples)",
        new="cursor = self._connection.cursor()",
        tests=(f"{FAILURES}::TestConnection::test_rows_that_a_connection_makes_its_own_way",),
    ),
)
