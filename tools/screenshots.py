"""Take pictures of every view of the page, light, dark and at phone width, into docs.

    python tools/screenshots.py [docs/pictures/page]

It needs Chromium and Playwright's Python package; the data are synthetic and made here.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import uvicorn
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from pyarrow import parquet

import tametail as tt
from tametail.page.app import make_app
from tametail.page.folder import Folder
from tametail.page.serve import listening

ROOT = Path(__file__).parents[1]
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
)  # fmt: skip
LOOKS = {"light": (1180, "light"), "dark": (1180, "dark"), "phone": (390, "light")}
STATES = ("California", "New York", "Texas", "Ohio", "Wyoming")


def make_folder(folder: Path) -> None:
    """Write synthetic charges and claims, and a ledger that has paid once."""
    rng = np.random.default_rng(3)
    rows = 60_000
    charges = pa.table(
        {
            "patient": rng.integers(0, 21_000, rows),
            "state": rng.choice(STATES, rows, p=[0.4, 0.3, 0.2, 0.08, 0.02]),
            "charge": rng.lognormal(8, 1.2, rows).round(2),
            "nights": rng.integers(1, 9, rows),
            "age": rng.integers(18, 95, rows),
        }
    )
    parquet.write_table(charges, folder / "charges.parquet")
    shutil.copy(ROOT / "examples" / "claims.csv", folder / "claims.csv")
    few = (ROOT / "examples" / "claims.csv").read_text(encoding="utf-8").splitlines()[:201]
    (folder / "small.csv").write_text("\n".join(few) + "\n", encoding="utf-8")
    (folder / "archive").mkdir()
    ledger = tt.Ledger(folder / "office.ledger")
    ledger.create("charges-2026", tt.pure(3))
    ledger.create("claims-2026", tt.approx(2, 1e-6))
    paid = {"ledger": ledger, "dataset": "claims-2026", "release_id": "report-q2"}
    tt.mean(folder / "claims.csv", "amount", epsilon=0.5, **paid)


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve the page over a folder, and yield its address."""
    with listening(0) as sock:
        port = sock.getsockname()[1]
        app = make_app(Folder.at(folder), "token", port)
        quiet = {"log_config": None, "log_level": "critical", "lifespan": "off", "ws": "none"}
        server = uvicorn.Server(uvicorn.Config(app, **quiet))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
        thread.start()
        yield f"http://127.0.0.1:{port}/token"
        server.should_exit = True
        thread.join()


def tour(page: Page, address: str, shot: Callable[[str], None]) -> None:
    """Go through all views."""
    page.goto(f"{address}/")
    page.fill("#n", "20000")
    page.wait_for_selector("text=20,000")
    page.evaluate("document.activeElement.blur()")
    shot("plan")
    page.goto(f"{address}/open")
    shot("open")
    page.goto(f"{address}/release?path=charges.parquet&epsilon=0.2")
    page.check("input[value=charge]")
    page.select_option("#by", "state")
    page.fill("#keys", "\n".join(STATES))
    page.select_option("#ledger", "office.ledger")
    page.fill("#dataset", "charges-2026")
    page.evaluate("document.activeElement.blur()")
    shot("release")
    page.click("text=Review")
    page.wait_for_selector("text=Confirm release")
    shot("confirm")
    page.click("text=Release (spend")
    page.wait_for_selector("#take")
    shot("groups")
    page.goto(f"{address}/release?path=claims.csv&column=amount&epsilon=1")
    page.click("text=Review")
    page.click("text=Release (spend")
    page.wait_for_selector("#take")
    shot("result")
    page.click("summary:has-text('Details')")
    shot("details")
    page.goto(f"{address}/release?path=small.csv&column=amount&epsilon=0.1")
    page.click("text=Review")
    page.click("text=Release (spend")
    page.wait_for_selector("#take")
    shot("none")
    page.goto(f"{address}/releases")
    shot("releases")
    page.goto(f"{address}/ledger")
    shot("ledger")


def visit(browser: Browser, address: str, target: Path, look: str) -> None:
    """Take all pictures in one look."""
    width, scheme = LOOKS[look]
    page = browser.new_page(viewport={"width": width, "height": 760}, color_scheme=scheme)

    def shot(name: str) -> None:
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(200)  # on a busy machine the height is not known at once
        taken = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")
        small = taken.quantize(96, dither=Image.Dither.NONE)
        small.save(target / f"{name}-{look}.png", optimize=True)

    tour(page, address, shot)
    page.close()


def main() -> None:
    """Take all pictures."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs" / "pictures" / "page")
    target.mkdir(parents=True, exist_ok=True)
    os.environ["LOGNAME"] = "analyst"  # who charged, in the pictures of the ledger
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("there is no Chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made, "clinic")
        folder.mkdir()
        make_folder(folder)
        with serving(folder) as address, sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium, args=list(FLAGS))
            for look in LOOKS:
                visit(browser, address, target, look)
            browser.close()


if __name__ == "__main__":
    main()
