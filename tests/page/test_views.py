"""The views do what they say: plan, open, release once, take away, keep count."""

import ast
import json
import re
import shlex

import nbformat
import pytest
from tests.page.conftest import BASE, confirm, release, send

import tametail as tt
from tametail.cli import main
from tametail.cli.request import groups_of
from tametail.page.downloads import command_line, notebook, python_script
from tametail.page.forms import Form, release_from_form
from tametail.report.document import read_report
from tametail.show.numbers import significant

CHARGE = {"path": "charges.parquet", "column": "charge", "epsilon": "1"}


@pytest.mark.parametrize(
    "query",
    [
        "",
        "n=20000&definition=pure&epsilon=0.5",
        "n=1,000,000&definition=approx&epsilon=1&delta=1e-6",
        "n=5000&definition=zcdp&rho=0.1&privacy_unit=person",
        "n=5000&assumption=moment&scale=100",
        "n=5000&assumption=bounds&low=0&high=10&within_low=1",
        "n=50&epsilon=0.1",
        "n=5000&confidence=none&neighbors=replace-one",
    ],
)
def test_a_plan_shows_error_picture_and_advice(client, query):
    page = client.get(f"{BASE}/outcome?{query}")
    assert page.status_code == 200
    assert "Expected error by number of" in page.text
    assert page.text.count("<svg") == 4
    assert ('class="warning"' in page.text) == ("n=50&" in query)
    assert client.get(f"{BASE}/?{query}").status_code == 200


def test_a_large_budget_is_explained_before_one_decides(client):
    for query, is_told in (("n=20000&epsilon=1000", True), ("n=20000&epsilon=1", False)):
        page = client.get(f"{BASE}/outcome?{query}").text
        assert ("This budget protects little" in page) is is_told
        assert ("10^435:1" in page) is is_told
    page, _ = confirm(client, **CHARGE | {"epsilon": "20"})
    assert "This budget protects little" in page.text


def test_a_plan_says_what_the_library_says(client):
    plan = tt.plan(n=20_000, epsilon=0.5, tail=tt.Moment(2, 300))
    text = client.get(f"{BASE}/outcome?n=20000&epsilon=0.5&assumption=moment&scale=300").text
    assert significant(plan.rmse) in text
    assert f"±{significant(plan.half_width(0.95), 2)}" in text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("n=", "number of records"),
        ("n=many", "must be a number"),
        ("n=1.5", "must be an integer"),
        ("n=100&epsilon=-1", "Epsilon"),
        ("n=100&assumption=moment", "standard deviation"),
        ("n=100&assumption=bounds", "at least one bound"),
        ("n=100&assumption=bounds&low=3&high=1", "low"),
        ("n=100&definition=other", "Choose a privacy definition"),
        ("n=nan", "must be an integer"),
        ("n=100&statistic=mode", "Choose a statistic"),
        ("n=100&statistic=quantile&levels=0.999", "Levels"),
        ("n=100&statistic=describe&privacy_unit=person", "one by one"),
    ],
)
def test_a_wrong_control_is_told(client, query, words):
    page = client.get(f"{BASE}/outcome?{query}")
    # an empty number is the default of the control
    if query == "n=":
        assert page.status_code == 200
        return
    assert 'role="alert"' in page.text
    assert words in page.text


def test_open_shows_the_schema_and_nothing_else(client):
    page = client.get(f"{BASE}/release?path=charges.parquet").text
    for name, kind in (("charge", "double"), ("state", "string"), ("patient", "string")):
        assert re.search(rf'class="name">{name}</span><span class="kind">(large_)?{kind}', page)
    assert "6,000" not in page
    assert "6000" not in page


def test_a_first_row_that_may_be_a_record_is_never_shown(client):
    page = client.get(f"{BASE}/release?path=bare.csv").text
    assert "may be a record" in page
    assert "Plantagenet" not in page
    page = client.get(f"{BASE}/release?path=bare.csv&header=no").text
    assert "the first column is called 0" in page  # how many there are no record says
    for field in ("column", "person", "by"):
        assert f'<input id="{field}" name="{field}"' in page
    assert "Plantagenet" not in page
    insisted = client.get(f"{BASE}/release?path=bare.csv&header=yes").text
    assert "Plantagenet" in insisted  # whoever insists has looked


def test_a_release_from_form_to_result(client):
    page, _ = confirm(client, **CHARGE)
    assert "Confirm release" in page.text
    assert "Release (spend epsilon = 1)" in page.text
    _, page = release(client, **CHARGE)
    assert "The mean of charge is" in page.text
    assert "<svg" in page.text
    assert "<h2>Export</h2>" in page.text


