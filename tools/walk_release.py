"""Follow a release through the source: own calls, switches between packages, and depth.

    python tools/walk_release.py             this tree
    python tools/walk_release.py FOLDER      another one's src, such as an older commit's

For each kind of release: how many functions of ours are called, how often one of a package calls
one of another (a package is a folder of tametail, or a module beside them), how many of these
switches only read an attribute that is computed, and how many own frames lie between the public
function and the first accumulator, which adds records up, and the noise. There is no limit here: a
reader wants few, and a natural way more than the fewest.
"""

from __future__ import annotations

import dis
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

#: Functions that add up what they are given, by their files: all else prepares, or asks.
ADDS = {"kernels": ("add", "_together"), "totals.py": ("add",), "vectors.py": ("_totals_of",)}
NOISE = ("add_laplace", "add_gaussian")


class Walk(NamedTuple):
    """What was counted on the way of one release; -1 where nothing of the kind was met."""

    calls: int
    files: int
    switches: int
    attributes: int
    to_accumulator: int
    to_noise: int


class Walker:
    """Counts calls of one package's functions while it watches."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.calls = self.switches = self.attributes = 0
        self.to_accumulator = self.to_noise = -1
        self.files: set[str] = set()

    def package(self, file: str) -> str:
        """Return the folder or the module that a file belongs to."""
        return file[len(self.root) + 1 :].partition("/")[0]

    def depth(self, frame: FrameType | None) -> int:
        """Return how many own frames there are."""
        count = 0
        while frame is not None:
            count += frame.f_code.co_filename.startswith(self.root)
            frame = frame.f_back
        return count

    def note(self, frame: FrameType, event: str, argument: object) -> None:
        """Take note of a call."""
        del argument
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if event != "call" or not file.startswith(self.root) or name.startswith("<"):
            return
        self.calls += 1
        self.files.add(file)
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(self.root):
            caller = caller.f_back
        if caller is not None and self.package(caller.f_code.co_filename) != self.package(file):
            self.switches += 1
            self.attributes += _reads_attribute(frame.f_back)
        if self.to_accumulator < 0 and _adds(file, name):
            self.to_accumulator = self.depth(frame)
        if self.to_noise < 0 and file.endswith("/mechanisms/noise.py") and name in NOISE:
            self.to_noise = self.depth(frame)


def _adds(file: str, name: str) -> bool:
    return any(place in file and name in names for place, names in ADDS.items())


@cache
def _operations(code: CodeType) -> dict[int, str]:
    return {each.offset: each.opname for each in dis.get_instructions(code)}


def _reads_attribute(frame: FrameType | None) -> bool:
    """Say whether what a frame does is to read an attribute, and not to call."""
    return frame is not None and _operations(frame.f_code).get(frame.f_lasti) == "LOAD_ATTR"


def walk(call: Callable[[], object], root: str) -> Walk:
    """Return what one release, made for the second time, counts."""
    call()  # what is loaded when first used is loaded
    walker = Walker(root)
    sys.setprofile(walker.note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return Walk(
        walker.calls, len(walker.files), walker.switches, walker.attributes,
        walker.to_accumulator, walker.to_noise,
    )  # fmt: skip


def releases(tt: Any, folder: Path) -> dict[str, Callable[[], object]]:
    """Return one release of every kind, over the same 3,000 records."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv, parquet

    rng = np.random.default_rng(1)
    records = rng.lognormal(size=3000)
    who, where = rng.integers(0, 900, 3000), rng.integers(0, 3, 3000)
    keys = ["Aosta", "Bari", "Como"]
    table = pa.table({"paid": records, "who": who, "town": [keys[place] for place in where]})
    csv.write_csv(table, folder / "records.csv")
    parquet.write_table(table, folder / "records.parquet")
    rows = np.column_stack([records, records**2, -records])
    by = {"by": "town", "keys": keys}
    return {
        "array": lambda: tt.mean(records, epsilon=1),
        "CSV file": lambda: tt.mean(folder / "records.csv", "paid", epsilon=1),
        "Parquet file": lambda: tt.mean(folder / "records.parquet", "paid", epsilon=1),
        "several columns": lambda: tt.mean(rows, rho=0.5),
        "groups": lambda: tt.mean(table, "paid", epsilon=1, **by),
        "persons": lambda: tt.mean(table, "paid", epsilon=1, person="who"),
        "persons in groups": lambda: tt.mean(table, "paid", rho=0.5, person="who", **by),
    }


def main() -> None:
    """Print a table."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "src"
    sys.path.insert(0, str(folder.resolve()))
    import tametail as tt

    root = str(Path(tt.__file__).parent)
    print("| release of | own calls | files | switches | attributes | to an accumulator | noise |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        for name, call in releases(tt, Path(scratch)).items():
            found = walk(call, root)
            print(f"| {name} | {' | '.join(f'{number:,}' for number in found)} |")


if __name__ == "__main__":
    main()
