"""``tametail replay``: checks that a published release follows from its own noisy answers."""

from __future__ import annotations

from importlib.metadata import version

import click

from tametail._json import read_json
from tametail._shown import printable
from tametail.api.planning import replay
from tametail.cli.request import text_of
from tametail.errors import ParameterError, TametailError
from tametail.ledger.commands import ledger_option, open_ledger
from tametail.recorded import DERIVED, NAMES, REFUSAL, differing_keys
from tametail.release import Release
from tametail.report.document import changed_parts, read_report

#: So many places are named at most.
_MOST = 6


@click.command("replay", short_help="Check a published release or report, without the data.")
@click.argument("file")
@ledger_option
def replay_command(file: str, place: str | None) -> int:
    """Check a published release: FILE is a report, or what `mean --json --answers` printed.

    Everything that it says is computed again from its plan and its noisy answers; no data are
    needed. The text and the pictures of a report are written again and compared. With a ledger,
    also whether it was issued, with these noisy answers. The exit code is 1 if anything differs.
    """
    text = text_of(file, "FILE")
    inside = read_report(text)
    record = read_json(inside or text, REFUSAL)
    release = Release.from_dict({key: record[key] for key in record if key not in DERIVED})
    if not release.answers:
        raise ParameterError(
            "The release has no noisy answers. Write it with --json --answers, or with --report."
        )
    found = [_is_real(release), _follows(release, record)]
    if inside is not None:
        found.append(_is_page_of(release, text))
    if place is not None:
        found.append(_was_issued(release, place))
    for _, words in found:
        if words:
            click.echo(words)
    return 0 if all(right for right, _ in found) else 1


def _is_real(release: Release) -> tuple[bool, str]:
    return not release.fake, f"{release.shared_notes[0]}" if release.fake else ""


def _follows(release: Release, record: dict[str, object]) -> tuple[bool, str]:
    """Compare all that a file says, the names and the date apart, with what its answers give."""
    made_by = "" if release.issued is None else release.issued.version
    if made_by and made_by != version("tametail"):
        raise ParameterError(
            f"The release was made by version {made_by}, but this is version "
            f"{version('tametail')}. Install version {made_by} and try again."
        )
    try:
        again = replay(release.plan, release.answers).to_dict()
    except TametailError:
        return False, "NOT OK: the noisy answers do not belong to the plan."
    said = {key: record[key] for key in record if key not in NAMES}
    off = differing_keys(said, {key: again[key] for key in again if key not in NAMES})
    if not off:
        return True, "OK: all numbers match the plan and the noisy answers."
    return False, f"NOT OK: these do not match the noisy answers: {_named(off)}"


def _is_page_of(release: Release, page: str) -> tuple[bool, str]:
    """Compare what a reader sees with the page that the release inside gives."""
    off = changed_parts(page, release)
    if not off:
        return True, "OK: the page follows from the noisy answers in it."
    return (
        False,
        f"NOT OK: these parts of the page were edited: {', '.join(off)}",
    )


def _was_issued(release: Release, place: str) -> tuple[bool, str]:
    """Look for the charge that the release names in a ledger, and for what was released for it.

    Only that tells whether the noisy answers are those that were drawn: a small change of one may
    change no number.
    """
    receipt = release.receipt
    if receipt is None:
        return False, "NOT OK: the release was not charged to a ledger."
    ledger, name = open_ledger(place), receipt["release_id"]
    events = ledger.history(receipt["dataset"])
    if not any((event.release_id, event.hash) == (name, receipt["head"]) for event in events):
        return False, f"NOT OK: the ledger has no such charge of release {name}."
    found = f"the ledger has the charge of release {name}"
    stored = ledger.result(name)
    if stored is None:
        return True, f"OK: {found}, but no result to compare."
    off = differing_keys(read_json(stored, REFUSAL), read_json(release.to_json(), REFUSAL))
    if not off:
        return True, f"OK: {found}, and the same result."
    return False, f"NOT OK: {found}, but with another result: {_named(off)}"


def _named(off: list[str]) -> str:
    more = f" and {len(off) - _MOST} more" if len(off) > _MOST else ""
    return printable(", ".join(off[:_MOST])) + more
