"""Spark that answers otherwise than memory, or takes persons for one another."""

from __future__ import annotations

from .mutant import Mutant

SPARK_TESTS = "tests/data/test_spark.py"
SAME = "tests/backends/test_conformance.py::test_every_answer_is_that_of_memory"

SPARK: tuple[Mutant, ...] = (
    Mutant(
        name="spark-keeps-nan",
        why="In Spark NaN is larger than every number: it would count as the upper clip point.",
        file="data/sql/dialects.py",
        old='present="({x} IS NOT NULL AND NOT isnan({x}))"',
        new='present="({x} IS NOT NULL)"',
        tests=(f"{SAME}[Spark-one column]",),
    ),
    Mutant(
        name="spark-sums-in-64-bits",
        why="A sum that wraps, or raises, depends on records in a way that no proof covers.",
        file="data/sql/dialects.py",
        old='words=(("shiftright({t}, 26)", 26), ("(({t}) & 67108863)", 0))',
        new='words=(("{t}", 0),)',
        tests=(f"{SPARK_TESTS}::test_sums_beyond_64_bits",),
    ),
    Mutant(
        name="spark-profile-one-sixteenth-off",
        why="A record would count at a node where the proof does not have it.",
        file="data/sql/dialects.py",
        old="floor(size / octave * {2.0**32!r}D)",
        new="floor(size / octave * {2.0**31!r}D)",
        tests=(f"{SAME}[Spark-one column]",),
    ),
    Mutant(
        name="spark-profile-by-other-bits",
        why="A record would count at a node where the proof does not have it.",
        file="data/sql/dialects.py",
        old="CAST(shiftright(bits, 28) AS DOUBLE)",
        new="CAST(shiftright(bits, 29) AS DOUBLE)",
        tests=(f"{SAME}[Spark-one column]",),
    ),
    Mutant(
        name="spark-slots-of-one-partition",
        why="Rows of all partitions would share the coins of the first.",
        file="data/sql/spark/sample.py",
        old="return (partition << _ROW_BITS) + picked",
        new="return picked",
        tests=(f"{SPARK_TESTS}::TestSample::test_every_slot_has_a_coin_of_its_own",),
    ),
    Mutant(
        name="spark-persons-float-sums",
        why="Sums of doubles depend on partitions, and on tasks that run twice.",
        file="data/sql/spark/totals.py",
        old="return _read(words, by, count)",
        new=(
            'return rows.groupBy(*by).agg(*(how(f"x{j}").alias(f"{name}{j}") for j '
            'in range(count) for how, name in ((fn.sum, "s"), (fn.count, "c"))))'
        ),
        tests=(f"{SAME}[Spark-persons by at]",),
    ),
    Mutant(
        name="spark-missing-ids-are-somebody",
        why="Records without an id are of many persons: together they are nobody.",
        file="data/sql/spark/backend.py",
        old='f"SELECT {items} FROM {rows} WHERE {known}"',
        new='f"SELECT {items} FROM {rows}"',
        tests=(f"{SAME}[Spark-persons by at]",),
    ),
    Mutant(
        name="spark-ids-by-collation",
        why="A collation takes 'a' and 'A' for one person; their bytes differ.",
        file="data/sql/dialects.py",
        old='binary="CAST({x} AS BINARY)"',
        new='binary="{x}"',
        tests=(f"{SPARK_TESTS}::test_ids_of_other_types",),
    ),
    Mutant(
        name="spark-root-rounded-down",
        why="A length that is too small leaves vectors longer than the limit.",
        file="data/sql/spark/backend.py",
        old="map(reaches, (-1, 0, 1))",
        new="map(reaches, (-1,))",
        tests=(f"{SAME}[Spark-persons in groups]",),
    ),
)
