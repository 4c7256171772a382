"""NumPy gives every record what the reference gives it, and all at once what each by itself."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from tametail.data.evaluation import chunk_mask, chunk_values
from tametail.errors import ColumnError
from tametail.expressions import Expression
from tametail.expressions.elementary import exp_all, exp_of, log_all, log_of

from .examples import (
    EVERY,
    RECORDS,
    ROWS,
    TABLE,
    as_value,
    assert_equals_reference,
    conditions,
    expected_truths,
    expected_values,
    values,
)

parse = Expression.parse
CHUNK = {name: TABLE[name] for name in TABLE.column_names}

#: NumPy's numbers and Arrow's, and text in Arrow's other types.
OTHER_CHUNK = CHUNK | {
    "x": np.array([math.nan if x is None else x for x in RECORDS["x"]]),
    "s": TABLE["s"].cast(pa.binary()),
    "t": TABLE["t"].dictionary_encode(),
}

some = settings(max_examples=60, suppress_health_check=list(HealthCheck))


every = pytest.mark.parametrize("expression", EVERY, ids=str)


class TestChunks:
    @every
    def test_every_operation_at_every_border(self, expression):
        if expression.is_condition:
            expected = [truth is True for truth in expected_truths(expression)]
            assert chunk_mask(expression, CHUNK).tolist() == expected
            as_value(expression, chunk_values(expression, CHUNK))
        else:
            assert_equals_reference(expression, chunk_values(expression, CHUNK))

    @some
    @given(values)
    def test_values_equal_the_reference(self, expression):
        expected = expected_values(expression)
        for chunk in (CHUNK, OTHER_CHUNK):
            np.testing.assert_array_equal(chunk_values(expression, chunk), expected)

    @some
    @given(conditions)
    def test_conditions_equal_the_reference(self, expression):
        expected = [truth is True for truth in expected_truths(expression)]
        for chunk in (CHUNK, OTHER_CHUNK):
            assert chunk_mask(expression, chunk).tolist() == expected

    @pytest.mark.parametrize(
        "kind",
        [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(),
         pa.binary_view(), pa.dictionary(pa.int8(), pa.string())],
    )  # fmt: skip
    def test_text_of_every_type(self, kind):
        column = pa.array(["b", "a", None, "ä"]).cast(kind)
        assert chunk_mask(parse("s > 'a'"), {"s": column}).tolist() == [True, False, False, True]
        assert chunk_mask(parse("s is missing"), {"s": column}).tolist() == [0, 0, 1, 0]
        assert np.isnan(chunk_values(parse("s"), {"s": column})).all()

    def test_numbers_of_every_type(self):
        columns = [
            pa.array([2**53 + 1, None]),
            pa.array([2**64 - 1, 0], pa.uint64()),
            pa.array([True, None]),
            pa.array([0.1, math.nan], pa.float32()),
            pa.nulls(2),
        ]
        found = [chunk_values(parse("-x"), {"x": column})[0] for column in columns]
        np.testing.assert_array_equal(
            found, [-(2.0**53), -(2.0**64), -1, -float(np.float32(0.1)), np.nan]
        )

    def test_chunks_and_dictionaries(self):
        column = pa.chunked_array([["a", None], [], ["b"]]).dictionary_encode()
        assert chunk_mask(parse("s == 'b'"), {"s": column}).tolist() == [False, False, True]
        column = pa.chunked_array([[1.5, None], [], [2.5]]).dictionary_encode()
        np.testing.assert_array_equal(chunk_values(parse("x * 2"), {"x": column}), [3, np.nan, 5])
        empty = pa.chunked_array([], pa.dictionary(pa.int8(), pa.string()))
        assert chunk_mask(parse("s == 'b'"), {"s": empty}).shape == (0,)

    def test_no_records(self):
        assert chunk_values(parse("x / 2"), {"x": np.zeros(0)}).shape == (0,)
        assert chunk_mask(parse("s < 'a'"), {"s": pa.array([], pa.string())}).shape == (0,)

    @pytest.mark.parametrize(
        "column", [pa.array([1]).cast(pa.date64()), pa.array([[1]]), np.array(["a"])]
    )
    def test_a_type_that_is_neither_is_refused(self, column):
        with pytest.raises(ColumnError, match="Column 'x' has type"):
            chunk_values(parse("x + 1"), {"x": column})


def test_nothing_warns():
    """Pytest makes errors of warnings; this says that NumPy's are not merely silenced there."""
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        chunk_values(parse("x / y * x + y"), CHUNK)
        chunk_mask(parse("x / y < x * y"), CHUNK)


@pytest.mark.parametrize("expression", EVERY, ids=str)
def test_a_record_gets_the_same_whatever_the_others_are(expression):
    """The statement of docs/proofs/expressions.md: leave others out or permute, and compare."""
    everybody = _evaluate(expression, np.arange(len(ROWS)))
    some_places = np.random.default_rng(0).permutation(len(ROWS))[:300]
    few = _evaluate(expression, some_places)
    np.testing.assert_array_equal(few, everybody[some_places])
    for place in some_places[:40]:
        np.testing.assert_array_equal(_evaluate(expression, [place])[0], everybody[place])


def test_elementary_functions_are_the_same_for_one_and_for_many():
    rng = np.random.default_rng(8)
    bits = np.abs(rng.integers(0, 2**64, 20_000, dtype=np.uint64).view(np.float64))
    near = np.concatenate([bits[~np.isnan(bits)], rng.uniform(0.5, 2, 20_000), [5e-324, np.inf]])
    far = np.concatenate([rng.uniform(-760, 730, 20_000), rng.normal(size=20_000), [-np.inf]])
    # Other lengths and strides take other ways through a processor.
    for cut in (slice(None), slice(3, None, 2)):
        assert log_all(near[cut]).tolist() == [log_of(x) for x in near[cut].tolist()]
        assert exp_all(far[cut]).tolist() == [exp_of(x) for x in far[cut].tolist()]
    with np.errstate(all="ignore"):
        apart = np.abs(log_all(near) - np.log(near)) / np.spacing(np.abs(np.log(near)))
        assert np.nanmax(apart) <= 2
        assert np.nanmax(np.abs(exp_all(far) - np.exp(far)) / np.spacing(np.exp(far))) <= 2


def _evaluate(expression, places):
    chunk = {name: column.take(places) for name, column in CHUNK.items()}
    return (chunk_mask if expression.is_condition else chunk_values)(expression, chunk)
