"""Environments for libraries that do not go together, and the workers that live in them."""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

HERE = Path(__file__).parent


class NotInstalledError(Exception):
    """An environment could not be made; the text says why."""


def prepare(name: str, folder: Path, *, install: bool = True) -> Path:
    """Return the interpreter of the environment ``folder/name``, made if need be.

    It holds exactly what ``requirements/name.txt`` pins; a changed file makes it anew.
    """
    wanted = (HERE / "requirements" / f"{name}.txt").read_text()
    home = folder / name
    interpreter, mark = home / "bin" / "python", home / "installed.txt"
    if mark.exists() and mark.read_text() == wanted:
        return interpreter
    if not install:
        raise NotInstalledError("not installed")
    commands = (
        [sys.executable, "-m", "venv", "--clear", str(home)],
        [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
         "--requirement", str(HERE / "requirements" / f"{name}.txt")],
    )  # fmt: skip
    for command in commands:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["no reason given"]
            raise NotInstalledError(lines[-1])
    mark.write_text(wanted)
    return interpreter


class Worker:
    """A process that runs the methods of one adapter; see ``worker.py`` for what is said."""

    def __init__(self, interpreter: Path, adapter: Path) -> None:
        self._process = subprocess.Popen(
            [str(interpreter), str(HERE / "worker.py"), str(adapter)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        greeting = self._read()
        self.version: str = greeting["version"]

    def means(
        self, method: str, samples: Path, epsilon: float, low: float, high: float
    ) -> tuple[Floats, float]:
        """Return a release for each sample, NaN where refused, and the CPU seconds of all."""
        request = {
            "method": method, "samples": str(samples), "epsilon": epsilon, "low": low, "high": high,
        }  # fmt: skip
        assert self._process.stdin is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        answer = self._read()
        return np.array(answer["values"], dtype=np.float64), float(answer["seconds"])

    def close(self) -> None:
        """End the process by ending its input."""
        self._process.communicate()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.close()
            raise NotInstalledError(f"the worker ended with code {self._process.returncode}")
        answer: dict[str, Any] = json.loads(line)
        return answer


@cache
def worker(interpreter: Path, adapter: str) -> Worker:
    """Return this process's worker for an adapter of this folder, started once."""
    started = Worker(interpreter, HERE / f"{adapter}.py")
    atexit.register(started.close)
    return started
