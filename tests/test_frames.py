"""How deep a call goes: own frames from the public function to the arithmetic and to the noise.

A reader follows a release from ``mean`` down. Every frame between has to earn its place.
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import tametail as tt

SOURCE = str(Path(tt.__file__).parent)
MOST_TO_ARITHMETIC, MOST_TO_NOISE = 9, 7


def depths_of(call):
    """Return the deepest own stacks to an accumulator, which adds up, and to a draw of noise."""
    found = {"arithmetic": 0, "noise": 0}

    def own_frames(frame):
        count = 0
        while frame is not None:
            count += frame.f_code.co_filename.startswith(SOURCE)
            frame = frame.f_back
        return count

    def is_accumulator(frame):
        file = frame.f_code.co_filename
        return file.startswith(SOURCE) and "/kernels/" in file and frame.f_code.co_name == "add"

    def note(frame, event, argument):
        if event != "call":
            return
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if is_accumulator(frame) and not is_accumulator(frame.f_back):
            found["arithmetic"] = max(found["arithmetic"], own_frames(frame))
        elif file.endswith("/mechanisms/noise.py") and name in ("add_laplace", "add_gaussian"):
            found["noise"] = max(found["noise"], own_frames(frame))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def requests(folder):
    records = np.random.default_rng(1).lognormal(size=3000)
    path = folder / "records.parquet"
    parquet.write_table(pa.table({"paid": records}), path)
    rows = np.column_stack([records, records**2, -records])
    return {
        "array": lambda: tt.mean(records, epsilon=1),
        "parquet": lambda: tt.mean(path, "paid", epsilon=1),
        "matrix": lambda: tt.mean(rows, rho=0.5),
    }


@pytest.mark.parametrize("kind", ["array", "parquet", "matrix"])
def test_few_frames_lie_between_the_caller_and_the_work(kind, tmp_path):
    call = requests(tmp_path)[kind]
    call()  # what is loaded when first used is loaded
    found = depths_of(call)
    assert 3 <= found["arithmetic"] <= MOST_TO_ARITHMETIC, found
    assert 3 <= found["noise"] <= MOST_TO_NOISE, found
