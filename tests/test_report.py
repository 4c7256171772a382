"""A report is one page that says everything, holds its release, and fetches nothing."""

import json
import re
from dataclasses import replace
from html import escape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import tametail as tt
from tametail.cli import main
from tametail.errors import ParameterError
from tametail.report.document import changed_parts, read_report, report_text
from tametail.show.rows import is_usable, value_of
from tametail.show.sentences import lead, rest, sentence
from tametail.show.warnings import notes_shown

RECORDS = np.random.default_rng(5).lognormal(3, 1, 20_000)
FRAME = pd.DataFrame({"paid": RECORDS, "state": np.where(np.arange(20_000) % 3, "CA", "<b>NY</b>")})

RELEASES = {
    "one": lambda: tt.mean(FRAME, "paid", epsilon=1),
    "told": lambda: tt.mean(FRAME, "paid", epsilon=1, tail=tt.Moment(2, 100), within=(0, 1e6)),
    "bounded": lambda: tt.mean(FRAME, "paid", epsilon=1, tail=tt.Bounded(0, 1e5), n=20_000),
    "no interval": lambda: tt.mean(FRAME, "paid", epsilon=1, confidence=None),
    "nothing seen": lambda: tt.mean(RECORDS[:20], epsilon=0.1),
    "several": lambda: tt.mean(np.column_stack([RECORDS, RECORDS]), rho=0.5),
    "groups": lambda: tt.mean(FRAME, "paid", by="state", keys=["CA", "<b>NY</b>", "TX"], epsilon=1),
    "private keys": lambda: tt.mean(FRAME, "paid", by="state", epsilon=1, delta=1e-6),
    "persons": lambda: tt.mean(
        FRAME.assign(who=np.arange(20_000) % 4000), "paid", person="who", epsilon=1
    ),
}


class _Page(HTMLParser):
    """Notes open elements, and whatever would be fetched or run."""

    def __init__(self):
        super().__init__()
        self.open, self.fetched, self.run, self.seen = [], [], [], []

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.fetched += [named[key] for key in ("src", "href") if key in named]
        if tag == "script" and named.get("type") != "application/json":
            self.run.append(tag)
        self.run += [key for key in named if key.startswith("on")]
        self.seen.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", RELEASES)
def test_a_report_is_whole_and_alone(name):
    release = RELEASES[name]()
    text = report_text(release)
    page = _Page()
    page.feed(text)
    assert (page.open, page.fetched, page.run) == ([], [], [])
    assert "url(" not in text
    assert "@import" not in text
    assert "<b>NY" not in text.partition("<script")[0]
    for heading in ("Privacy", "Assumptions", "Method", "How to cite", "Verify this report"):
        assert f"<h2>{heading}</h2>" in text
    assert release.issued.release_id in text
    assert release.issued.date in text
    assert page.seen.count("svg") >= 1 or not any(map(is_usable, release))


@pytest.mark.parametrize("name", RELEASES)
def test_a_report_holds_its_release_which_replays(name):
    release = RELEASES[name]()
    again = tt.Release.from_json(read_report(report_text(release)))
    assert again == release
    assert again.issued == release.issued
    assert tt.replay(again.plan, again.answers) == release


def test_nothing_in_the_embedded_release_begins_a_tag_or_a_comment():
    """After "<!--<script" a browser does not end the element at the first "</script>"."""
    where = "state != '<!--<script>' and state != '</script><b>'"
    release = tt.mean(FRAME, "paid", epsilon=1, where=where)
    page = report_text(release)
    _, _, data = page.partition('<script type="application/json" id="release">')
    assert data.count("<") == 3  # the ends of script, body and html
    assert "\\u003c!--\\u003cscript>" in data
    assert read_report(page).count("\\u003c") >= 3
    again = tt.Release.from_json(read_report(page))
    assert again == release
    assert again.plan.request.where == where


def test_every_note_is_in_plain_sight():
    release = RELEASES["nothing seen"]()
    assert release.has_warnings
    text = report_text(release)
    shown = notes_shown(release)
    assert [note.kind for note in shown] == ["warning", "note"]
    for note in shown:
        assert note.text in re.sub("&#x27;", "'", text)
    assert text.index('class="warning"') < text.index("<h2>Result")


def test_the_sentence_claims_no_interval_where_there_is_none():
    assert "No reliable estimate" in sentence(RELEASES["nothing seen"]())
    assert "interval" not in sentence(RELEASES["no interval"]())


def test_what_names_a_release_is_outside_of_equality():
    one = RELEASES["one"]()
    other = replace(one, issued=None, receipt={"dataset": "a", "release_id": "b", "head": "c"})
    assert one == other
    assert hash(one) == hash(other)
    assert one != replace(one, means=(replace(one.means[0], value=0.0),))


def test_a_path_that_cannot_be_written(tmp_path):
    with pytest.raises(ParameterError, match=r"cannot be written: .*another path"):
        RELEASES["one"]().report(tmp_path / "nowhere" / "report.html")


