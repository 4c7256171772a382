"""The page: who may call it, what it reads, how often it spends; and what a replay compares."""

from __future__ import annotations

from .mutant import Mutant

GUARD = "tests/page/test_guard.py"
FOLDER = "tests/page/test_folder.py"
VIEWS = "tests/page/test_views.py"
REPORT = "tests/test_report.py"

PAGE: tuple[Mutant, ...] = (
    Mutant(
        name="page-any-host",
        why="A foreign name that points to this machine would be of the page's own origin.",
        file="page/guard.py",
        old='if headers.get("host") != self._host:',
        new='if "host" not in headers:',
        tests=(f"{GUARD}::test_a_foreign_name_for_this_machine_gets_nothing",),
    ),
    Mutant(
        name="page-any-origin",
        why="Another site could send the page's forms.",
        file="page/guard.py",
        old='if origin not in (None, f"http://{self._host}") or site not in',
        new="if site not in",
        tests=(f"{GUARD}::test_another_site_is_refused",),
    ),
    Mutant(
        name="page-no-origin-needed",
        why="A form that does not say where it comes from could spend.",
        file="page/guard.py",
        old="    if origin is None:\n",
        new="    if origin is None and False:\n",
        tests=(f"{GUARD}::test_a_form_without_an_origin_spends_nothing",),
    ),
    Mutant(
        name="page-half-a-token",
        why="A token that is compared in part can be guessed in part.",
        file="page/guard.py",
        old="secrets.compare_digest(first.encode(), self._token.encode())",
        new="first.startswith(self._token[:8])",
        tests=(f"{GUARD}::test_without_the_token_there_is_nothing",),
    ),
    Mutant(
        name="page-failures-are-told",
        why="An exception may quote records, and a server logs what it is told.",
        file="page/views.py",
        old='"message.html", 500, here="", words=FAILED',
        new='"message.html", 500, here="", words=str(error)',
        tests=(f"{GUARD}::test_what_fails_inside_says_nothing",),
    ),
    Mutant(
        name="page-links-are-not-followed",
        why="A link inside of the folder may lead to any file of the user.",
        file="page/folder.py",
        old="        if not found.is_relative_to(self.root):\n"
        "            raise DataError(_REFUSED)\n        return found\n\n    def find_data",
        new="        return found\n\n    def find_data",
        tests=(f"{FOLDER}::test_a_path_outside_is_refused",),
    ),
    Mutant(
        name="page-links-in-folders",
        why="A folder of files is read whole, with what its links lead to.",
        file="page/folder.py",
        old='found.rglob("*")',
        new='found.rglob("*.csv")',
        tests=(f"{FOLDER}::test_a_folder_with_a_link_to_outside_is_refused",),
    ),
    Mutant(
        name="page-spends-twice",
        why="One confirmation is one release, however often it is clicked.",
        file="page/jobs.py",
        old="found = self.waiting.pop(name, None)",
        new="found = self.waiting.get(name)",
        tests=(f"{VIEWS}::test_one_confirmation_is_one_release",),
    ),
    Mutant(
        name="page-shows-a-first-row",
        why="A first row that does not look like column names may be a record.",
        file="schema.py",
        old='if getattr(names, "unnamed", None) is not None:',
        new="if False:",
        tests=(f"{VIEWS}::test_a_first_row_that_may_be_a_record_is_never_shown",),
    ),
    Mutant(
        name="replay-looks-away",
        why="A published release that was changed must not be called consistent.",
        file="cli/replay.py",
        old='    if not off:\n        return True, "OK: all',
        new='    if True:\n        return True, "OK: all',
        tests=(f"{REPORT}::test_a_release_that_was_changed_is_noticed",),
    ),
    Mutant(
        name="report-escapes-only-ends",
        why="After <!--<script in the release a browser would take the page's end for data.",
        file="markup.py",
        old='return written.replace("<", "\\\\u003c")',
        new='return written.replace("</", "<\\\\/")',
        tests=(f"{REPORT}::test_nothing_in_the_embedded_release_begins_a_tag_or_a_comment",),
    ),
)
