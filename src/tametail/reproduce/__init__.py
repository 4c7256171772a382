"""The paper as a laboratory: its theorems run as experiments on drawn records.

``reproduce(folder)`` writes ``report.md``, ``report.html`` and the pictures, anew after each
experiment. Records are drawn from a fixed seed; the noise of the releases is the real one, secret
and fresh.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
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
    tournament_rate,
    tournaments,
)
from tametail.reproduce.pictures import check_pictures, draw
from tametail.reproduce.report import Check, Report, Section, Verdict
from tametail.reproduce.trials import SEED, Effort, run_cells

__all__ = ["Check", "Verdict", "reproduce"]

#: In the order of the report: first the paper's own algorithms, then the default mean.
EXPERIMENTS = (
    estimators,
    needed,
    ranges,
    balls,
    dimensions,
    tournaments,
    tournament_rate,
    hard,
    family,
    slopes,
    phases,
    price,
    persons,
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
        The report is written anew after each experiment and says how many are in it.
    effort
        ``"full"`` takes about 45 minutes of processor time, ``"quick"`` two minutes, ``"tiny"``
        some seconds and shows only that everything runs.
    workers
        Processes: as many as there are processors, at most two; 1 stays in this one.
    advance
        Is called with the part of the work that is done.
    """
    check_pictures()
    path = _made(Path(folder))
    experiments = [module.experiment(effort) for module in EXPERIMENTS]
    used = min(os.cpu_count() or 1, _MOST_WORKERS) if workers is None else workers
    sections: list[Section] = []
    _write(path, effort, sections)
    for made, found in zip(
        experiments, run_cells(experiments, used, advance or _ignore), strict=True
    ):
        sections.append(made.conclude(found))
        for chart in sections[-1].charts:
            draw(chart, path)
        _write(path, effort, sections)
    return [check for section in sections for check in section.checks]


def _write(folder: Path, effort: Effort, sections: Sequence[Section]) -> None:
    """Write what is known so far."""
    done = f"{len(sections)} of {len(EXPERIMENTS)}"
    whole = "" if len(sections) == len(EXPERIMENTS) else f" So far it has {done} experiments."
    Report(
        "Private means of heavy-tailed data: the paper as an experiment",
        [
            f"Made by tametail reproduce ({effort}), version {version('tametail')}, on "
            f"{date.today():%d %B %Y}.{whole} Records are drawn from seed {SEED}; the noise is "
            "the real one and differs from run to run. A number after ± is a standard error.",
            "A claim holds if the measurement, with two standard errors on either side, is within "
            "the tolerance. It fails if it is outside by more than two standard errors, and is "
            "undecided in between. The tolerance of a power is half of the way to the nearest "
            "wrong one, which would therefore fail.",
        ],
        sections,
    ).write(folder)


def _ignore(part: float) -> None:
    """Nobody watches."""


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"the folder {str(folder)!r} cannot be made: {error}.") from None
    return folder