@pytest.fixture
def paid(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.to_parquet("paid.parquet")
    return tmp_path


MEAN = ("mean", "paid.parquet", "--column", "paid", "--epsilon", "1")


def test_the_command_line_writes_and_replays_a_report(paid, capsys):
    assert main([*MEAN, "--report", "report.html"]) == 0
    assert "mean " in capsys.readouterr().out
    assert main(["replay", "report.html"]) == 0
    assert capsys.readouterr().out.startswith("OK: all numbers")


def test_answers_are_printed_only_if_asked_for(paid, capsys):
    assert main([*MEAN, "--json"]) == 0
    assert "answers" not in json.loads(capsys.readouterr().out)
    assert main([*MEAN, "--json", "--answers"]) == 0
    text = capsys.readouterr().out
    (paid / "release.json").write_text(text)
    assert main(["replay", "release.json"]) == 0
    assert main([*MEAN, "--answers"]) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record["rows"][0].update(value=record["value"] + 1e-9),
        lambda record: record["rows"][0]["intervals"][0].update(low=0.0),
        lambda record: record["answers"].pop(),
        lambda record: record["rows"][0].update(notes=[]),
        lambda record: record.update(epsilon=0.5),
        lambda record: record.update(value=record["value"] * (1 + 1e-9)),
        lambda record: record.update(low=0.0),
        lambda record: record.update(guarantee="0.01-DP"),
        lambda record: record.update(notes=[]),
        lambda record: record.update(columns=["salary"]),
        lambda record: record.update(confidence=0.99),
        lambda record: record.pop("high"),
        lambda record: record.update(more=1),
    ],
    ids=["value", "interval", "answers", "notes", "budget", "top value", "top low", "guarantee",
         "top notes", "columns", "confidence", "left out", "put in"],
)  # fmt: skip
def test_a_release_that_was_changed_is_noticed(paid, capsys, change):
    record = tt.mean(RECORDS[:300], epsilon=0.1).to_dict()
    change(record)
    (paid / "release.json").write_text(json.dumps(record))
    assert main(["replay", "release.json"]) == 1
    assert capsys.readouterr().out.startswith("NOT OK")


def test_replay_names_what_differs_and_floats_may_differ_in_the_last_bits(paid, capsys):
    record = tt.mean(RECORDS, epsilon=1).to_dict()
    value = record["value"]
    record["value"] = value * (1 + 1e-14)
    (paid / "release.json").write_text(json.dumps(record))
    assert main(["replay", "release.json"]) == 0
    capsys.readouterr()
    record |= {"value": 2 * value, "guarantee": "none"}
    (paid / "release.json").write_text(json.dumps(record))
    assert main(["replay", "release.json"]) == 1
    assert capsys.readouterr().out == (
        "NOT OK: these do not match the noisy answers: guarantee, value\n"
    )


@pytest.mark.parametrize("key", ["value", "low", "notes", "columns"])
def test_a_release_whose_top_was_changed_is_not_read(key):
    record = tt.mean(RECORDS, epsilon=1).to_dict()
    record[key] = ["x"] if isinstance(record[key], list) else record[key] + 1.0
    with pytest.raises(ParameterError, match=f"its {key} does not match its rows"):
        tt.Release.from_json(json.dumps(record))


@pytest.mark.parametrize("kind", RELEASES)
def test_the_page_of_a_release_that_was_read_is_the_same(kind):
    page = report_text(RELEASES[kind]())
    again = tt.Release.from_json(read_report(page))
    assert changed_parts(page, again) == []
    assert changed_parts(page.replace("\n", "\r\n"), again) == []


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ('<p class="lead">The mean', '<p class="lead">Our mean', "top of the page"),
        ("<dt>Data</dt><dd>", "<dt>Data</dt><dd>9", "Result"),
        ("epsilon = 1", "epsilon = 0.1", "Privacy"),
        ("<h2>Method</h2>", "<h2>Methods</h2>", "Method, a part that is not ours"),
        ("</style>", "td { display: none }</style>", "top of the page"),
        ('x1="', 'x1="9', "top of the page"),
        ("</main>", "<p>Approved</p></main>", "Verify this report"),
    ],
)
def test_a_page_around_a_release_that_was_changed_is_noticed(paid, capsys, old, new, where):
    tt.mean(FRAME, "paid", epsilon=1).report("report.html")
    head, mark, data = (paid / "report.html").read_text().partition('<script type="application')
    assert old in head
    (paid / "report.html").write_text(head.replace(old, new) + mark + data)
    assert main(["replay", "report.html"]) == 1
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("OK: all numbers")
    assert second.startswith("NOT OK: ")
    assert where in second


def test_a_second_release_in_a_page_is_noticed(paid, capsys):
    tt.mean(FRAME, "paid", epsilon=1).report("report.html")
    page = (paid / "report.html").read_text()
    block = page[page.index("<script") : page.index("</body>")]
    (paid / "report.html").write_text(page.replace("</body>", block + "</body>"))
    assert main(["replay", "report.html"]) == 1