def test_numbers_are_read_as_the_form_says(client):
    name, _ = release(client, path="european.csv", column="amount", epsilon="1", decimal=",")
    found = tt.Release.from_json(client.get(f"{BASE}/releases/{name}/release.json").text)
    assert abs(float(found) - 1.5) < 1
    assert found.plan.request.written.decimal == ","


@pytest.mark.parametrize(
    "fields",
    [
        {"by": "state", "keys": "CA\nNY\n\n", "other": "rest"},
        {"by": "state", "definition": "approx", "delta": "1e-6"},
        {"person": "patient"},
        {"person": "patient", "each": "person"},
        {"where": "charge > 3"},
        {"assumption": "moment", "scale": "300", "within_low": "0"},
        {"assumption": "bounds", "low": "0", "high": "100000", "n": "6000"},
        {"definition": "zcdp", "rho": "0.5", "confidence": "none"},
        {"path": "charges.csv", "thousands": ",", "currency": "$ USD", "accounting": "yes"},
        {"path": "part"},
        {"column": "", "computed": "charge / 2"},
        {"column": "", "computed": "charge > 200"},
        {"statistic": "sum", "assumption": "bounds", "low": "0"},
        {"statistic": "sum", "person": "patient", "each": "person"},
        {"statistic": "count", "assumption": "moment", "scale": "3", "within_low": "0"},
        {"statistic": "quantile"},
        {"statistic": "quantile", "levels": "0.25, 0.5 0.9", "person": "patient"},
        {"statistic": "describe", "epsilon": "3"},
        {"statistic": "describe", "by": "state", "keys": "CA\nNY", "epsilon": "6"},
        {
            "statistic": "sum",
            "by": "state",
            "keys": "CA\nNY",
            "person": "patient",
            "one_group": "yes",
        },
    ],
    ids=str,
)
def test_every_choice_reaches_the_release_and_what_is_taken_away(client, data, fields, monkeypatch):
    name, page = release(client, **(CHARGE | fields))
    assert "<h2>Export</h2>" in page.text, page.text
    made = tt.Release.from_json(client.get(f"{BASE}/releases/{name}/release.json").text)
    assert tt.replay(made.plan, made.answers) == made
    wanted = made.plan.request.hash()
    monkeypatch.chdir(data)
    script = client.get(f"{BASE}/releases/{name}/release.py").text
    namespace = {}
    exec(compile(script, "script", "exec"), namespace)
    assert namespace["release"].plan.request.hash() == wanted
    command = re.search(r'id="command">(.*?)</code>', page.text, re.DOTALL)[1]
    command = command.replace("&#39;", "'").replace("&#34;", '"').replace("&gt;", ">")
    assert main([*shlex.split(command)[1:], "--json", "--report", "same.html"]) == 0
    again = tt.Release.from_json(read_report((data / "same.html").read_text()))
    assert again.plan.request.hash() == wanted
    nbformat.validate(nbformat.reads(client.get(f"{BASE}/releases/{name}/release.ipynb").text, 4))


STATISTICS = {
    "sum": "The sum of charge is",
    "count": "The count of charge is",
    "quantile": "The median of charge is",
    "describe": "The 8 statistics are in the table",
}


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_statistic_is_named_from_plan_to_report(client, statistic):
    plan = client.get(f"{BASE}/outcome?n=20000&epsilon=1&statistic={statistic}").text
    assert "<h2>Budget split</h2>" in plan
    assert "Expected error by number of" not in plan
    assert f"statistic={statistic}" in plan
    carried = client.get(f"{BASE}/open?statistic={statistic}&levels=0.9").text
    assert f"statistic={statistic}" in carried
    form = client.get(f"{BASE}/release?path=charges.parquet&statistic={statistic}").text
    assert f'id="statistic-{statistic}" value="{statistic}" checked' in form
    page, _ = confirm(client, **CHARGE, statistic=statistic)
    called = {"quantile": "Quantiles at levels 0.5", "describe": "Summary"}
    words = called.get(statistic, statistic.capitalize())
    assert f"<dt>Statistic</dt><dd>{words}</dd>" in page.text
    name, page = release(client, **CHARGE, statistic=statistic)
    assert STATISTICS[statistic] in page.text
    titles = {"quantile": "Median of charge", "describe": "Statistics of charge"}
    title = f"<h1>{titles.get(statistic, f'{statistic.capitalize()} of charge')}</h1>"
    assert title in page.text
    assert title in client.get(f"{BASE}/releases/{name}/release.html").text
    picture = page.text.partition("<svg")[2].partition("</svg>")[0]
    assert (">95% quantile</text>" in picture) is (statistic == "describe")
    assert ">sum</text>" not in picture  # no axis holds a sum beside a mean


