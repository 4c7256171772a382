"""A mean of a Spark frame: the rows stay on the cluster, integers come to the driver.

    spark-submit examples/spark_job.py        # or python, with the extra `spark` and Java 17

The claims are synthetic. Two jobs read the column, however many rows there are.
"""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

import tametail as tt


def main() -> None:
    """Release the mean of a computed column of a frame."""
    spark = SparkSession.builder.appName("tametail example").getOrCreate()
    try:
        uniform = fn.rand(seed=4)
        claims = spark.range(200_000).select((100 * (1 - uniform) ** -0.4).alias("amount"))
        print(tt.mean(claims.where("amount < 1e6"), "amount", epsilon=1))
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
