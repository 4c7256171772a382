"""A small version of benchmarks/aggregation.py: all engines give the same totals of persons."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import aggregation

TABLE = aggregation.hostile(2_000)


@pytest.mark.parametrize("person", ["number", "name"])
def test_frames_files_and_databases_give_the_same_totals(person, tmp_path):
    expected = aggregation.totals(TABLE, person)
    found = {
        name: aggregation.totals(data, person, **said)
        for name, data, said in aggregation.sources(TABLE, tmp_path, spark=False)
    }
    for name, change in aggregation.changes():
        with change:
            found[name] = aggregation.totals(str(tmp_path / "a.parquet"), person)
    assert len(found) >= 5
    for name, totals in found.items():
        assert totals == expected, name


def test_the_comparison_sees_one_unit_in_the_last_place():
    x = TABLE["x"].to_numpy().copy()
    _, first, records = np.unique(
        TABLE["number"].fill_null(0).to_numpy(), return_index=True, return_counts=True
    )
    place = first[(records == 1) & (np.abs(x[first] - 100) < 50)][0]  # somebody with one record
    x[place] = np.nextafter(x[place], np.inf)
    other = TABLE.set_column(2, "x", pa.array(x))
    assert aggregation.totals(other, "number") != aggregation.totals(TABLE, "number")
