"""No value of a record in any page, log or error: all is searched for planted values."""

import logging

import pytest
from tests.page.conftest import BASE, PLANTED, release, send

REQUESTS = (
    {"path": "charges.parquet", "column": "charge", "epsilon": "1"},
    {"path": "charges.csv", "column": ["charge"], "epsilon": "0.001"},
    {
        "path": "charges.parquet",
        "column": "charge",
        "by": "state",
        "keys": "CA\nNY",
        "epsilon": "1",
    },
    {"path": "charges.parquet", "column": "charge", "by": "state", "definition": "approx"},
    {"path": "charges.csv", "column": "charge", "person": "patient", "epsilon": "1"},
    {"path": "bare.csv", "column": "1", "header": "no", "epsilon": "1"},
    {"path": "bare.csv", "column": "834", "epsilon": "1"},
    {"path": "charges.csv", "column": "state", "epsilon": "1"},
    {"path": "charges.parquet", "column": "state", "epsilon": "1"},
    {"path": "european.csv", "column": "amount", "epsilon": "1", "decimal": ","},
    {"path": "charges.csv", "column": "nothing", "epsilon": "1"},
    {"path": "charges.csv", "column": "charge", "where": "nothing > 3", "epsilon": "1"},
    {
        "path": "part",
        "column": "charge",
        "epsilon": "1",
        "assumption": "bounds",
        "low": "0",
        "high": "9",
    },
    {"path": "charges.csv", "column": "charge", "epsilon": "3", "statistic": "describe"},
    {"path": "charges.csv", "column": "charge", "epsilon": "1", "statistic": "quantile"},
    {"path": "charges.csv", "column": "charge", "epsilon": "1", "statistic": "sum"},
    {"path": "charges.csv", "column": "state", "epsilon": "1", "statistic": "count"},
)


@pytest.fixture
def said(caplog, capfd):
    caplog.set_level(logging.DEBUG)
    return lambda: caplog.text + "".join(capfd.readouterr())


def test_nothing_planted_is_ever_seen(client, said):
    pages = [client.get(f"{BASE}{path}").text for path in ("/", "/open", "/open?folder=part")]
    files = ("charges.parquet", "charges.csv", "bare.csv", "european.csv", "part")
    pages += [client.get(f"{BASE}/release", params={"path": file}).text for file in files]
    for fields in REQUESTS:
        answer = send(client, "/confirm", **fields)
        pages.append(answer.text)
        if answer.status_code == 200:
            name, page = release(client, **fields)
            pages.append(page.text)
            taken = ("json", "csv", "html", "py", "ipynb", "txt")
            kept = f"{BASE}/releases/{name}/release"
            pages += [client.get(f"{kept}.{kind}").text for kind in taken]
    pages += [client.get(f"{BASE}{path}").text for path in ("/releases", "/ledger")]
    everything = "\n".join([*pages, said()])
    assert len(pages) > 60
    assert [value for value in PLANTED if value in everything] == []


def test_the_search_finds_what_is_there(client):
    """What is shown on purpose is found: a name that the caller insists on."""
    page = client.get(f"{BASE}/release?path=bare.csv&header=yes").text
    assert "Plantagenet" in page
