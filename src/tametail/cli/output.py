"""What ``tametail mean`` prints, and where: for people, as JSON, as CSV, or the value alone."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from tametail._files import refuse_database, written_beside
from tametail.cli.messages import fitted, in_options
from tametail.errors import DataError, ParameterError
from tametail.notes import FAKE
from tametail.release import Release
from tametail.report.document import check_name
from tametail.report.export import csv_text
from tametail.show.release import lines, table_lines
from tametail.show.sentences import has_a_table, stored_words
from tametail.show.warnings import notes_shown

#: How the names of files end that --output writes; all but the first four as it is printed.
_ENDINGS = (".json", ".csv", ".md", ".tex", ".txt", "")


@dataclass(frozen=True, slots=True)
class Output:
    """The form, and the files to write."""

    as_json: bool
    as_csv: bool
    quiet: bool
    answers: bool
    file: str | None
    report: str | None
    sentence: bool = False
    details: bool = False

    def check(self, files: Sequence[str] = ()) -> None:
        """Refuse, before anything is spent, what could not be written or would replace data."""
        if self._is_json and self._is_csv:
            raise click.UsageError("Use --json or --csv, not both.")
        if self.sentence and (self._is_json or self._is_csv or self.quiet):
            raise click.UsageError("Use --sentence without --json, --csv and --quiet.")
        if self.answers and not self._is_json:
            raise click.UsageError(
                "--answers needs --json. A report (--report FILE.html) has the answers, too."
            )
        if self._ending not in _ENDINGS:
            raise click.UsageError(
                f"--output {self.file!r}: unsupported file type. Use .json, .csv (spreadsheets), "
                ".md, .tex or .txt, or --report FILE.html for a page."
            )
        for option, path in (("--output", self.file), ("--report", self.report)):
            if path is not None:
                _check_writable(option, path)
                if os.path.realpath(path) in map(os.path.realpath, files):
                    raise click.UsageError(f"{option} {path!r} is the data. Use another file.")
        if self.report is not None:
            check_name(self.report)

    @property
    def _is_json(self) -> bool:
        return self.as_json or (self._ending == ".json" and not self.as_csv)

    @property
    def _is_csv(self) -> bool:
        return self.as_csv or (self._ending == ".csv" and not self.as_json)

    @property
    def _ending(self) -> str:
        return "" if self.file is None else Path(self.file).suffix.lower()

    def give(self, release: Release) -> None:
        """Print the release, or write it."""
        if words := stored_words(release):
            click.echo(f"note: {words}", err=True)
        if self.report is not None:
            release.report(self.report)
            self._tell(f"wrote {self.report}")
        if self.file is None:
            click.echo(self._text(release), nl=False)
        else:
            _write(self.file, self._text(release))
            self._tell(f"wrote {self.file}")
        if self.quiet or self.sentence:
            for note in notes_shown(release):
                if note.kind == "warning" or note.text == FAKE.text:
                    click.echo(f"warning: {in_options(note.text)}", err=True)

    def _tell(self, words: str) -> None:
        if not self.quiet:
            click.echo(words, err=True)

    def _text(self, release: Release) -> str:
        if self._is_csv:
            return csv_text(release)
        if self._is_json:
            # Hundreds of noisy counts are for programs that replay, not for a terminal.
            record = release.to_dict()
            if not self.answers:
                del record["answers"]
            return json.dumps(record, indent=2, allow_nan=False) + "\n"
        if self.sentence:
            # The sentence speaks of the table, and nothing else that was paid for is printed.
            rows = ["", *table_lines(release)] if has_a_table(release) else []
            return "".join(f"{line}\n" for line in [in_options(release.sentence()), *rows])
        if self.quiet:
            values = (row.value if row.usable else math.nan for row in release)
            return "".join(f"{value:.10g}\n" for value in values)
        if self._ending in (".md", ".tex"):
            table = release.to_markdown() if self._ending == ".md" else release.to_latex()
            return in_options(table)
        shown = [in_options(line) for line in lines(release, details=self.details)]
        return "".join(f"{line}\n" for line in (shown if self.file else fitted(shown)))


def _check_writable(option: str, path: str) -> None:
    place = Path(path).absolute()
    if not place.parent.is_dir():
        raise click.UsageError(f"{option} {path!r}: no such folder. Create it first.")
    is_device = place.exists() and not place.is_file()  # or a pipe: it is not replaced
    if place.is_dir() or not os.access(place if is_device else place.parent, os.W_OK):
        raise click.UsageError(f"{option} {path!r} cannot be written. Use another file.")
    refuse_database(path)


def _write(path: str, text: str) -> None:
    try:
        with written_beside(path) as file:
            file.write(text)
    except (OSError, ParameterError):
        # The release is paid for: it must not be lost with the file.
        click.echo(text, nl=False)
        raise DataError(
            f"--output {path!r} cannot be written. The release is printed above."
        ) from None
