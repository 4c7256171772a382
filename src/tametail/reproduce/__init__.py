"""The paper as a laboratory: its theorems run as experiments on drawn records.

``reproduce(folder)`` writes ``report.md``, ``report.html`` and the pictures. Records are drawn from
a fixed seed; the noise of the releases is the real one, secret and fresh.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path

from tametail.errors import ParameterError
from tametail.reproduce import (
    balls,
    dimensions,
    estimators,
    family,
    hard,
    needed,
    persons,
    phases,
    price,
    ranges,
    slopes,
    tournaments,
)
from tametail.reproduce.pictures import check_pictures, draw
from tametail.reproduce.report import Check, Report
from tametail.reproduce.trials import SEED, Effort, run_cells

__all__ = ["Check", "reproduce"]

#: In the order of the report.
EXPERIMENTS = (
    slopes,
    estimators,
    needed,
    balls,
    dimensions,
    tournaments,
    persons,
    phases,
    price,
    hard,
    family,
    ranges,
)

#: More processes would need more memory than a laptop likes to give.
_MOST_WORKERS = 2


def reproduce(
    folder: str | Path,
    *,
    effort: Effort = "full",
    workers: int | None = None,
    advance: Callable[[float], None] | None = None,
) -> list[Check]:
    """Run every experiment, write the report, and return what was checked.

    Parameters
    ----------
    folder
        Where ``report.md``, ``report.html`` and the pictures go; it is made if it is not there.
    effort
        ``"full"`` takes about 40 minutes of processor time, ``"quick"`` five minutes,
        ``"tiny"`` some seconds and shows only that everything runs.
    workers
        Processes: as many as there are processors, at most two; 1 stays in this one.
    advance
        Is called with the part of the work that is done.
    """
    check_pictures()
    path = _made(Path(folder))
    experiments = [module.experiment(effort) for module in EXPERIMENTS]
    used = min(os.cpu_count() or 1, _MOST_WORKERS) if workers is None else workers
    errors = run_cells(experiments, used, advance or _ignore)
    report = Report(
        "Private means of heavy-tailed data: the paper as an experiment",
        [
            f"Made by tametail reproduce ({effort}), version {version('tametail')}, on "
            f"{date.today():%d %B %Y}. Records are drawn from seed {SEED}; the noise is the real "
            "one and differs from run to run. A number after ± is a standard error.",
        ],
        [made.conclude(found) for made, found in zip(experiments, errors, strict=True)],
    )
    for section in report.sections:
        for chart in section.charts:
            draw(chart, path)
    report.write(path)
    return report.checks


def _ignore(part: float) -> None:
    """Nobody watches."""


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"the folder {str(folder)!r} cannot be made: {error}.") from None
    return folder
