"""Runs the methods of one adapter in the environment where its library lives.

    python worker.py ADAPTER.py

It greets with a line of JSON, ``{"distribution", "version"}``, and then answers every line
``{"method", "samples", "epsilon", "low", "high"}`` with ``{"values", "seconds"}``. Samples is the
path of a matrix in NumPy's format, one sample a row; a value is null where the library refused;
seconds are CPU time, with the reading of the file left out. It ends with its input.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

Method = Callable[[Any, float, float, float], float]


def load(path: Path) -> ModuleType:
    """Import an adapter from its file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answer(method: Method, request: dict[str, Any]) -> dict[str, Any]:
    """Release a mean of every sample."""
    samples = np.load(request["samples"])
    values: list[float | None] = []
    start = time.process_time()
    for records in samples:
        try:
            value = method(records, request["epsilon"], request["low"], request["high"])
        except Exception:  # whatever a library raises, it gave no answer
            value = math.nan
        values.append(value if math.isfinite(value) else None)
    return {"values": values, "seconds": time.process_time() - start}


def main() -> None:
    """Speak the protocol; what a library prints goes to standard error."""
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    adapter = load(Path(sys.argv[1]))
    version = importlib.metadata.version(adapter.DISTRIBUTION)
    print(json.dumps({"distribution": adapter.DISTRIBUTION, "version": version}), file=replies)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(answer(adapter.METHODS[request["method"]], request)), file=replies)


if __name__ == "__main__":
    main()
