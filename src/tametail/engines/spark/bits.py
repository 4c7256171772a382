"""The bits of a double as a column, where Spark's own compiler can be asked for them.

Spark has no function that shows the bits of a double. But its expressions are compiled to Java,
and one of them calls a static method, ``Double.doubleToRawLongBits``. That is internal to Spark and
out of reach through Spark Connect. So it is tried once in a session, on doubles whose bits are
known; where it fails in any way the engine takes expressions that are public, and takes longer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

#: Turns a column of doubles into one of 64-bit integers with the same bits; NULL stays NULL.
Bits = Callable[[Column], Column]

#: What Py4J shows of the virtual machine: names are looked up there when they are used.
Machine: TypeAlias = Any

#: Doubles of every kind; the bits of a NaN may differ, and are not used.
_KNOWN = (0.0, -0.0, 1.0, -1.0, 0.1, -1e308, 5e-324, 2.0**-1022, float("inf"), float("-inf"))

_TRIED: WeakKeyDictionary[SparkSession, Bits | None] = WeakKeyDictionary()


def double_bits(frame: DataFrame) -> Bits | None:
    """Return the function for the frame's session, or None if it is not to be had there."""
    session = frame.sparkSession
    if session not in _TRIED:
        _TRIED[session] = _tried(session)
    return _TRIED[session]


def _tried(session: SparkSession) -> Bits | None:
    try:
        bits = _by_static_invocation(session)
        frame = session.createDataFrame([(x,) for x in (*_KNOWN, None)], "x double")
        # A second partition and a sum keep Spark from computing this while it plans.
        found = frame.repartition(2).select("x", bits(fn.col("x") + fn.lit(0.0)).alias("bits"))
        rows = [(row["x"], row["bits"]) for row in found.collect()]
    except Exception:
        return None  # whatever is missing, there is another way
    expected = {x: int(np.float64(x + 0.0).view(np.int64)) for x in _KNOWN} | {None: None}
    is_right = len(rows) == len(_KNOWN) + 1 and all(expected[x] == bits for x, bits in rows)
    return bits if is_right else None


def _by_static_invocation(session: SparkSession) -> Bits:
    from pyspark.sql.classic.column import Column as ClassicColumn

    machine: Machine = session.sparkContext._jvm
    tools = machine.org.apache.spark.sql.classic.ExpressionUtils
    sequence = machine.scala.jdk.javaapi.CollectionConverters.asScala
    invoke = machine.org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
    kind = machine.java.lang.Class.forName("java.lang.Double")
    result = machine.org.apache.spark.sql.types.DataTypes.LongType
    no_function = getattr(getattr(machine.scala, "None$"), "MODULE$")

    def bits(column: Column) -> Column:
        arguments, no_types = machine.java.util.ArrayList(), machine.java.util.ArrayList()
        arguments.add(tools.expression(column._jc))
        made = invoke(
            kind,
            result,
            "doubleToRawLongBits",
            sequence(arguments).toSeq(),
            sequence(no_types).toSeq(),
            True,  # NULL gives NULL
            False,  # and nothing else does
            True,  # the same double gives the same bits
            no_function,
        )
        return ClassicColumn(tools.column(made))

    return bits
