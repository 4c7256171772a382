"""Only what lies below the folder is named, listed or read."""

import os

import pytest
from tests.page.conftest import BASE, send

from tametail.errors import DataError
from tametail.page.folder import Folder

OUTSIDE = {
    "up": "../secret.csv",
    "up and down": "part/../../secret.csv",
    "up, written backwards": "..\\secret.csv",
    "only up": "..",
    "absolute": "/etc/passwd",
    "home": "~/secret.csv",
    "a drive": "C:\\secret.csv",
    "a share": "\\\\server\\secret.csv",
    "NUL": "charges.csv\0.parquet",
    "a link": "link.csv",
    "a linked folder": "linked/secret.csv",
    "hidden": ".secret.csv",
    "encoded": "%2e%2e/secret.csv",
    "not there": "nothing.csv",
    "a pattern": "*.csv",
    "very long": "a" * 5000,
}


@pytest.fixture
def folder(data):
    (data / "link.csv").symlink_to(data.parent / "secret.csv")
    (data / "linked").symlink_to(data.parent)
    (data / ".secret.csv").write_text("salary\n83461957\n")
    return Folder.at(data)


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_path_outside_is_refused(folder, name):
    with pytest.raises((DataError, OSError)):
        folder.find_data(OUTSIDE[name])


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("path", ["/release", "/confirm", "/open"])
def test_no_address_reaches_outside(folder, client, name, path):
    text = OUTSIDE[name]
    if path == "/confirm":
        answer = send(client, path, path=text, column="salary", epsilon="1")
    else:
        answer = client.get(f"{BASE}{path}", params={"path": text, "folder": text})
    assert answer.status_code in (404, 422)
    assert "salary" not in answer.text
    assert "Plantagenet" not in answer.text
    assert "83461957" not in answer.text


@pytest.mark.parametrize("name", ["more.parquet", "more.pq", "more"])
def test_a_folder_with_a_link_to_outside_is_refused(folder, data, name):
    (data / "part" / name).symlink_to(data.parent / "secret.csv")
    with pytest.raises(DataError, match="outside the folder"):
        folder.find_data("part")


def test_links_inside_are_followed(folder, data):
    (data / "same.csv").symlink_to(data / "charges.csv")
    assert folder.find_data("same.csv") == data / "charges.csv"


def test_a_listing_has_names_of_data_and_nothing_else(folder):
    listing = folder.listing()
    assert listing.files == ("bare.csv", "charges.csv", "charges.parquet", "european.csv")
    assert listing.folders == ("part",)
    assert folder.listing("part").files == ("part/one.parquet",)


@pytest.mark.parametrize(
    "name", ["../new.ledger", "/tmp/new.ledger", "linked/new.ledger", "new.txt"]
)
def test_a_ledger_is_made_inside_only(folder, client, name):
    before = set(os.listdir(folder.root.parent))
    answer = send(client, "/ledger/do", do="create", place=name, dataset="a", epsilon="1")
    assert answer.status_code == 422
    assert set(os.listdir(folder.root.parent)) == before
    assert not os.path.exists("/tmp/new.ledger")


def test_no_folder():
    with pytest.raises(DataError, match="No folder"):
        Folder.at("/nowhere/at/all")
