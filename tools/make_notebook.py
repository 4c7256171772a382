"""Make and execute the example notebook of the docs.

    python tools/make_notebook.py           says whether its cells are those below
    python tools/make_notebook.py --write   executes them, and writes the notebook with outputs

Noise is drawn anew each time, so what is compared are the cells, not the numbers; a test executes
them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "notebooks" / "claims.ipynb"

CELLS = (
    """# A private mean in a notebook

Twenty thousand synthetic insurance claims: a few are huge, and no single claim may show.""",
    "import tametail as tt",
    "## Before any data: what will come out?",
    "plan = tt.plan(n=20_000, epsilon=1)\nplan",
    "plan.plot()",
    "## The release",
    'release = tt.mean("../../examples/claims.csv", "amount", epsilon=1)\nrelease',
    'f"The mean claim is {release:,.0f}."',
    "round(release, 1), release.low, release.high",
    "release.guarantee",
    "release.plot()",
    "## Several means, by group",
    """import numpy as np
import pandas as pd

rng = np.random.default_rng(7)  # synthetic charges
states = rng.choice(["CA", "NY", "TX", "VT"], 40_000, p=[0.5, 0.3, 0.18, 0.02])
frame = pd.DataFrame({"charge": rng.lognormal(8, 1, 40_000), "state": states})
by_state = tt.mean(frame, "charge", by="state", keys=["CA", "NY", "TX", "VT"], epsilon=1)
by_state""",
    "by_state.to_frame()",
    "## A budget that is kept",
    """import os
import tempfile

os.chdir(tempfile.mkdtemp())  # so that this example leaves nothing behind
ledger = tt.Ledger("office.ledger")
ledger.create("charges", tt.pure(2))
tt.mean(frame, "charge", epsilon=0.5, ledger=ledger, dataset="charges")
ledger""",
    "## To publish it\n\nOne page that prints well, and that anyone can check.",
    'release.report("claims.html")',
    "tt.replay(release.plan, release.answers) == release",
)


def make() -> nbformat.NotebookNode:
    """Return the notebook without outputs."""
    made = nbformat.v4.new_notebook()
    for number, text in enumerate(CELLS):
        is_code = not text.startswith("#")
        cell = (nbformat.v4.new_code_cell if is_code else nbformat.v4.new_markdown_cell)(text)
        cell["id"] = f"cell-{number}"
        made["cells"].append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    made["metadata"] = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return made


def execute(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Run all cells in the folder of the notebook; an error in one is raised."""
    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": TARGET.parent}})
    client.execute()
    for cell in notebook["cells"]:
        cell["metadata"].pop("execution", None)  # when it ran, which would change each time
    return notebook


def main() -> int:
    """Write the notebook, or compare it."""
    if "--write" in sys.argv[1:]:
        TARGET.parent.mkdir(exist_ok=True)
        nbformat.write(execute(make()), TARGET)
        return 0
    same = sources(nbformat.read(TARGET, 4)) == list(CELLS)
    print("the notebook has these cells" if same else "write it again: --write")
    return 0 if same else 1


def sources(notebook: nbformat.NotebookNode) -> list[str]:
    """Return the texts of all cells."""
    return [cell["source"] for cell in notebook["cells"]]


if __name__ == "__main__":
    sys.exit(main())
