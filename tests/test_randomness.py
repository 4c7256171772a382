"""All randomness of a release enters through one module; nothing that users reach changes it."""

from __future__ import annotations

import ast
import inspect
import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tametail
from tametail import randomness

from .distributions import (
    REFUSED,
    equally_likely,
    follows,
    gaussian_law,
    laplace_law,
    noise_events,
)

SOURCES = Path(tametail.__file__).parent

#: Simulations, records that are made up, and the page's tokens; nothing of these reaches a release.
ELSEWHERE = ("theory", "reproduce", "page", "testing", "randomness.py")

#: Modules that draw, and what draws by another module's name.
DRAWING = ("secrets", "random", "numpy.random", "opendp.measurements", "urandom")
ATTRIBUTES = ("urandom", "default_rng", "SystemRandom")


def uses_of_randomness(path: Path) -> list[str]:
    """Return imports of modules that draw, and draws of OpenDP's measurements."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute) and node.attr in ATTRIBUTES:
            found.append(f"{DRAWING[0]}.{node.attr}")
    return [name for name in found if f"{name}.".startswith(tuple(f"{d}." for d in DRAWING))]


#: Constructors of noise, whose cost is asked for; only the door draws from them.
CONSTRUCTED = {
    "privacy/opendp.py": {"opendp.measurements.make_laplace", "opendp.measurements.make_gaussian"},
    "interop.py": {"opendp.measurements.make_user_measurement"},
}


def test_no_other_module_draws():
    paths = {path.relative_to(SOURCES): path for path in SOURCES.rglob("*.py")}
    looked_at = {name: path for name, path in paths.items() if name.parts[0] not in ELSEWHERE}
    assert len(looked_at) > 100
    for name, path in looked_at.items():
        assert set(uses_of_randomness(path)) <= CONSTRUCTED.get(name.as_posix(), set()), name


def test_the_search_finds_what_draws():
    assert len(set(uses_of_randomness(SOURCES / "randomness.py"))) >= 2


def output_of(program: str, **variables: str) -> str:
    """Run a program in a process of its own, which no fixture reaches."""
    return subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | variables,
        check=True,
        capture_output=True,
        text=True,
    ).stdout


SHOW_SOURCE = "from tametail import randomness as r; print(type(r._source).__name__)"
DRAW = (
    "from tametail import randomness as r;"
    "print(r.random_bits(256), r.laplace_noise(1e12, 4), r.gaussian_noise(1e12, 4),"
    " r.random_bytes(32), r.random_below(10**40), r.random_sample(list(range(10**4)), 20))"
)
VARIABLES = dict.fromkeys(
    ("PYTHONHASHSEED", "TAMETAIL_SEED", "TAMETAIL_TEST_SEED", "SEED", "OPENDP_SEED"), "1"
)


def test_the_source_is_the_operating_system():
    assert output_of(SHOW_SOURCE, **VARIABLES).strip() == "SystemSource"


@pytest.mark.real_noise(fails=2.0**-256)
def test_no_environment_variable_makes_noise_repeat():
    """Two processes draw alike with the probability that 256 bits alone have."""
    assert output_of(DRAW, **VARIABLES) != output_of(DRAW, **VARIABLES)


#: What a user may try: the seeds of other generators, and the public ways to a seed of ours.
SEEDED = """
import random, numpy
import tametail as tt
random.seed(1)
numpy.random.seed(1)
with tt.testing.fake_releases(seed=1):
    tt.mean([1.0], epsilon=1)
    {draw}