def test_two_groups_are_compared_for_nothing(client):
    groups = CHARGE | {"by": "state", "keys": "CA\nNY", "confidence": "0.9"}
    name, page = release(client, **groups)
    assert "Difference between two groups" in page.text
    made = tt.Release.from_json(client.get(f"{BASE}/releases/{name}/release.json").text)
    found = client.get(f"{BASE}/releases/{name}?first=1&second=0").text
    assert made.difference("NY", "CA").sentence() in found
    assert "90% confidence interval of the difference" in found
    assert '<option value="1" selected>NY</option>' in found
    assert "two different groups" in client.get(f"{BASE}/releases/{name}?first=1&second=1").text
    for other in ("first=7&second=0", "first=x&second=-1"):
        assert "than in" not in client.get(f"{BASE}/releases/{name}?{other}").text
    name, page = release(client, **groups | {"statistic": "quantile", "levels": "0.25 0.75"})
    assert "different statistics" in client.get(f"{BASE}/releases/{name}?first=0&second=3").text
    for alone in (CHARGE, groups | {"confidence": "none"}):
        assert "Difference between two groups" not in release(client, **alone)[1].text


def test_everything_can_be_taken_away(client):
    name, _ = release(client, **CHARGE)
    kinds = {
        kind: client.get(f"{BASE}/releases/{name}/release.{kind}")
        for kind in ("json", "csv", "html", "py", "ipynb", "txt")
    }
    assert all(answer.status_code == 200 for answer in kinds.values())
    assert all(
        answer.headers["content-disposition"] == f"attachment; filename=release.{kind}"
        for kind, answer in kinds.items()
    )
    made = tt.Release.from_json(kinds["json"].text)
    assert tt.Release.from_json(read_report(kinds["html"].text)) == made
    assert kinds["csv"].text.splitlines()[0].startswith("column,group,value")
    assert client.get(f"{BASE}/releases/{name}/release.exe").status_code == 404
    assert client.get(f"{BASE}/releases/other/release.json").status_code == 404


def test_one_confirmation_is_one_release(client, data):
    fields = CHARGE | {"ledger": "office.ledger", "dataset": "charges"}
    page, name = confirm(client, **fields)
    assert "<dt>Remaining afterwards</dt><dd>epsilon = 2</dd>" in page.text
    for _ in range(3):
        assert send(client, "/begin", name=name).status_code == 200
    while not client.get(f"{BASE}/releases/{name}/progress").json()["done"]:
        pass
    assert tt.Ledger(data / "office.ledger").remaining("charges").charges == 1
    assert send(client, "/begin", name="another").status_code == 409


def test_with_a_ledger_the_script_gives_the_same_release_for_nothing(client, data, monkeypatch):
    fields = CHARGE | {"ledger": "office.ledger", "dataset": "charges"}
    name, _ = release(client, **fields)
    made = tt.Release.from_json(client.get(f"{BASE}/releases/{name}/release.json").text)
    monkeypatch.chdir(data)
    namespace = {}
    exec(client.get(f"{BASE}/releases/{name}/release.py").text, namespace)
    assert namespace["release"] == made
    assert tt.Ledger("office.ledger").remaining("charges").charges == 1


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"column": ""}, "Choose at least one column"),
        ({"epsilon": "-1"}, "epsilon"),
        ({"by": "state"}, "needs a delta"),
        ({"person": "patient", "assumption": "moment", "scale": "3"}, "Assumption about the data"),
        ({"ledger": "office.ledger"}, "Dataset name in the ledger"),
        ({"ledger": "office.ledger", "dataset": "other"}, "other"),
        ({"ledger": "office.ledger", "dataset": "charges", "epsilon": "9"}, "Budget exceeded"),
        ({"where": "charge >"}, "charge"),
        ({"statistic": "mode"}, "Choose a statistic"),
        ({"statistic": "quantile", "levels": "half"}, "Levels must be numbers between 0 and 1"),
        ({"statistic": "quantile", "levels": "0.5, 2"}, "Levels"),
        ({"statistic": "quantile", "levels": "0.9999", "n": "6000"}, "No budget was spent"),
        ({"statistic": "sum", "column": ["charge", "patient"]}, "one column at a time"),
        ({"statistic": "sum", "assumption": "moment", "scale": "3"}, "Assumption about the data"),
        ({"statistic": "describe", "person": "patient"}, "one by one"),
        (
            {"statistic": "sum", "by": "state", "keys": "CA\nNY", "person": "patient"},
            "Each person belongs to one group",
        ),
        ({"path": "charges.csv", "decimal": ",", "thousands": ","}, "They must differ"),
    ],
    ids=str,
)
def test_what_is_wrong_is_told_before_anything_is_spent(client, data, fields, words):
    page, name = confirm(client, **(CHARGE | fields))
    assert name is None
    assert page.status_code == 422
    assert 'role="alert"' in page.text
    assert words in page.text
    assert tt.Ledger(data / "office.ledger").remaining("charges").charges == 0


