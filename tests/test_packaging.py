"""What is installed by whom: bounds, groups, recipes and workflow agree, and advice works today."""

import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
NEEDED = PROJECT["project"]["dependencies"]
EXTRAS = PROJECT["project"]["optional-dependencies"]
GROUPS = PROJECT["dependency-groups"]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
TRACKED = subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
    cwd=ROOT, capture_output=True, text=True, check=False,
).stdout.splitlines()  # fmt: skip

#: A requirement: its name, and its lower bound.
BOUND = re.compile(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)")

needs_git = pytest.mark.skipif(not TRACKED, reason="not a clone of the repository")


def lowest(requirements):
    found = (BOUND.match(line) for line in requirements if isinstance(line, str))
    return {match[1].lower(): match[2] for match in found}


def pins(name):
    lines = re.findall(r"^([\w.-]+)==([\d.]+)", (ROOT / name).read_text("utf-8"), re.MULTILINE)
    return {package.lower(): version for package, version in lines}


def numbers(version):
    return tuple(map(int, version.split(".")))


def same_version(pin, bound):
    """Say whether a pin is the first version of a bound: 2.0.0 of 2.0."""
    return numbers(pin)[: len(numbers(bound))] == numbers(bound) and not any(
        numbers(pin)[len(numbers(bound)) :]
    )


@pytest.mark.parametrize(
    "requirement", [*NEEDED, *(one for extra in EXTRAS.values() for one in extra)]
)
def test_every_lower_bound_is_tested(requirement):
    ((name, bound),) = lowest([requirement]).items()
    assert same_version(pins("constraints-oldest.txt")[name], bound)


def test_what_is_pinned_at_its_lowest_is_needed_or_said_to_be_of_that_age():
    text = (ROOT / "constraints-oldest.txt").read_text("utf-8")
    own, _, _ = text.partition("# Of the same age")
    known = lowest([*NEEDED, *(one for extra in EXTRAS.values() for one in extra)])
    known |= {"psycopg-binary": known["psycopg"]} | lowest(GROUPS["test"])
    assert {match.lower() for match in re.findall(r"^([\w-]+)==", own, re.MULTILINE)} <= set(known)


def test_frames_are_tested_at_the_lowest_versions_that_the_tests_allow():
    for name in ("pandas", "polars"):
        pin = pins("constraints-oldest.txt")[name]
        assert same_version(pin, lowest(GROUPS["test"])[name])


def test_the_pinned_environment_is_within_the_bounds():
    pinned = pins("constraints.txt")
    for name, bound in lowest(
        [*NEEDED, *(one for extra in EXTRAS.values() for one in extra)]
    ).items():
        assert numbers(pinned[name]) >= numbers(bound), name


def test_noise_comes_from_versions_of_opendp_that_were_tested():
    (opendp,) = (line for line in NEEDED if line.startswith("opendp"))
    lower, upper = re.fullmatch(r"opendp>=([\d.]+),<([\d.]+)", opendp).groups()
    assert numbers(lower) >= (0, 14, 2)  # which corrected a sampler
    assert numbers(lower) <= numbers(pins("constraints.txt")["opendp"]) < numbers(upper)


def test_development_is_a_matter_of_groups():
    assert not {"dev", "docs", "test"} & set(EXTRAS)
    assert {"include-group": "test"} in GROUPS["dev"]
    for group in re.findall(r"--group (\w+)", MAKEFILE + (ROOT / "noxfile.py").read_text("utf-8")):
        assert group in GROUPS