tt.mean([1.0], epsilon=1)
{draw}
"""


@pytest.mark.real_noise(fails=2.0**-256)
def test_no_public_function_makes_noise_repeat():
    """Inside and after a block of fakes, too."""
    inside, after = zip(
        *(output_of(SEEDED.format(draw=DRAW)).splitlines() for _ in range(2)), strict=True
    )
    assert inside[0] != inside[1]
    assert after[0] != after[1]


@pytest.mark.parametrize("name", ["seed", "rng", "random_state", "generator", "source"])
def test_no_argument_reaches_the_source(name):
    for function in (tametail.mean, tametail.plan, tametail.as_opendp, tametail.paper.mean_1d):
        with pytest.raises(TypeError, match=name):
            function([1.0, 2.0], **{name: 1})


def test_no_public_function_takes_a_seed_or_a_source():
    for name in tametail.__all__:
        public = getattr(tametail, name)
        if callable(public):
            parameters = set(inspect.signature(public).parameters)
            assert not {"seed", "rng", "random_state", "generator", "source"} & parameters, name


def test_tests_of_real_randomness_live_in_few_files():
    """What they show rests on the operating system; everything else is the same in every run."""
    folder = Path(__file__).parent
    marked = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("test_*.py")
        if "mark.real_noise" in path.read_text(encoding="utf-8")
    }
    assert marked == {
        "test_fakes.py",
        "test_opendp_features.py",
        "test_randomness.py",
        "baselines/test_workers.py",
        "faults/test_faults.py",
        "mechanisms/test_noise.py",
        "privacy/test_forks_and_threads.py",
    }


#: Both sources: seeded, as all tests have it, and the operating system's.
BOTH = pytest.mark.parametrize(
    "source",
    ["seeded", pytest.param("system", marks=pytest.mark.real_noise(fails=REFUSED))],
)
DRAWS = 20_000


@BOTH
def test_bits_are_fair_and_independent(source):
    """All patterns of three bits are equally likely."""
    assert follows((randomness.random_bits(3) for _ in range(DRAWS)), equally_likely(range(8)))


@BOTH
def test_bytes_are_uniform(source):
    assert follows(randomness.random_bytes(DRAWS), equally_likely(range(256)))


@BOTH
def test_neighboring_bytes_are_independent(source):
    """The upper halves of two bytes in a row: all pairs are equally likely."""
    drawn = randomness.random_bytes(2 * DRAWS)
    pairs = ((first >> 6, second >> 6) for first, second in zip(*[iter(drawn)] * 2, strict=True))
    assert follows(pairs, equally_likely(itertools.product(range(4), repeat=2)))


@BOTH
@pytest.mark.parametrize("bound", [1, 7, 100])
def test_numbers_below_a_bound_are_uniform(source, bound):
    assert follows(
        (randomness.random_below(bound) for _ in range(DRAWS)), equally_likely(range(bound))
    )


@BOTH
def test_every_sample_is_equally_likely(source):
    items = list(range(5))
    drawn = (tuple(sorted(randomness.random_sample(items, 2))) for _ in range(DRAWS))
    assert follows(drawn, equally_likely(itertools.combinations(items, 2)))
    assert items == list(range(5))


@BOTH
@pytest.mark.parametrize("scale", [0.5, 2.0, 30.0])
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_noise_follows_its_distribution(source, law, scale):
    draw = {"laplace": randomness.laplace_noise, "gaussian": randomness.gaussian_noise}[law]
    probability_of = {"laplace": laplace_law, "gaussian": gaussian_law}[law](scale)
    assert follows(draw(scale, DRAWS), noise_events(probability_of))


@BOTH
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_noises_in_a_row_are_independent(source, law):
    """The signs of two noises in a row agree as often as independent ones do."""
    draw = {"laplace": randomness.laplace_noise, "gaussian": randomness.gaussian_noise}[law]
    at_zero = {"laplace": laplace_law, "gaussian": gaussian_law}[law](2.0)(0)
    pairs = zip(*[iter(draw(2.0, 2 * DRAWS))] * 2, strict=True)
    signs = ((first * second > 0) - (first * second < 0) for first, second in pairs)
    agree = (1 - at_zero) ** 2 / 2
    events = {lambda s: s > 0: agree, lambda s: s < 0: agree, lambda s: s == 0: 1 - 2 * agree}
    assert follows(signs, events)


def test_a_scale_that_is_a_tenth_too_small_is_noticed():
    assert not follows(randomness.laplace_noise(2.0, 2 * DRAWS), noise_events(laplace_law(1.8)))
    assert not follows(randomness.gaussian_noise(2.0, 2 * DRAWS), noise_events(gaussian_law(1.8)))


def test_an_unfair_bit_is_noticed():
    drawn = [max(randomness.random_bits(3), randomness.random_bits(1)) for _ in range(DRAWS)]
    assert not follows(drawn, equally_likely(range(8)))