def test_a_ledger_shows_that_a_release_was_issued(paid, capsys):
    ledger = tt.Ledger("office.ledger")
    ledger.create("paid", tt.pure(3))
    tt.mean(FRAME, "paid", epsilon=1, ledger=ledger, dataset="paid").report("one.html")
    tt.mean(FRAME, "paid", epsilon=1).report("other.html")
    assert main(["replay", "one.html", "--ledger", "office.ledger"]) == 0
    out = capsys.readouterr().out
    assert "OK: the page follows from the noisy answers in it." in out
    assert re.search("OK: the ledger has the charge of release .*, and the same result.\n$", out)
    assert main(["replay", "other.html", "--ledger", "office.ledger"]) == 1
    assert ledger.head != tt.Release.from_json(read_report((paid / "one.html").read_text())).receipt
    text = (paid / "one.html").read_text().replace('"head": "', '"head": "0')
    (paid / "one.html").write_text(text)
    assert main(["replay", "one.html", "--ledger", "office.ledger"]) == 1


def _without_a_trace(release):
    """Return the release with one noisy answer changed by 1, from which the same numbers follow."""
    record = release.to_dict()
    counts = next(one for one in record["answers"] if isinstance(one, list) and len(one) > 20)
    for place in range(len(counts)):
        counts[place] += 1
        again = tt.replay(release.plan, tt.Release.from_dict(record).answers)
        if again.means == release.means:
            return record
        counts[place] -= 1
    raise AssertionError("every answer shows")


def test_a_ledger_shows_noisy_answers_that_no_number_depends_on(paid, capsys):
    ledger = tt.Ledger("office.ledger")
    ledger.create("paid", tt.pure(3))
    asked = {"ledger": ledger, "dataset": "paid", "release_id": "m23", "epsilon": 1}
    for _ in range(2):  # made, and read back
        release = tt.mean(FRAME, "paid", **asked)
        (paid / "one.json").write_text(release.to_json())
        assert main(["replay", "one.json", "--ledger", "office.ledger"]) == 0
    in_ledger = ["--ledger", "office.ledger", "--dataset", "paid", "--json", "--answers"]
    capsys.readouterr()
    assert main([*MEAN, *in_ledger]) == 0
    (paid / "two.json").write_text(capsys.readouterr().out)
    assert main(["replay", "two.json", "--ledger", "office.ledger"]) == 0
    assert "and the same result." in capsys.readouterr().out
    (paid / "one.json").write_text(json.dumps(_without_a_trace(release)))
    assert main(["replay", "one.json"]) == 0  # all that it says follows from what is in it
    capsys.readouterr()
    assert main(["replay", "one.json", "--ledger", "office.ledger"]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("NOT OK: the ledger has the charge of release m23, but with another")
    assert "answers[" in last


@pytest.mark.parametrize("text", ["", "no release", "{}", "<html></html>"])
def test_what_is_no_release_is_refused(paid, capsys, text):
    (paid / "x.html").write_text(text)
    assert main(["replay", "x.html"]) == 2
    assert "This is not a release" in capsys.readouterr().err


def test_a_release_of_another_version_says_which_one_to_install(paid, capsys):
    release = tt.mean(RECORDS, epsilon=1)
    record = release.to_dict()
    record["issued"]["version"] = "0.0.7"
    (paid / "old.json").write_text(json.dumps(record))
    assert main(["replay", "old.json"]) == 2
    assert "Install version 0.0.7" in capsys.readouterr().err


def test_nothing_is_spent_if_the_report_has_nowhere_to_go(paid, capsys, monkeypatch):
    monkeypatch.setattr("tametail.cli.mean.execute_plan", pytest.fail)
    assert main([*MEAN, "--report", "nowhere/report.html"]) == 2


def test_the_sentence_says_what_a_reviewer_asks_for(tmp_path):
    """Value, interval and what it is for, the share of records clipped, and the budget."""
    records = np.random.default_rng(2).lognormal(6, 1.5, 8_000)
    release = tt.mean(records, epsilon=0.5)
    said = release.sentence()
    assert said.startswith(f"The mean is {value_of(release[0])} (95% confidence interval ")
    assert ", approximate)." in said
    share = float(re.search(r"about ([0-9.e-]+)% of records", said)[1])
    truth = 100 * float(((records < release.clip[0]) | (records > release.clip[1])).mean())
    assert truth <= share < 3
    assert said.endswith("at most epsilon = 0.5 (pure DP) for adding or removing any one record.")
    release.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert said == f"{lead(release)} {rest(release)}"
    assert all(f">{escape(part)}</p>" in page for part in (lead(release), rest(release)))


def test_the_sentence_says_nothing_of_clipping_at_the_bounds():
    records = np.random.default_rng(2).integers(0, 100, 3_000).astype(float)
    release = tt.mean(records, epsilon=1, tail=tt.Bounded(0, 120))
    assert "Values below" not in release.sentence() or release.clip[1] < 120
