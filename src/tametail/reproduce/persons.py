"""Persons with several records each: error against persons, and against records per person.

``theory.person_rate`` (Agarwal, Kamath, Majid, Mouzakis, Silver and Ullman, 2024) has a term for
sampling, one for the noise on averages, and one for heavy tails, ``(1/(m n eps))^((k-1)/k)``, in
which m records per person are worth as much as m times the persons. The last is run on D2 with
``n m p eps = 250``, as in the slopes of the default mean; the first on normal records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from tametail.api.means import mean
from tametail.reproduce.checks import Power, has_powers, other_exponents
from tametail.reproduce.measured import fit_slope, root_mean_square
from tametail.reproduce.report import Chart, Line, Section, Table
from tametail.reproduce.slopes import VISIBLE
from tametail.reproduce.trials import Cell, Effort, Experiment, Floats, Rng
from tametail.theory import Distribution, TwoPoint, distribution, person_rate

EPSILON, MOMENTS = 0.1, (2, 4)

#: The order of the moment that the rate of normal records is drawn for.
LIGHT = 8

#: While one of them grows, the other is this.
PERSONS, RECORDS = 20_000, 4

#: Persons, records per person, and repetitions.
_SIZES: dict[Effort, tuple[tuple[int, ...], tuple[int, ...], int]] = {
    "tiny": ((20_000, 40_000), (1, 4), 2),
    "quick": ((20_000, 160_000), (1, 16), 12),
    "full": ((20_000, 80_000, 320_000), (1, 8, 64), 300),
}

#: Order of the moment (0 for normal records), persons, records per person.
Key = tuple[int, int, int]


def experiment(effort: Effort) -> Experiment[Key]:
    """Return the cells (k, persons, records per person)."""
    persons, records, repeats = _SIZES[effort]
    sizes = {(n, RECORDS) for n in persons} | {(PERSONS, m) for m in records}
    cells = {
        (k, n, m): Cell(partial(_error, k=k, n=n, m=m), repeats)
        for k in (*MOMENTS, 0)
        for n, m in sorted(sizes)
    }
    return Experiment("Persons", cells, conclude)


def _error(rng: Rng, *, k: int, n: int, m: int) -> Sequence[float]:
    """Return the error of one release; every person has m records, and counts once."""
    from pyarrow import table

    # Octaves are powers of two: a random unit of measurement keeps them from playing a part.
    scale = 2 ** rng.random()
    source = _source(k, n, m)
    frame = table({"who": np.repeat(np.arange(n), m), "value": scale * source.sample(n * m, rng)})
    release = mean(
        frame, "value", person="who", each="person", epsilon=EPSILON, neighbors="replace-one",
        confidence=None,
    )  # fmt: skip
    return [float(release) / scale - source.mean]


def _source(k: int, n: int, m: int) -> Distribution | TwoPoint:
    if not k:
        return distribution("normal", k=LIGHT, mean=0.3)
    mass = VISIBLE / (n * m * EPSILON)
    return TwoPoint(mass, mass ** (-1 / k))


def rate(k: int, n: int, m: int) -> float:
    """Return the rate of a cell, without constants; on D2 its term for heavy tails.

    D2 has far less variance than its k-th moment allows, so that the term for sampling, which the
    worst law would reach, plays no part.
    """
    if not k:
        return person_rate(n, m, k=LIGHT, epsilon=EPSILON)
    return float((n * m * EPSILON) ** (-(k - 1) / k))


def conclude(errors: Mapping[Key, Floats]) -> Section:
    """Fit the powers of the number of persons and of the number of records of each."""
    checks, tables, charts = [], [], []
    for name, words, place in (
        ("persons", "the number of persons", 1),
        ("rows", "the number of records per person", 2),
    ):
        lines: list[Line] = []
        rows, powers = [], []
        for k in (*MOMENTS, 0):
            fixed = 2 if place == 1 else 1
            keys = sorted(key for key in errors if key[0] == k and key[fixed] == _FIXED[fixed])
            places = [key[place] for key in keys]
            points = [root_mean_square(errors[key]) for key in keys]
            power, expected = fit_slope(places, points), -(k - 1) / k if k else -0.5
            law_name = f"D2, k = {k}" if k else "normal records"
            rivals = other_exponents(k, MOMENTS) if k else (0.0, -1.0)
            powers.append(Power(law_name, power, expected, rivals))
            rates = [rate(*key) for key in keys]
            lines += [
                Line("tametail.mean, person=", places, points, "o-", 0, law_name),
                Line("rate, without constants", places, rates, "--", 6, law_name),
            ]
            rows.append([law_name, f"{expected:.3f}", power, *points])
        claim = f"persons are protected: the error falls with {words} (Agarwal and others 2024)"
        checks.append(has_powers(claim, powers))
        charts.append(
            Chart(
                f"person-{name}",
                f"Persons are protected: error against {words}, epsilon = {EPSILON}",
                words,
                "root mean squared error",
                lines,
            )
        )
        head = ["distribution", f"theory, power of {words}", "fitted"]
        tables.append(Table([*head, *(f"{place:,}" for place in places)], rows))
    return Section("Persons with several records each", [_WORDS], checks, tables, charts)


#: The number of persons, and of records, in the pictures in which they do not change.
_FIXED = {1: PERSONS, 2: RECORDS}

_WORDS = (
    'Root mean squared error of tametail.mean with person= and each="person", and no assumption; '
    f"all records of a person may be replaced, epsilon = {EPSILON}. {PERSONS:,} persons while the "
    f"number of their records grows, {RECORDS} records each while the number of persons does. On "
    f"D2 with n m p epsilon = {VISIBLE:g} the rate is (n m epsilon)^(-(k-1)/k): a record more of "
    "each person is worth as much as a person more. On normal records averages over a person have "
    "light tails, and sampling is left: (n m)^(-1/2). Drawn are these terms of the rate of Agarwal "
    "and others, without constants and logarithms. The wrong exponents are that of the other k, "
    "and 0 and -1 for normal records."
)
