"""The page in a real Chromium: from plan to report, by keyboard, at phone width, with axe-core."""

import json
import shutil
import socket
import sys
import threading
from pathlib import Path

import pytest
import uvicorn
from tests.page.conftest import PLANTED, TOKEN

import tametail as tt
from tametail.page.app import make_app
from tametail.page.folder import Folder
from tametail.page.serve import listening
from tametail.report.document import read_report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
)  # fmt: skip
AXE = Path(sys.prefix, "axe", "node_modules", "axe-core", "axe.min.js")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")


@pytest.fixture
def address(data):
    """Serve the page over the folder, and return its address."""
    sock = listening(0)
    app = make_app(Folder.at(data), TOKEN, sock.getsockname()[1])
    config = uvicorn.Config(
        app, log_config=None, access_log=False, log_level="critical", lifespan="off", ws="none"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
    thread.start()
    yield f"http://127.0.0.1:{sock.getsockname()[1]}/{TOKEN}"
    server.should_exit = True
    thread.join(600)
    sock.close()


@pytest.fixture(scope="module")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api", reason="not in the group of tests")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


def patient(chromium, **options):
    """Return a context that waits as long as a busy machine takes."""
    context = chromium.new_context(**options)
    context.set_default_timeout(300_000)  # milliseconds
    return context


@pytest.fixture
def page(chromium, address):  # closed before its server stops, which would refuse what still loads
    """Return a page that fails the test for any word on the console, and for any other host."""
    context = patient(chromium, accept_downloads=True)
    page = context.new_page()
    said, hosts = [], set()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: hosts.add(request.url.split("/")[2].split(":")[0]))
    yield page
    context.close()
    assert said == []
    assert hosts <= {"127.0.0.1", ""}


def make_release(page, address, **fields):
    page.goto(f"{address}/release?path=charges.parquet")
    page.check("input[value=charge]")
    for name, value in fields.items():
        page.fill(f"#{name}", value)
    page.click("text=Review")
    page.click("text=Release (spend")
    page.wait_for_selector("#take")


def test_from_plan_to_report(page, address, tmp_path):
    page.goto(f"{address}/")
    page.fill("#n", "6000")
    page.wait_for_selector("text=6,000")
    page.fill("#epsilon", "2")
    page.wait_for_selector("text=records, with epsilon = 2")
    page.click("text=Choose data for this plan")
    page.click("text=charges.parquet")
    assert page.input_value("#epsilon") == "2"
    page.check("input[value=charge]")
    page.click("text=Review")
    assert "epsilon = 2 (pure DP)" in page.text_content(".spend")
    page.click("text=Release (spend")
    page.wait_for_selector("#take")
    assert "The mean of charge is" in page.text_content(".lead")
    with page.expect_download() as taken:
        page.click("text=HTML, printable")
    report = tmp_path / "report.html"
    taken.value.save_as(report)
    release = tt.Release.from_json(read_report(report.read_text()))
    assert tt.replay(release.plan, release.answers) == release
    page.goto(report.as_uri())
    assert page.locator("svg:visible").count() >= 1
    assert page.pdf(path=tmp_path / "report.pdf")[:4] == b"%PDF"
    everything = report.read_text() + page.content()
    assert [value for value in PLANTED if value in everything] == []


def test_quantiles_and_a_difference_of_groups(page, address):
    page.goto(f"{address}/")
    page.check("#statistic-quantile", force=True)
    page.fill("#levels", "0.5, 0.9")
    page.wait_for_selector("text=in the share of records below it")
    assert not page.is_visible("#assumption-moment")
    page.click("text=Choose data for this plan")
    page.click("text=charges.parquet")
    assert page.input_value("#levels") == "0.5, 0.9"
    assert page.is_visible("text=Choose one column.")
    page.fill("#levels", "0.9")
    page.check("input[value=charge]")
    page.select_option("#by", "state")
    page.fill("#keys", "CA\nNY")
    page.click("text=Review")
    assert "Quantiles at levels 0.9" in page.text_content("main")
    page.click("text=Release (spend")
    page.wait_for_selector("#take")
    assert page.text_content("h1") == "90% quantile of charge by state"
    page.click("text=Compare >> nth=-1")
    page.wait_for_selector("text=in CA than in NY")


