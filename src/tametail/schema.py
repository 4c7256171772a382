"""The schema of files: names and declared types, and nothing that a record could move."""

from __future__ import annotations

import os
from dataclasses import dataclass

from tametail.parse import Parse


@dataclass(frozen=True, slots=True)
class Schema:
    """Names and declared types of the columns; none if the names may be a record."""

    columns: tuple[tuple[str, str], ...]
    hidden: bool = False
    """Whether the first row does not look like names, so that none of its cells is here."""


def schema_of(path: str | os.PathLike[str], parse: Parse | None = None) -> Schema:
    """Return the schema of a file or a folder; JSON declares none.

    The first row of a CSV file is schema only if it looks like one, or if ``parse`` says so:
    otherwise it may be a record, and none of its cells is returned.
    """
    from tametail.data.open import open_source
    from tametail.data.sources.arrow import ArrowColumns
    from tametail.data.sources.folders import FolderSource

    source = open_source(path, parse)
    given: tuple[tuple[str, str], ...] = ()
    if isinstance(source, FolderSource):
        given = tuple((name, "text, from the names of folders") for name in source.given)
        source = source.whole
    if isinstance(source, ArrowColumns):
        return Schema((*((field.name, str(field.type)) for field in source.schema), *given))
    names = source.names
    if getattr(names, "unnamed", None) is not None:
        return Schema((), hidden=True)
    own = ((name, "") for name in names)  # a CSV file declares no types
    return Schema((*own, *given))


def data_endings() -> tuple[str, ...]:
    """Return how the names of files end that hold data.

    >>> ".parquet" in data_endings()
    True
    """
    from tametail.data.sources.files import KINDS

    return tuple(KINDS)