def test_the_demo_installs_the_core_only():
    rule = re.search(r"^\$\(CORE\):.*?\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)[1]
    installed = [line for line in rule.splitlines() if "$(INSTALL)" in line]
    assert installed == ["\t@$(INSTALL) --editable ."]
    assert re.search(r"^demo: \$\(CORE\) ", MAKEFILE, re.MULTILINE)
    assert rule.count("echo") >= 2  # it says what it does


def test_the_conda_recipe_asks_for_the_same():
    text = (ROOT / "conda" / "recipe.yaml").read_text("utf-8")
    recipe = yaml.safe_load(text)
    assert recipe["context"]["version"] == PROJECT["project"]["version"]
    run = dict(line.split(" ", 1) for line in recipe["requirements"]["run"])
    assert run.pop("python") == PROJECT["project"]["requires-python"]
    assert run == {
        re.match(r"[\w-]+", line)[0]: line[len(re.match(r"[\w-]+", line)[0]) :] for line in NEEDED
    }


def test_every_classifier_is_tried_by_the_workflow():
    """A classifier is a claim: that `make test-all` passed there. The workflow may try more."""
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8"))
    tried = set(workflow["jobs"]["windows"]["strategy"]["matrix"]["python"])
    setup = next(
        step
        for step in workflow["jobs"]["build"]["steps"]
        if "setup-python" in step.get("uses", "")
    )
    assert set(setup["with"]["python-version"].split()) == tried
    named = set(re.findall(r"Python :: (3\.\d+)", str(PROJECT["project"]["classifiers"])))
    assert "3.11" in named <= tried


def test_the_workflow_hands_out_no_more_rights_than_a_job_needs():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8"))
    assert workflow["permissions"] == {}
    writes = {
        name: {right for right, kind in job["permissions"].items() if kind == "write"}
        for name, job in workflow["jobs"].items()
    }
    assert {name: rights for name, rights in writes.items() if rights} == {
        "attest": {"attestations", "id-token"},
        "publish": {"id-token"},
        "announce": {"contents"},
    }
    assert workflow["jobs"]["publish"]["environment"] == "release"
    assert "secrets." not in str(workflow)


@pytest.fixture
def hook(monkeypatch, tmp_path):
    """Run the build's hook over a copy of the sources; what it warns of, and what it builds."""

    warned = []

    class Interface:
        root, app = str(tmp_path), SimpleNamespace(display_warning=warned.append)

    interface = ModuleType("hatchling.builders.hooks.plugin.interface")
    interface.BuildHookInterface = Interface
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    for above in ("hatchling", "hatchling.builders", "hatchling.builders.hooks",
                  "hatchling.builders.hooks.plugin"):  # fmt: skip
        monkeypatch.setitem(sys.modules, above, ModuleType(above))
    found = runpy.run_path(str(ROOT / "hatch_build.py"))
    folder = tmp_path / found["FOLDER"]
    folder.mkdir(parents=True)
    shutil.copy(ROOT / found["FOLDER"] / "_native.c", folder)

    def run():
        data = {"artifacts": []}
        found["NativeHook"]().initialize("standard", data)
        return data, warned, sorted(path.name for path in folder.glob("*.so"))

    return run


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_a_compiler_may_have_options(hook, monkeypatch):
    monkeypatch.setenv("CC", "cc -O1")
    data, warned, built = hook()
    assert (data["pure_python"], warned) == (False, [])
    assert "_native.so" in built
    assert re.fullmatch(r"py3-none-\w+", data["tag"])


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_loops_for_another_processor_are_not_built_for_ours(hook, monkeypatch):
    """Whoever builds for another machine says so to Python and to the compiler."""
    monkeypatch.setenv("_PYTHON_HOST_PLATFORM", "linux-aarch64")
    data, warned, built = hook()
    assert (data["tag"], warned, built) == ("py3-none-linux_aarch64", [], ["_native.so"])


@pytest.mark.parametrize("compiler", ["there-is-no-compiler", "false", "no program"])
def test_without_a_compiler_that_works_the_wheel_is_pure(compiler, hook, monkeypatch, tmp_path):
    if compiler == "no program":
        path = tmp_path / "cc"
        path.write_bytes(b"\x7fELF")
        path.chmod(0o755)
        compiler = str(path)
    monkeypatch.setenv("CC", compiler)
    data, warned, built = hook()
    assert (data, built) == ({"artifacts": []}, [])
    assert len(warned) == 1


@needs_git
def test_no_advice_needs_a_published_package():
    """Before it is published, `pip install tametail` fails, or installs something of others."""
    wrong = re.compile(r"pip install [\"']?tametail\b(?!-\*)")
    found = [
        name
        for name in TRACKED
        if name.endswith((".py", ".md", ".html", ".toml", ".cff", ".ipynb", ".yml", ".yaml"))
        and name != "tests/test_packaging.py"
        and (ROOT / name).exists()
        and wrong.search((ROOT / name).read_text("utf-8"))
    ]
    assert found == []


@needs_git
def test_placeholder_addresses_stop_a_release():
    """The project has no public address yet; the workflow refuses to publish the reserved one."""
    urls = PROJECT["project"]["urls"].values()
    assert all(re.match(r"https://tametail\.example\b", url) for url in urls) or not any(
        ".example" in url for url in urls
    )
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
    assert "! grep -n 'tametail\\.example' pyproject.toml" in workflow


def test_the_pythons_of_this_machine_are_found(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    from pythons import pythons

    found = pythons()
    own = f"3.{sys.version_info.minor}"
    if own in found:  # it may have another name here
        asked = [found[own], "-c", "import sys; print(sys.version_info[:2])"]
        assert str(sys.version_info[:2]) in subprocess.check_output(asked, text=True)
    assert all(int(version.split(".")[1]) >= 11 for version in found)
