"""Show what a proof is pinned to below its title, where a reader expects it.

In the sources the lines ``proves: module.function @ hash`` come first, for
``tools/pin_proofs.py``.
"""

from __future__ import annotations

import re

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

_PINS = re.compile(r"\A(?:proves: .*\n)+")
_NAME = re.compile(r"^proves: tametail\.(\S+)", re.MULTILINE)


def _move(app: Sphinx, docname: str, source: list[str]) -> None:  # noqa: ARG001  Sphinx's signature
    pins = _PINS.match(source[0])
    if pins is None:
        return
    title, _, rest = source[0][pins.end() :].lstrip().partition("\n")
    names = ", ".join(f"`{name}`" for name in _NAME.findall(pins[0]))
    note = f":::{{admonition}} Pinned by a hash of the code to\n{names}\n:::"
    source[0] = f"{title}\n\n{note}\n{rest}"


def setup(app: Sphinx) -> ExtensionMetadata:
    """Rewrite proofs as they are read."""
    app.connect("source-read", _move)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