def test_controls_move_the_plan(page, address):
    page.goto(f"{address}/")
    before = page.text_content("#outcome .big")
    page.locator(".slider[data-for=n]").focus()
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    changed = "old => document.querySelector('#outcome .big').textContent != old"
    page.wait_for_function(changed, arg=before)
    assert float(page.input_value("#n")) > 10_000
    page.check("#assumption-moment", force=True)
    assert page.is_visible("#scale")
    page.fill("#scale", "100")
    page.wait_for_selector("text=in the units of your data >> nth=0")


def test_the_whole_way_by_keyboard(page, address):
    page.goto(f"{address}/release?path=charges.parquet")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.value") == "charge":
            break
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Confirm release")
    page.locator("button").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#take")


def test_it_works_without_script(chromium, address):
    context = patient(chromium, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/?n=7000&epsilon=1")
    assert "7,000" in page.text_content("#outcome")
    make_release(page, address)
    assert "The mean of charge is" in page.text_content(".lead")
    context.close()


@pytest.mark.parametrize("width", [360, 390, 1200])
def test_nothing_overruns(chromium, address, width):
    context = patient(chromium, viewport={"width": width, "height": 800})
    page = context.new_page()
    make_release(page, address, epsilon="0.001")
    result = page.url
    for path in ("", "open", "release?path=charges.csv", "releases", "ledger", None):
        page.goto(result if path is None else f"{address}/{path}")
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, path
        spilt = page.evaluate(SPILT)
        assert spilt == [], path
    context.close()


#: Words of pictures that are drawn beyond their edges.
SPILT = """() => [...document.querySelectorAll("svg text")].filter(word => {
  const box = word.getBoundingClientRect(), all = word.ownerSVGElement.getBoundingClientRect();
  return box.width && (box.right > all.right + 1 || box.left < all.left - 1);
}).map(word => word.textContent)"""


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: make axe")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_finding_of_axe(chromium, address, scheme):
    context = patient(chromium, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    make_release(page, address, epsilon="0.01")
    result, found = page.url, {}
    paths = (
        "", "?n=50&epsilon=0.1", "?n=x", "open", "release?path=charges.parquet",
        "release?path=bare.csv", "releases", "ledger", "nothing",
    )  # fmt: skip
    for url in [f"{address}/{path}" for path in paths] + [result]:
        page.goto(url)
        page.add_script_tag(content=AXE.read_text(encoding="utf-8"))
        violations = page.evaluate("async () => (await axe.run()).violations")
        serious = [one for one in violations if one["impact"] in ("serious", "critical")]
        if serious:
            found[url] = [(one["id"], one["nodes"][0]["html"][:200]) for one in serious]
    context.close()
    assert found == {}, json.dumps(found, indent=1)


def test_another_site_cannot_call_or_frame_it(chromium, address, tmp_path):
    """A page of another origin tries to read, to post and to frame; all of it fails."""
    seen = []
    site = socket.socket()
    site.bind(("127.0.0.1", 0))
    site.listen()
    port = site.getsockname()[1]
    form = f'<form method=post action="{address}/begin"><input name=name value=x></form>'
    body = f'<!doctype html>{form}<iframe src="{address}/"></iframe>'.encode()

    def serve():
        for _ in range(4):
            try:
                one, _ = site.accept()
            except OSError:
                return
            one.recv(4096)
            one.sendall(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n"
                + f"content-length: {len(body)}\r\n\r\n".encode()
                + body
            )
            one.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    page = chromium.new_page()
    page.on("response", lambda answer: seen.append((answer.url, answer.status)))
    page.goto(f"http://127.0.0.1:{port}/")
    read = f"fetch('{address}/').then(answer => answer.text()).catch(() => 'refused')"
    assert page.evaluate(read) == "refused"
    page.evaluate("document.forms[0].submit()")
    page.wait_for_selector("text=Request from another site")
    assert {status for url, status in seen if url.startswith(address)} == {403}
    page.close()
    site.close()
