"""The contract of the public names: signatures, no way to set randomness, light imports."""

import inspect
import subprocess
import sys
import types
from importlib.metadata import version

import pytest

import tametail as tt

PAID = "ledger=None, dataset=None, release_id=None"

SIGNATURES = {
    "pure": "(epsilon)",
    "zcdp": "(rho)",
    "approx": "(epsilon, delta)",
    "Moment": "(k, scale)",
    "Bounded": "(low, high)",
    "mean": (
        "(data, column=None, *, epsilon=None, delta=None, rho=None, budget=None, tail=None, "
        "within=None, neighbors='add-remove', missing='skip', n=None, confidence=0.95, "
        "target='population', plan=None, same_scale=False, person=None, each='record', "
        "n_records=None, where=None, by=None, keys=None, other=None, pooling='shape', "
        "simultaneous=None, groups_per_person=None, parse=None, table=None, ledger=None, "
        "dataset=None, release_id=None, weights=None)"
    ),
    "plan": (
        "(n=None, *, epsilon=None, delta=None, rho=None, budget=None, tail=None, within=None, "
        "neighbors='add-remove', missing='skip', confidence=0.95, target='population', "
        "n_columns=1, same_scale=False, person=False, each='record', n_records=None, by=None, "
        "keys=None, other=None, pooling='shape', simultaneous=None, "
        "groups_per_person=None, statistic='mean', q=None, weights=None)"
    ),
    "sum": "(data, column=None, *, tail=None, target='data', **options)",
    "count": "(data, column=None, **options)",
    "quantile": "(data, column=None, q=0.5, *, target='population', each='record', **options)",
    "median": "(data, column=None, *, target='population', each='record', **options)",
    "describe": "(data, column=None, *, target='population', **options)",
    "regression": "(data, y, x, **options)",
    "sample_size": (
        "(error=None, *, relative_error=None, epsilon=None, delta=None, rho=None, budget=None, "
        "tail=None, confidence=0.95, neighbors='add-remove')"
    ),
    "epsilon_for": (
        "(error=None, *, relative_error=None, n, tail=None, confidence=0.95, "
        "neighbors='add-remove')"
    ),
    "replay": "(plan, answers)",
    "paper.range_estimate": f"(x, budget, *, alpha, k, R, scale=1.0, constants='tight', {PAID})",
    "paper.mean_1d": f"(x, budget, *, alpha, beta, k, R, scale=1.0, constants='tight', {PAID})",
    "mechanisms.histogram": f"(keys, budget, *, universe=None, neighbors='replace-one', {PAID})",
}

RANDOMNESS = {"seed", "rng", "random_state", "generator", "ask", "bits", "source"}


def resolve(name):
    found = tt
    for part in name.split("."):
        found = getattr(found, part)
    return found


def bare(function):
    """Return the signature without annotations, which may change as long as calls do not."""
    signature = inspect.signature(function)
    plain = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
    ]
    return str(inspect.Signature(plain))


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature_is_the_contract(name):
    assert bare(resolve(name)) == SIGNATURES[name]


@pytest.mark.parametrize("name", ["upper_bound", "lower_bound", "hard_instance"])
def test_theorems_are_there(name):
    assert callable(getattr(tt.theory, name))


def test_all_public_names_exist_and_are_documented():
    for name in tt.__all__:
        assert inspect.getdoc(getattr(tt, name)), name


def public_callables():
    """Yield every public function, class and method that can be reached from ``tametail``."""
    seen = set()
    waiting = [(f"tt.{name}", getattr(tt, name)) for name in tt.__all__]
    while waiting:
        name, thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, types.ModuleType):
            names = getattr(thing, "__all__", [n for n in vars(thing) if n[0].isalpha()])
            waiting += [(f"{name}.{inner}", getattr(thing, inner)) for inner in names]
        elif inspect.isclass(thing) and issubclass(thing, Exception):
            continue  # takes a message
        elif inspect.isclass(thing):
            yield name, thing
            waiting += [
                (f"{name}.{inner}", getattr(thing, inner))
                for inner in vars(thing)
                if inner[0] != "_"
            ]
        elif callable(thing):
            yield name, thing


def test_no_public_callable_takes_randomness():
    """A release cannot be made repeatable: only the samplers of laws take a generator.

    And ``fake_releases``, whose seed reaches synthetic records alone (``tests/test_fakes.py``).
    """
    takers = {
        name
        for name, thing in public_callables()
        if name.startswith("tt.theory") is False or not name.endswith(".sample")
        if RANDOMNESS & set(inspect.signature(thing).parameters)
    }
    assert takers == {"tt.testing.fake_releases"}


def test_the_walk_finds_what_it_should():
    names = {name for name, _ in public_callables()}
    assert {"tt.mean", "tt.paper.mean_1d", "tt.theory.lower_bound"} <= names
    assert any(name.endswith(".sample") for name in names)


@pytest.mark.parametrize("call", [tt.mean, tt.plan, tt.paper.mean_1d])
def test_randomness_is_refused_by_name(call):
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        call([1.0], seed=1)


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_import_brings_in_nothing_heavy():
    heavy = (
        "scipy.optimize", "matplotlib", "pandas", "polars", "opendp", "rich", "click", "narwhals",
        "pyarrow",
    )  # fmt: skip
    code = f"import sys, tametail; print([name for name in {heavy!r} if name in sys.modules])"
    assert run(code) == "[]"


def test_a_list_needs_neither_pandas_nor_polars_nor_matplotlib():
    code = (
        "import sys, tametail; tametail.mean([1.0, 2.0], epsilon=1);"
        "print([name for name in ('pandas', 'polars', 'matplotlib') if name in sys.modules])"
    )
    assert run(code) == "[]"


@pytest.mark.parametrize("name", ["paper.mean_1d", "theory.lower_bound"])
def test_paper_and_theory_are_loaded_when_they_are_first_used(name):
    loaded = f"'tametail.{name.split('.')[0]}' in sys.modules"
    code = f"import sys, tametail; print({loaded}); tametail.{name}; print({loaded})"
    assert run(code).split() == ["False", "True"]


def test_the_version_is_that_of_the_installed_package():
    assert tt.__version__ == version("tametail")


def test_a_name_that_is_not_there():
    assert all(getattr(tt, name) is not None for name in tt.__all__)
    with pytest.raises(AttributeError, match="no attribute 'mode'"):
        _ = tt.mode
