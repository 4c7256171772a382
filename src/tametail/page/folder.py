"""The folder that the page was started in: nothing outside of it is named, listed or read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath

from tametail.errors import DataError
from tametail.schema import data_endings

#: Ending of ledgers.
LEDGER = (".ledger",)

#: A folder with more entries than this is not listed to its end.
_MOST = 1000

_REFUSED = "This file is outside the folder of the page. Choose a file inside it."


@dataclass(frozen=True, slots=True)
class Listing:
    """What there is in a folder: names only, never a size or a date."""

    here: str
    above: str | None
    folders: tuple[str, ...]
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder, and the paths below it as the page writes them: relative, with slashes.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     folder = Folder.at(place)
    ...     folder.find("") == folder.root, folder.relative(folder.root / "a" / "b.csv")
    (True, 'a/b.csv')
    """

    root: Path

    @classmethod
    def at(cls, place: str | os.PathLike[str]) -> Folder:
        """Return the folder at a place, with all links followed."""
        root = Path(os.path.realpath(place))
        if not root.is_dir():
            raise DataError(f"No folder {os.fspath(place)!r}. Use an existing folder.")
        return cls(root)

    def find(self, text: str) -> Path:
        """Return the real path of what a request names, or refuse it.

        Refused before anything is looked up: NUL, absolute paths, drives, ``..`` and hidden names.
        Then links are followed, and what they lead to must lie below the root as well.
        """
        names = _names(text)
        try:
            found = Path(os.path.realpath(self.root.joinpath(*names), strict=True))
        except OSError:  # there is no such file, or no file can be called so
            raise DataError(_REFUSED) from None
        if not found.is_relative_to(self.root):
            raise DataError(_REFUSED)
        return found

    def find_data(self, text: str) -> Path:
        """Return a data file, or a folder from which no link leads out of the root."""
        found = self.find(text)
        if found.is_dir():
            for entry in found.rglob("*"):
                if not Path(os.path.realpath(entry)).is_relative_to(self.root):
                    raise DataError(_REFUSED)
        elif not found.name.lower().endswith(data_endings()):
            raise DataError(f"Not a data file. Supported: {', '.join(data_endings())}.")
        return found

    def place_for(self, text: str, endings: tuple[str, ...]) -> Path:
        """Return the path of a file that may not exist yet, in a folder that does."""
        *above, name = _names(text) or [""]
        folder = self.find("/".join(above))
        target = folder / name
        if not name.lower().endswith(endings):
            raise DataError(f"The file name must end in {' or '.join(endings)}.")
        if not Path(os.path.realpath(target)).is_relative_to(self.root):
            raise DataError(_REFUSED)
        return target

    def relative(self, path: Path) -> str:
        """Return a path as the page writes it."""
        return "" if path == self.root else path.relative_to(self.root).as_posix()

    def listing(self, text: str = "") -> Listing:
        """Return what there is in a folder: folders, and data files."""
        here = self.find(text)
        if not here.is_dir():
            raise DataError("This is a file, not a folder.")
        inside = sorted(self._below(here), key=lambda path: path.name.lower())
        return Listing(
            here=self.relative(here),
            above=None if here == self.root else self.relative(here.parent),
            folders=tuple(self.relative(path) for path in inside if path.is_dir()),
            files=tuple(
                self.relative(path) for path in inside if path.name.lower().endswith(data_endings())
            ),
        )

    def ledgers(self) -> tuple[str, ...]:
        """Return the ledgers in the folder itself and one level below."""
        near = [self.root, *(path for path in self._below(self.root) if path.is_dir())]
        found = (path for folder in near for path in self._below(folder))
        return tuple(sorted({self.relative(path) for path in found if path.name.endswith(LEDGER)}))

    def _below(self, folder: Path) -> Iterator[Path]:
        """Yield what lies in a folder, is not hidden, and leads nowhere outside."""
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)[:_MOST]
        except OSError:
            return
        for entry in entries:
            path = Path(entry.path)
            hidden = entry.name.startswith((".", "_"))
            if not hidden and Path(os.path.realpath(path)).is_relative_to(self.root):
                yield path


def _names(text: str) -> list[str]:
    r"""Return the parts of a relative path, or refuse it.

    >>> _names("a/b.csv")
    ['a', 'b.csv']
    """
    names = [name for name in text.replace("\\", "/").split("/") if name]
    strange = "\0" in text or text.startswith(("/", "\\", "~")) or PureWindowsPath(text).drive
    if strange or any(name.startswith(".") for name in names):
        raise DataError(_REFUSED)
    return names
