"""``tametail replay``: checks that a published release follows from its own noisy answers."""

from __future__ import annotations

from importlib.metadata import version

import click

from tametail.api import replay
from tametail.cli.request import text_of
from tametail.errors import ParameterError, TametailError
from tametail.ledger.commands import ledger_option, open_ledger
from tametail.release import Release
from tametail.report.document import read_report


@click.command("replay")
@click.argument("file")
@ledger_option
def replay_command(file: str, place: str | None) -> int:
    """Check a published release: FILE is a report, or what `mean --json --answers` printed.

    Everything that it says is computed again from its plan and its noisy answers; no data are
    needed. With a ledger, also whether it was issued. The exit code is 1 if something is off.
    """
    text = text_of(file, "FILE")
    release = Release.from_json(read_report(text) or text)
    if not release.answers:
        raise ParameterError(
            "the release holds no answers: write tametail mean ... --json --answers, or --report."
        )
    found = [_follows(release)]
    if place is not None:
        found.append(_was_issued(release, place))
    for _, words in found:
        click.echo(words)
    return 0 if all(right for right, _ in found) else 1


def _follows(release: Release) -> tuple[bool, str]:
    made_by = "" if release.issued is None else release.issued.version
    if made_by and made_by != version("tametail"):
        raise ParameterError(
            f"the release was made by version {made_by}, and this is {version('tametail')}: only "
            f"the same version replays it; write pip install tametail=={made_by}."
        )
    try:
        same = replay(release.plan, release.answers) == release
    except TametailError:
        same = False
    if same:
        return True, "consistent: every number follows from the plan and the noisy answers"
    return False, "NOT consistent: it says something that its own answers do not"


def _was_issued(release: Release, place: str) -> tuple[bool, str]:
    """Look for the charge that the release names, in a ledger."""
    receipt = release.receipt
    if receipt is None:
        return False, "NOT issued by a ledger: the release names no charge"
    events = open_ledger(place).history(receipt["dataset"])
    named = receipt["release_id"], receipt["head"]
    if any((event.release_id, event.hash) == named for event in events):
        return True, f"issued: the ledger has the charge of release {receipt['release_id']}"
    return False, f"NOT issued: the ledger has no such charge of release {receipt['release_id']}"