def test_a_column_that_is_not_there_is_told(client):
    _, page = release(client, **(CHARGE | {"column": "salary"}))
    assert "The release failed" in page.text
    assert "salary" in page.text


def test_notes_are_in_plain_sight(client):
    _, page = release(client, **(CHARGE | {"epsilon": "0.0001"}))
    assert 'class="warning"' in page.text


def test_the_ledger_view(client, data):
    release(client, **CHARGE, ledger="office.ledger", dataset="charges")
    page = client.get(f"{BASE}/ledger").text
    assert "33.3%" in page
    assert "Remaining budget: epsilon = 2" in page
    assert "charged epsilon = 1, release" in page
    verified = send(client, "/ledger/do", do="verify", place="office.ledger").text
    assert "entries, hash chain intact" in verified
    refused = send(client, "/ledger/do", do="verify", place="office.ledger", head="0" * 63 + "1")
    assert refused.status_code == 422
    assert "is not in this ledger" in refused.text
    made = send(
        client, "/ledger/do", do="create", place="new.ledger", dataset="b", epsilon="2",
        person="clinic patient",
    )  # fmt: skip
    assert "Created dataset b." in made.text
    assert tt.Ledger(data / "new.ledger").remaining("b").protection.person == ("clinic", "patient")
    assert "new.ledger" in client.get(f"{BASE}/ledger").text


def test_words_are_escaped(client, data):
    name = "<img src=x onerror=alert(1)>.csv"
    (data / name).write_text("amount\n" + "1\n" * 500)
    assert "<img" not in client.get(f"{BASE}/open").text
    answer = client.get(f"{BASE}/release", params={"path": name, "where": '"><script>'})
    assert "<img" not in answer.text
    assert answer.text.count("<script") == 1


def test_scripts_quote_whatever_is_asked():
    form = Form.read("path=a'b.csv&column=x%22%0Aimport+os&epsilon=1&where=s+%3D%3D+'%22'")
    wanted = release_from_form(form)
    tree = ast.parse(python_script(wanted))
    assert [type(one).__name__ for one in tree.body] == ["Expr", "Import", "Assign", "Expr", "Expr"]
    assert shlex.split(command_line(wanted))[2:4] == ["a'b.csv", "--column"]
    made = tt.mean([1.0, 2.0] * 300, epsilon=1)
    assert json.loads(notebook(wanted, made))["nbformat"] == 4


@pytest.mark.parametrize(
    ("fields", "by", "keys"),
    [
        ("by=state&keys=CA%0ANew+York", ("state",), ["CA", "New York"]),
        (
            "by=state&by=year&keys=CA,2013%0ANY,2014",
            ("state", "year"),
            [("CA", "2013"), ("NY", "2014")],
        ),
    ],
)
def test_a_command_asks_for_the_groups_of_the_form(fields, by, keys):
    asked = release_from_form(Form.read(f"path=a.csv&column=paid&epsilon=1&{fields}"))
    assert asked.options["keys"] == keys
    words = shlex.split(command_line(asked))
    written = words[words.index("--keys") + 1]
    assert groups_of(by=by, keys=written, keys_file=None)["keys"] == keys


def test_a_key_with_a_comma_is_not_two_groups():
    asked = release_from_form(Form.read("path=a.csv&column=x&epsilon=1&by=town&keys=Ely,+Cambs"))
    assert asked.options["keys"] == ["Ely, Cambs"]
    assert shlex.split(command_line(asked))[-2:] == ["--keys-file", "keys.txt"]
