"""A folder with synthetic data and planted values, and a page over it without a server."""

import re
import shutil

import numpy as np
import pandas as pd
import pytest
from starlette.testclient import TestClient

import tametail as tt
from tametail.page.app import make_app
from tametail.page.folder import Folder

TOKEN, PORT = "a-token-of-the-tests", 8123
ADDRESS = f"http://127.0.0.1:{PORT}"
BASE = f"/{TOKEN}"
OWN = {"origin": ADDRESS}

#: Values that lie in the files and must never be seen: in cells, keys, ids and a first row.
PLANTED = ("83461957", "834619.57", "Plantagenet", "quetzal-77", "61,803")


def make_data(folder):
    """Write files that hold the planted values."""
    rng = np.random.default_rng(8)
    n = 6000
    charge = rng.lognormal(5, 1, n).round(2)
    charge[17] = 83461957.0
    frame = pd.DataFrame(
        {
            "charge": charge,
            "state": np.where(np.arange(n) == 17, "Plantagenet", np.resize(["CA", "NY"], n)),
            "patient": np.where(np.arange(n) == 17, "quetzal-77", np.arange(n) // 3),
        }
    )
    frame["patient"] = frame["patient"].astype(str)
    frame.to_parquet(folder / "charges.parquet")
    frame.to_csv(folder / "charges.csv", index=False)
    (folder / "part").mkdir()
    frame.to_parquet(folder / "part" / "one.parquet")
    rows = "\n".join(f"{name},{paid}" for name, paid in zip(frame.patient, charge, strict=True))
    (folder / "bare.csv").write_text(f"Plantagenet,834619.57\n{rows}\n")
    (folder / "european.csv").write_text('amount\n"61,803"\n' + '"1,5"\n' * 4000)
    return folder


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """Return a folder with the files, which every test copies."""
    return make_data(tmp_path_factory.mktemp("page"))


@pytest.fixture
def data(tmp_path, written):
    """Return a folder with data and a ledger, beside a file that must not be reached."""
    (tmp_path / "secret.csv").write_text("Plantagenet,salary\n1,83461957\n")
    inside = shutil.copytree(written, tmp_path / "inside")
    ledger = tt.Ledger(inside / "office.ledger")
    ledger.create("charges", tt.pure(3))
    return inside


@pytest.fixture
def client(data):
    """Return a client of the page, as its own browser would call it."""
    app = make_app(Folder.at(data), TOKEN, PORT)
    return TestClient(app, base_url=ADDRESS, follow_redirects=True)


def send(client, where, /, **fields):
    """Send a form as the page's own browser does."""
    return client.post(f"{BASE}{where}", data=fields, headers=OWN)


def confirm(client, /, **fields):
    """Ask for a release; return the page that confirms, and the name of the confirmation."""
    page = send(client, "/confirm", **fields)
    found = re.search(r'name="name" value="([^"]+)"', page.text)
    return page, None if found is None else found[1]


def release(client, /, **fields):
    """Make a release to its end; return the page of the result."""
    page, name = confirm(client, **fields)
    assert name is not None, page.text
    page = send(client, "/begin", name=name)
    for _ in range(600):
        if client.get(f"{BASE}/releases/{name}/progress").json()["done"]:
            break
        pause()
    return name, client.get(f"{BASE}/releases/{name}")


def pause():
    import time

    time.sleep(0.02)
