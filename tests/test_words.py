"""What people read is in plain words: no word of the private dialect, and one source of terms."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from pathlib import Path

import click
import pytest

import tametail as tt
from tametail.cli.shell import COMMANDS, commands
from tametail.comparisons import Comparison
from tametail.means import Interval, Mean
from tametail.notes import Note

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tametail"
sys.path.insert(0, str(ROOT / "tools"))

from glossary import AVOIDED, PAGE, page  # noqa: E402

PATTERN = re.compile(rf"\b(?:{'|'.join(AVOIDED)})\b", re.IGNORECASE)

#: Raised for developers of tametail and for the paper's mathematics, not for its users.
_INSIDE = {"InternalError", "AssertionError", "ValueError"}
_OTHERS = ("theory", "reproduce", "paper")


def texts_of(node):
    """Yield the texts of an expression, what is filled in left out."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def raised(path):
    """Yield what is raised, noted or helped with, with its line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            name = ast.unparse(node.exc.func).rpartition(".")[2]
            if name not in _INSIDE:
                yield from ((node.lineno, text) for text in texts_of(node.exc))
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            if name in ("Note", "few_records", "hint", "shared_scale"):
                yield from ((node.lineno, text) for text in texts_of(node))


MODULES = sorted(
    path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[0] not in _OTHERS
)


def found_in(text):
    return PATTERN.findall(text)


def test_messages_and_notes():
    bad = [
        (str(path.relative_to(SOURCE)), line, text, found_in(text))
        for path in MODULES
        for line, text in raised(path)
        if found_in(text)
    ]
    assert not bad


def test_what_a_result_and_a_plan_say():
    """Every text of the module that says results, and what the steps of a plan are for."""
    bad = []
    for path in [*sorted((SOURCE / "show").glob("*.py")), SOURCE / "purposes.py"]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docs = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and isinstance(node.body[0], ast.Expr)
        }
        bad += [
            (path.name, node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docs
            and found_in(node.value)
        ]
    assert not bad


def test_templates():
    for path in sorted((SOURCE / "page" / "templates").glob("*.html")):
        shown = re.sub(r"\{[{%#].*?[}%#]\}|<[^>]*>", " ", path.read_text(encoding="utf-8"))
        assert not found_in(shown), path.name


def _helps(command, name):
    yield name, command.help or ""
    for parameter in command.params:
        yield f"{name} {parameter.name}", getattr(parameter, "help", None) or ""
    if isinstance(command, click.Group):
        for inner in command.list_commands(click.Context(command)):
            yield from _helps(command.get_command(click.Context(command), inner), inner)


@pytest.mark.parametrize("name", COMMANDS)
def test_help(name):
    context = click.Context(commands)
    for place, text in _helps(commands.get_command(context, name), name):
        assert not found_in(text), place


PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
    *sorted((ROOT / "docs" / "evidence").glob("*.md")),
    *sorted((ROOT / "docs" / "explanation").glob("*.md")),
    *sorted((ROOT / "docs" / "contributing").glob("*.md")),
    *sorted((ROOT / "docs" / "reference").glob("*.md")),
    *sorted((ROOT / "docs" / "proofs").glob("*.md")),
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
]

#: Pages whose tables a program writes, with the names of cases and queries.
_NOT_YET = {"audit.md", "reproduction.md"}
PAGES = [path for path in PAGES if path.name not in _NOT_YET]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_pages(path):
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(
        r"^proves: .*$|^## \w+\(.*$|`[^`]*`|\]\([^)]*\)|\$[^$]*\$", " ", text, flags=re.MULTILINE
    )
    assert not found_in(text)


def _documented(name, what):
    """Yield names and docstrings of what help() shows of a public name, members included."""
    yield name, inspect.getdoc(what) or ""
    if inspect.isclass(what):
        for member, inner in inspect.getmembers(what):
            own = inspect.isroutine(inner) or isinstance(inner, property)
            if own and not member.startswith("_"):
                yield f"{name}.{member}", inspect.getdoc(inner) or ""


def test_help_of_public_names():
    public = {name: getattr(tt, name) for name in tt.__all__}
    public |= {kind.__name__: kind for kind in (Mean, Interval, Note, Comparison)}
    bad = [
        (place, found_in(text))
        for name, what in public.items()
        for place, text in _documented(name, what)
        if found_in(text)
    ]
    assert not bad


_NOTES = ROOT / "docs" / "reference" / "notes.md"


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 900


def test_every_code_of_a_note_is_explained():
    """``docs/reference/notes.md`` has the codes that are in the source, and their kinds."""
    made = set()
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Note":
                kind, code = node.args[:2]
                if isinstance(kind, ast.Constant) and isinstance(code, ast.Constant):
                    made.add((code.value, kind.value))
    rows = [line.split("|") for line in _NOTES.read_text(encoding="utf-8").splitlines()]
    told = {
        (code, kind.strip())
        for _, codes, kinds, *_ in (row for row in rows if len(row) == 6 and "`" in row[1])
        for code in re.findall(r"`([a-z-]+)`", codes)
        for kind in kinds.split(",")
    }
    assert made == told


def test_the_glossary_is_written_from_its_source():
    assert PAGE.read_text(encoding="utf-8") == page()
