"""A program that asks about data through Spark Connect, and compares with memory.

    python -m tests.backends.connect sc://127.0.0.1:15002 ansi wrapping refused

The client of Spark Connect and the classic one do not share a process, so that the test runs this
one. The other arguments say how Spark computes: "ansi" or "wrapping" arithmetic; last "refused",
where a frame cannot be kept. It prints a line for each case, and the exit code is 1 if an answer
differs.
"""

from __future__ import annotations

import sys

from tests.backends import places
from tests.backends.cases import CASES, dataset, one_of_each_query
from tests.backends.questions import canonical

#: Cases that say through Connect what no other case does: columns, functions that run in the
#: executors' Python, several columns, persons, groups, private keys; in arithmetic that wraps what
#: is added up; and where no frame is kept what is computed from one that is otherwise kept.
ASKED = {
    "ansi": {
        "one column", "exp(y) - log(abs(x)) where exp(min(x, 1)) < 2", "three columns",
        "persons with two columns", "groups with two columns", "keys of persons",
    },
    "wrapping": {"one column", "persons by who and at"},
    "refused": {"groups by state and year and all others", "persons in groups"},
}  # fmt: skip

#: What is released: of a column, of persons, and of groups.
RELEASED = {"ansi": (), "wrapping": ({}, {"person": "who"}), "refused": ({"by": "g", "keys": [0]},)}

#: A cell that makes a frame fail, and that nothing may quote.
SECRET = "Mallory184000"


def set_up(spark: object, how: str) -> None:
    """Let Spark compute as it is told."""
    from pyspark.sql import DataFrame

    spark.conf.set("spark.sql.ansi.enabled", "false" if how == "wrapping" else "true")
    if how == "refused":
        kind = type(spark.range(1))
        assert kind is not DataFrame

        def persist(*_: object) -> None:
            raise RuntimeError("[NOT_SUPPORTED_WITH_SERVERLESS] PERSIST TABLE is not supported")

        kind.persist = kind.cache = persist


def differing(how: str) -> list[str]:
    """Ask, and return the questions whose answers are not those of memory."""
    data, wrong = dataset("hostile"), []
    for case in CASES:
        if case.name not in ASKED[how]:
            continue
        asks = one_of_each_query(case.asks)
        found, here = (case.open(make(data, None)) for make in (places.spark_rows, places.arrow))
        wrong += [
            f"{case.name}: {ask}"
            for ask in asks
            if canonical(ask.of(found[1])) != canonical(ask.of(here[1]))
        ]
        if case.keys or not case.by:
            assert found[1].size == here[1].size
        found[0].close()
        print(f"{case.name}: {len(asks)} questions", flush=True)
    return wrong


def main(address: str, *ways: str) -> int:
    """Run the program."""
    from pyspark.sql import SparkSession

    spark, wrong = SparkSession.builder.remote(address).getOrCreate(), []
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    places.local_session = lambda: spark
    assert not hasattr(spark, "_jvm")  # no way into the server's own process
    for how in ways:
        print(f"# {how}")
        set_up(spark, how)
        wrong += differing(how)
        release_means(spark, how)
        if how == "ansi":
            said_of_a_failure(spark)
    print("\n".join(wrong) or "# all alike")
    return int(bool(wrong))


def release_means(spark: object, how: str) -> None:
    """See that whole releases go through."""
    import tametail as tt

    frame = spark.sql(
        "SELECT double(id % 101) AS x, id % 500 AS who, id % 2 AS g FROM range(20000)"
    )
    for asked in RELEASED[how]:
        release = tt.mean(frame, "x", epsilon=5, **asked)
        assert all(abs(row.value - 50) < 5 for row in release), release
        print(f"released {asked}")


def said_of_a_failure(spark: object) -> None:
    """See that a frame that cannot be computed is refused; the test reads all that is written."""
    import tametail as tt
    from tametail.errors import DataError

    text = f"SELECT CAST(IF(id = 7, '{SECRET}', '1') AS DOUBLE) AS x FROM range(100)"
    try:
        tt.mean(spark.sql(text), "x", epsilon=1)
    except DataError as error:
        print(f"{error}{error.__cause__}{error.__context__}")
    else:
        raise AssertionError("a frame that cannot be computed was released")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
