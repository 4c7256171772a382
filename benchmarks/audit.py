"""Privacy audits of every mechanism, every query with its noise, and every estimator.

    python benchmarks/audit.py --write docs/evidence/audit.md

A row runs a mechanism on two worst-case neighbors and shows the epsilon that it claims, the
largest epsilon that its outputs prove, and the verdict. All bounds hold together with a confidence
of 99.9%. The first two rows are noise drawn here, right and wrong, to show that the auditor has
teeth: it must see at least 0.95 of an exact epsilon of 1, and flag half the noise.

``--scale 0.01`` makes it a hundred times shorter, and the bounds weaker. ``--resume FILE`` keeps
rows as they come: a run that was stopped goes on where it was, if neither code nor draws changed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from _common import as_they_come

# The auditor and its cases live with the tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.privacy.auditor import audit, audit_at
from tests.privacy.bulk import in_bulk
from tests.privacy.cases import Case
from tests.privacy.estimator_cases import pooled_cases, release_cases, vector_cases
from tests.privacy.mechanism_cases import mechanism_cases, query_cases
from tests.privacy.paper_cases import ball_cases, mean_cases, range_cases, tournament_cases
from tests.privacy.people_cases import people_cases

ROOT = Path(__file__).resolve().parents[1]

CONFIDENCE = 0.999
TEETH_RUNS = 1_000_000
LEAST_RUNS = 500  # on each neighbor

GROUPS = {
    "Mechanisms": (mechanism_cases,),
    "Queries with their noise": (query_cases,),
    "Estimators of the paper": (range_cases, mean_cases, ball_cases, tournament_cases),
    "Means": (release_cases, vector_cases, pooled_cases),
    "Persons and groups": (people_cases,),
}
COLUMNS = ("case", "unit", "budget", "draws", "delta", "claimed epsilon", "found", "verdict")


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    case: str
    unit: str
    budget: str
    draws: int
    delta: float
    claimed: float
    found: float
    verdict: str
    seconds: float = 0.0

    def cells(self) -> tuple[str, ...]:
        """Return the line as text."""
        numbers = f"{self.draws:,}", f"{self.delta:g}", f"{self.claimed:.3f}", f"{self.found:.3f}"
        return (self.case, self.unit, self.budget, *numbers, self.verdict)


class Kept:
    """Rows of a run that was stopped, of the same code and draws; every new one is kept."""

    def __init__(self, path: Path | None, scale: float) -> None:
        self._path = path
        self._of = [digest_of_code(), scale, [str(case) for _, case in all_cases()]]
        self.rows: dict[int, Row] = {}
        if path is not None and path.exists():
            found = json.loads(path.read_text("utf-8"))
            if found["of"] == self._of:
                self.rows = {int(place): Row(**row) for place, row in found["rows"].items()}

    def add(self, place: int, row: Row) -> None:
        """Keep a row."""
        self.rows[place] = row
        if self._path is not None:
            rows = {place: asdict(row) for place, row in self.rows.items()}
            self._path.write_text(json.dumps({"of": self._of, "rows": rows}), "utf-8")

    def forget(self) -> None:
        """Begin anew next time: this run is complete."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def digest_of_code() -> str:
    """Return a digest of what is audited and of what audits it."""
    found = hashlib.sha256()
    for folder in ("src/tametail", "tests/privacy"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            found.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return found.hexdigest()


@cache
def all_cases() -> list[tuple[str, Case]]:
    """List the cases with their groups; every process makes its own."""
    return [(title, case) for title, makers in GROUPS.items() for make in makers for case in make()]


def main() -> int:
    """Print the table; the exit code is 1 if a claim does not hold or the auditor is blind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="part of the runs of a full audit")
    parser.add_argument("--only", default="", help="audit only cases whose line contains this")
    parser.add_argument("--resume", type=Path, help="keep rows here, and go on from them")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--write", type=Path, help="write the table to this Markdown file")
    arguments = parser.parse_args()

    places = [
        i for i, (title, case) in enumerate(all_cases()) if arguments.only in f"{title}: {case}"
    ]
    places.reverse()  # the means, which take longest, first: so the last ones to end are short
    # Of all cases, chosen or not, so that rows of several runs hold together.
    checks = 2 + sum(len(case.claims) for _, case in all_cases())
    confidence = 1 - (1 - CONFIDENCE) / checks
    run = partial(audit_place, scale=arguments.scale, confidence=confidence)
    kept = Kept(arguments.resume, arguments.scale)
    missing = [place for place in places if place not in kept.rows]
    for place, row in zip(
        missing, as_they_come(run, missing, arguments.jobs, "auditing"), strict=True
    ):
        kept.add(place, row)
    rows = {place: kept.rows[place] for place in places}

    sections = {"The auditor": list(teeth(confidence))}
    for place in sorted(rows):
        sections.setdefault(all_cases()[place][0], []).append(rows[place])
    every = [row for section in sections.values() for row in section]
    surprises = sum(row.verdict.isupper() for row in every)
    spent = sum(row.seconds for row in every) / 60
    summary = f"{len(rows)} audits, {spent:.0f} minutes of CPU; {surprises} surprises."
    show(sections)
    print(summary)
    if arguments.write:
        arguments.write.write_text(page(sections, summary), encoding="utf-8")
        kept.forget()
    return 1 if surprises else 0


def audit_place(place: int, *, scale: float, confidence: float) -> Row:
    """Audit one case, and keep the claim that came closest to failing."""
    case = all_cases()[place][1]
    started = time.process_time()
    runs = max(round(case.draws * scale / 2), LEAST_RUNS)
    with in_bulk():
        deltas = [delta for _, delta in case.claims]
        found = audit_at(deltas, case.first, case.second, runs, confidence=confidence)
    _, bound, (claimed, delta) = max(
        (bound / claim[0], bound, claim) for bound, claim in zip(found, case.claims, strict=True)
    )
    verdict = "holds" if bound <= claimed else "EXCEEDED"
    names = case.name, str(case.unit), str(case.cost)
    seconds = time.process_time() - started
    return Row(*names, 2 * runs, delta, claimed, bound, verdict, seconds)


def teeth(confidence: float) -> Iterator[Row]:
    """Audit noise that is drawn here: an exact epsilon of 1, and half the noise."""
    for name, scale, least in (("exact Laplace noise", 1.0, 0.95), ("half of it", 0.5, 1.0)):
        found = audit(*laplace(scale), TEETH_RUNS, confidence=confidence)
        verdict = ("seen" if scale == 1.0 else "flagged") if found > least else "MISSED"
        yield Row(name, "", "", 2 * TEETH_RUNS, 0.0, 1.0, found, verdict)


def laplace(scale: float):
    """Return Laplace noise of this scale around 0 and around 1, as draws for the auditor."""
    rng = np.random.default_rng()
    return [lambda count, y=y: y + rng.laplace(0.0, scale, count) for y in (0, 1)]


def show(sections: dict[str, list[Row]]) -> None:
    """Print the tables."""
    for title, rows in sections.items():
        table = Table(*COLUMNS, title=title)
        for row in rows:
            table.add_row(*row.cells())
        Console(width=160).print(table)


def page(sections: dict[str, list[Row]], summary: str) -> str:
    """Return the tables as Markdown."""
    made = f"Version {version('tametail')}, {date.today().isoformat()}."
    lines = ["# Privacy audits", "", INTRODUCTION, "", f"{made} {summary}"]
    for title, rows in sections.items():
        lines += ["", f"## {title}", "", _line(COLUMNS), _line(["---"] * len(COLUMNS))]
        lines += [_line(row.cells()) for row in rows]
    return "\n".join(lines) + "\n"


def _line(cells) -> str:
    return f"| {' | '.join(cells)} |"


INTRODUCTION = """\
Written by `make audit`. Each line runs a mechanism, a query with its noise, or an estimator on two
neighbors that are as bad as we could think of: a far outlier that moves or comes, a record at the
end of a bucket or alone in it, NaN, None and infinity against an ordinary value, n against n - 1
records, a person with all of their records in several groups. *Found* is the largest epsilon that
the outputs prove: an event is chosen on one half of the runs, and its two probabilities are bounded
on the other half (Clopper and Pearson). All lines hold together with a confidence of 99.9%. A claim
holds if no more is found than is claimed; for zCDP two points of its (epsilon, delta) curve are
checked and the closer one is shown.

An estimator is audited through *all* of its answers, which a release shows: the statistic is the
log-ratio of their likelihoods, and no event separates the neighbors better. What is found is below
the claim because runs are finite, because few data sets make every step of an estimator leak at
once, and because accounts round to the safe side. A line that finds 0 proves little: either its
neighbors must not differ (a NaN that comes adds nothing), or its runs were too few.

Draws are those of both neighbors together. So that this ends, exact answers are remembered between
runs, OpenDP draws noise some thousand at a time, and noise on octave counts that are the same for
both neighbors comes from a stock that both share, as if the attacker knew it; all other noise and
all secret samples are drawn anew in every run (`tests/privacy/bulk.py` and `witness.py`)."""


if __name__ == "__main__":
    sys.exit(main())
