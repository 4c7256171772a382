"""What a form may be about: a file in the folder, or a table of a database that has a name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tametail.databases import database, databases, schema_of_table
from tametail.ledger import locators_of
from tametail.page.folder import Folder
from tametail.page.forms import Form
from tametail.parse import Parse
from tametail.schema import Schema, schema_of


@dataclass(frozen=True, slots=True)
class Source:
    """Data, as ``mean`` takes them, and as the page calls them."""

    data: str | Path
    table: str | None
    called: str
    shown: str
    """What the script that does the same writes: a path in the folder, or an address."""

    @classmethod
    def of(cls, form: Form, folder: Folder) -> Source:
        """Return what a form is about; only names of databases are taken from it, no address."""
        name = form.one("database")
        if not name:
            path = folder.find_data(form.one("path"))
            return cls(path, None, form.one("path"), form.one("path"))
        found = database(name)
        table = found.table or form.one("table")
        return cls(found.address, table, f"{name}: {table}", found.address)

    @property
    def locators(self) -> tuple[str, ...]:
        """Where the data lie, as a ledger notes it."""
        return locators_of(self.data, self.table)

    @property
    def is_text(self) -> bool:
        """Whether numbers are written as text, in a way that has to be said."""
        return re.search(r"\.[ct]sv(\.\w+)?$", str(self.data).lower()) is not None

    def schema(self, parse: Parse | None) -> Schema:
        """Return names and declared types of the columns."""
        if self.table is not None:
            return schema_of_table(self.data, self.table)
        return schema_of(Path(self.data), parse)


def named_databases() -> list[tuple[str, str | None]]:
    """Return the names of the databases that can be opened, each with its table if that is set."""
    return [(one.name, one.table) for one in databases().values()]
