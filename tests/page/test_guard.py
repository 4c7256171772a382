"""Nobody but the page's own browser is answered: a test for each attack."""

import pytest
from starlette.testclient import TestClient
from tests.page.conftest import ADDRESS, BASE, OWN, PORT, TOKEN, confirm, send

from tametail.page import sources
from tametail.page.app import make_app
from tametail.page.folder import Folder
from tametail.page.guard import HEADERS, MOST_BYTES, new_token

PATHS = ("/", "/open", "/releases", "/ledger", "/style.css", "/page.js", "/icon.svg", "/nothing")


@pytest.mark.parametrize("path", ["/", "/open", "/wrong/", f"/{TOKEN}x/", f"/{TOKEN[:-1]}/", "//"])
def test_without_the_token_there_is_nothing(client, path):
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.text == "Page not found."


def test_tokens_are_long_and_new():
    assert len({new_token() for _ in range(100)}) == 100
    assert all(len(new_token()) >= 43 for _ in range(10))


@pytest.mark.parametrize(
    "host",
    ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", f"localhost:{PORT}", ""],
)
def test_a_foreign_name_for_this_machine_gets_nothing(client, host):
    """DNS rebinding: a site makes its own name point to 127.0.0.1, and asks with that name."""
    answer = client.get(f"{BASE}/", headers={"host": host})
    assert answer.status_code == 421
    assert "<html" not in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": f"https://127.0.0.1:{PORT}"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_site_is_refused(client, headers, method):
    answer = client.request(method, f"{BASE}/open", headers=headers)
    assert answer.status_code == 403
    assert "Request from another site" in answer.text


def test_a_form_without_an_origin_spends_nothing(client):
    _, name = confirm(client, path="charges.parquet", column="charge", epsilon="1")
    answer = client.post(f"{BASE}/begin", data={"name": name})
    assert answer.status_code == 403
    assert client.get(f"{BASE}/releases/{name}").status_code == 404


@pytest.mark.parametrize("path", ["/confirm", "/begin", "/ledger/do"])
def test_nothing_changes_by_a_link(client, path):
    """What changes something is a form that was sent, never an address that was opened."""
    assert client.get(f"{BASE}{path}").status_code == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_not_done(client, method):
    assert client.request(method, f"{BASE}/open", headers=OWN).status_code == 405


def test_there_are_no_uploads(client):
    files = {"file": ("a.csv", b"x\n1\n")}
    answer = client.post(f"{BASE}/confirm", files=files, headers=OWN)
    assert answer.status_code == 415
    for kind in ("application/json", "text/plain", ""):
        answer = client.post(f"{BASE}/confirm", content=b"{}", headers=OWN | {"content-type": kind})
        assert answer.status_code == 415


def test_a_form_that_is_too_long(client):
    answer = send(client, "/confirm", keys="x" * (MOST_BYTES + 1))
    assert answer.status_code == 413


def test_a_form_with_too_many_fields(client):
    body = "&".join(f"a{number}=1" for number in range(5000))
    kind = {"content-type": "application/x-www-form-urlencoded"}
    assert client.post(f"{BASE}/confirm", content=body, headers=OWN | kind).status_code == 422


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_is_hardened(client, path):
    answer = client.get(f"{BASE}{path}")
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert "server" not in answer.headers
    assert "set-cookie" not in answer.headers


def test_refusals_are_hardened_too(client):
    for answer in (client.get("/"), client.get(f"{BASE}/", headers={"host": "evil.example"})):
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS


def test_the_policy_allows_nothing_from_elsewhere():
    policy = HEADERS["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize("path", PATHS)
def test_pages_hold_no_script_and_no_style_of_their_own(client, path):
    text = client.get(f"{BASE}{path}").text
    if path.endswith((".css", ".js", ".svg")):
        return
    assert text.count("<script") == 1
    assert f'<script src="{BASE}/page.js"' in text
    assert " style=" not in text
    assert " on" not in [word[:3] for word in text.split("=")]
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text


def test_what_fails_inside_says_nothing(data, monkeypatch, caplog, capfd):
    def fail(*_):
        raise RuntimeError("the salary of Plantagenet is 83461957")

    monkeypatch.setattr(sources, "schema_of", fail)
    client = TestClient(make_app(Folder.at(data), TOKEN, PORT), base_url=ADDRESS)
    answer = client.get(f"{BASE}/release?path=charges.parquet")
    assert answer.status_code == 500
    assert "83461957" not in answer.text + caplog.text + "".join(capfd.readouterr())
    assert "Internal error" in answer.text


def test_the_page_is_bound_to_this_machine_alone():
    from tametail.page.serve import listening

    with listening(0) as sock:
        host, port = sock.getsockname()
        assert host == "127.0.0.1"
        with pytest.raises(ValueError, match="cannot be used"):
            listening(port)
