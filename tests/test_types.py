"""How much of the source has no type: ``Any`` in annotations, counted with the aliases of it."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "tametail"

#: A third of what there was when the house was planned.
MOST = 101

#: The same, if every use of an alias such as ``Json`` counts as ``Any``, too.
MOST_WITH_ALIASES = 150


def trees() -> dict[str, ast.Module]:
    return {
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts): ast.parse(
            path.read_text(encoding="utf-8")
        )
        for path in sorted(SOURCE.rglob("*.py"))
    }


def annotations(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield every annotation of arguments, results and variables; texts are read as code."""
    for node in ast.walk(tree):
        found: list[ast.expr | None] = []
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            all_arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs]
            all_arguments += [each for each in (given.vararg, given.kwarg) if each is not None]
            found = [node.returns, *(each.annotation for each in all_arguments)]
        elif isinstance(node, ast.AnnAssign):
            found = [node.annotation]
        for each in found:
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                yield ast.parse(each.value, mode="eval").body
            elif each is not None:
                yield each


def named(tree: ast.AST, names: set[str]) -> int:
    return sum(isinstance(node, ast.Name) and node.id in names for node in ast.walk(tree))


def aliases(tree: ast.Module, untyped: dict[str, set[str]]) -> set[str]:
    """Return the names in a module that stand for ``Any``, or for something made of it."""
    found = {"Any"}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            found |= {each.name for each in node.names} & untyped.get(node.module or "", set())
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(
            node.value, ast.Name | ast.Subscript | ast.BinOp
        ):
            (target,) = node.targets if isinstance(node, ast.Assign) else [node.target]
            if isinstance(target, ast.Name) and named(node.value, found):
                found.add(target.id)
    return found


def untyped_names(modules: dict[str, ast.Module]) -> dict[str, set[str]]:
    """Return the aliases of every module, those that it imports among them."""
    found: dict[str, set[str]] = {}
    while (more := {name: aliases(tree, found) for name, tree in modules.items()}) != found:
        found = more
    return found


def test_few_annotations_are_any():
    modules = trees()
    names = untyped_names(modules)
    assert "Json" in names["tametail.release"]
    assert "Exact" in names["tametail.data.local"]
    counts = {
        module: sum(named(each, names[module]) for each in annotations(tree))
        for module, tree in modules.items()
    }
    assert 0 < sum(counts.values()) <= MOST_WITH_ALIASES, counts
    written = sum(named(tree, {"Any"}) for tree in modules.values())  # in aliases and casts, too
    assert 0 < written <= MOST


def test_the_public_functions_are_typed_honestly():
    files = list((SOURCE / "api").glob("*.py"))
    assert len(files) > 1
    assert not [path for path in files if "type: ignore" in path.read_text(encoding="utf-8")]
