"""What a mutant is: one deliberate bug, and the tests that must notice it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Mutant:
    """A bug as a replacement of text that occurs exactly once in a file of ``src/tametail``."""

    name: str
    why: str
    """Which promise the bug would break."""
    file: str
    """Relative to ``src/tametail``."""
    old: str
    new: str
    tests: tuple[str, ...]
    """Node ids of pytest, relative to the root; the first one that fails has killed the mutant."""

    def occurrences(self, root: Path = ROOT) -> int:
        """Return how often the old text occurs; anything but 1 means that it is out of date."""
        return self._path(root).read_text(encoding="utf-8").count(self.old)

    def apply(self, root: Path) -> None:
        """Put the bug into the copy of the project at ``root``."""
        found = self.occurrences(root)
        if found != 1:
            raise LookupError(f"{self.name}: its text occurs {found} times in {self.file}.")
        path = self._path(root)
        text = path.read_text(encoding="utf-8").replace(self.old, self.new)
        path.write_text(text, encoding="utf-8")

    def _path(self, root: Path) -> Path:
        return root / "src" / "tametail" / self.file
