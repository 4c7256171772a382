"""Every example of README and docs runs, every link leads somewhere, every name is listed.

Python blocks of a page run in order, in one namespace; those with ``>>>`` are doctests. Commands of
``tametail`` in console and bash blocks run too. Where a page shows their output, words must agree
and numbers may differ, as noise does; the output of ``plan`` has no noise and must agree entirely.
Pages run in a folder that holds a copy of ``examples``. A block that needs what the tests do not
have says ``no-run`` beside its language, and "not run" in its first line, where readers see it.
"""

import doctest
import inspect
import re
import shlex
import shutil
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

import tametail
from tametail import cli

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<info>[a-z]+(?: [a-z-]+)*)\n(?P<body>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
LINK = re.compile(r"\]\((?!\w+:|#)(?P<target>[^)\s#]+)(?:#[^)\s]*)?\)")
HASH = re.compile(r"\b[0-9a-f]{64}\b")  # the head of a ledger depends on the clock
NUMBER = re.compile(r"-?(?:\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?|inf)")
TARGET = re.compile(r"^([a-z-]+):", re.MULTILINE)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    path: Path
    line: int
    language: str
    runs: bool
    body: str

    @property
    def place(self):
        return f"{self.path.relative_to(ROOT)}:{self.line}"


def blocks_of(path):
    text = path.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        language, *flags = match["info"].split()
        line = text.count("\n", 0, match.start()) + 2
        body = textwrap.dedent(match["body"])
        yield Block(path, line, language, "no-run" not in flags, body)


BLOCKS = {path: list(blocks_of(path)) for path in PAGES}


def name_of(path):
    return str(path.relative_to(ROOT))


def run_python(block, namespace):
    if ">>>" not in block.body:
        # Empty lines in front make tracebacks show the lines of the page.
        source = "\n" * (block.line - 1) + block.body
        exec(compile(source, str(block.path), "exec"), namespace)
        return
    test = doctest.DocTestParser().get_doctest(block.body, {}, block.place, None, block.line - 1)
    test.globs = namespace
    runner = doctest.DebugRunner(optionflags=OPTIONS)
    runner.run(test, clear_globs=False)


def commands_of(block):
    """Yield each command of a block with the output that is shown below it."""
    command, output = None, []
    for line in block.body.splitlines():
        if block.language == "bash" or line.startswith("$ "):
            if command is not None:
                yield command, "\n".join(output)
            command, output = line.removeprefix("$ "), []
        else:
            output.append(line)
    if command is not None:
        yield command, "\n".join(output)


def run_command(block, command, shown, capsys):
    words = shlex.split(command, comments=True)
    if not words:
        return
    if words[0] == "make":
        assert set(words[1:2]) <= set(TARGET.findall((ROOT / "Makefile").read_text())), block.place
    if words[0].rpartition("/")[2] != "tametail":
        return
    *arguments, target = words[1:] if ">" in words else [*words[1:], None]
    capsys.readouterr()
    assert cli.main([word for word in arguments if word != ">"]) == 0, f"{block.place}: {command}"
    printed = capsys.readouterr().out
    if target is not None:
        Path(target).write_text(printed, encoding="utf-8")
    elif shown:
        exact = arguments[0] == "plan"
        seen, told = (
            text if exact else NUMBER.sub("#", HASH.sub("#", text)) for text in (printed, shown)
        )
        assert seen.split() == told.split(), f"{block.place}: {command}"


@pytest.mark.parametrize("path", [p for p in PAGES if BLOCKS[p]], ids=name_of)
def test_examples_run(path, tmp_path, monkeypatch, capsys):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "example"}
    for block in BLOCKS[path]:
        if not block.runs:
            continue
        if block.language == "python":
            run_python(block, namespace)
        elif block.language in ("console", "bash"):
            for command, shown in commands_of(block):
                run_command(block, command, shown, capsys)


def test_what_does_not_run_says_so():
    silent = [block for found in BLOCKS.values() for block in found if not block.runs]
    assert [
        block.place for block in silent if "not run" not in block.body.splitlines()[0].lower()
    ] == []


GAP = re.compile(r"^(TABLE|FIGURES?)$|\bVERSION\b|@[A-Z0-9]+@|\b(TODO|FIXME|TBD)\b", re.MULTILINE)


def test_no_page_has_a_gap():
    """A page said "Version VERSION", and TABLE where its table belongs."""
    for path in PAGES:
        assert GAP.search(path.read_text(encoding="utf-8")) is None, name_of(path)


def test_relative_links_lead_somewhere():
    for path in PAGES:
        prose = path.read_text(encoding="utf-8")
        prose = re.sub(r"```.*?```|`[^`\n]*`", "", prose, flags=re.DOTALL)
        targets = [match["target"] for match in LINK.finditer(prose)]
        missing = [target for target in targets if not (path.parent / target).exists()]
        assert missing == [], name_of(path)


@pytest.mark.parametrize("module", [tametail, tametail.paper, tametail.theory])
def test_the_reference_has_every_public_name(module):
    pages = (ROOT / "docs" / "reference").glob("*.md")
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    listed = set(re.findall(r"auto(?:function|class|module):: ([\w.]+)$", text, re.MULTILINE))
    names = [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]
    assert [name for name in names if f"{module.__name__}.{name}" not in listed] == []


def test_examples_are_found_and_can_fail(tmp_path, monkeypatch, capsys):
    assert sum(block.language == "python" for found in BLOCKS.values() for block in found) > 20
    page = ROOT / "page.md"
    for body in ("assert 1 == 2\n", ">>> 1 + 1\n3\n"):
        with pytest.raises((AssertionError, doctest.DocTestFailure)):
            run_python(Block(page, 1, "python", True, body), {})
    monkeypatch.chdir(tmp_path)
    wrong = "$ tametail plan -n 1000 --epsilon 1\nnot this\n"
    block = Block(page, 1, "console", True, wrong)
    ((command, shown),) = commands_of(block)
    with pytest.raises(AssertionError):
        run_command(block, command, shown, capsys)
