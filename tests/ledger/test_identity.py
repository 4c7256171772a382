"""Locators: one place, one text; no credentials; no trace of the data."""

import os
from pathlib import Path

import pytest

from tametail.errors import ParameterError
from tametail.ledger.identity import (
    check_places,
    folders_above,
    inside,
    locator_of,
    locators_of,
)


def test_one_file_has_one_locator(tmp_path, monkeypatch):
    file = tmp_path / "claims.csv"
    file.write_text("x\n1\n")
    (tmp_path / "link.csv").symlink_to(file)
    monkeypatch.chdir(tmp_path)
    ways = ["claims.csv", "./claims.csv", file, str(file), "../" + tmp_path.name + "/claims.csv",
            "link.csv", file.as_uri(), os.fsencode(file)]  # fmt: skip
    assert {locator_of(way) for way in ways} == {os.path.realpath(file)}


def test_a_locator_does_not_depend_on_the_data(tmp_path):
    file = tmp_path / "claims.csv"
    before = locator_of(file)
    file.write_text("x\n1\n")
    assert locator_of(file) == before
    os.utime(file, (1, 1))
    assert locator_of(file) == before


@pytest.mark.parametrize("data", [[1.0], None, object(), "-", "", 5])
def test_what_has_no_place(data):
    assert locator_of(data) is None


@pytest.mark.parametrize(
    ("address", "locator"),
    [
        ("s3://bucket/claims/", "s3://bucket/claims"),
        ("S3://bucket/claims/*.parquet", "s3://bucket/claims"),
        ("postgresql://me:secret@Host/db#public.claims", "postgresql://host/db#public.claims"),
        ("https://host/a.csv?token=secret", "https://host/a.csv"),
    ],
)
def test_addresses_lose_what_is_secret(address, locator):
    assert locator_of(address) == locator


def test_a_home_is_the_same_place_by_its_sign(tmp_path, monkeypatch):
    """What opens a file takes ~ for the home, so the place is there, too."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for way in ("~/claims.csv", Path("~/claims.csv"), "~/claims-*.csv/../claims.csv"):
        assert locator_of(way).startswith(os.path.realpath(tmp_path))
    assert locator_of("~/claims.csv") == os.path.realpath(tmp_path / "claims.csv")


def test_lists_have_the_places_of_their_files(tmp_path):
    files = [tmp_path / "a.csv", str(tmp_path / "b.csv"), tmp_path / "a.csv"]
    expected = (os.path.realpath(tmp_path / "a.csv"), os.path.realpath(tmp_path / "b.csv"))
    assert locators_of(files) == locators_of(tuple(files)) == expected
    assert locators_of([tmp_path, *files]) == (os.path.realpath(tmp_path),)
    assert locators_of(tmp_path / "a.csv") == expected[:1]
    assert locators_of("-") == locators_of(None) == ()


def test_a_link_in_a_folder_leads_out_of_it(tmp_path):
    folder, file = tmp_path / "folder", tmp_path / "claims.parquet"
    folder.mkdir()
    (folder / "link.parquet").symlink_to(file)
    found = locators_of(folder, files=[folder / "link.parquet", folder / "other.parquet"])
    assert found == (os.path.realpath(folder), os.path.realpath(file))


def test_many_files_are_their_folders():
    many = [f"/data/{folder}/{number}.csv" for folder in range(3) for number in range(50)]
    assert check_places(many) == ("/data/0", "/data/1", "/data/2")
    assert check_places(many[:64]) == tuple(many[:64])
    buckets = [f"s3://bucket{number}" for number in range(100)]
    assert check_places(buckets) == tuple(buckets)


@pytest.mark.parametrize("address", ["s3://[bad/x.csv", "postgresql://h:port:x/db"])
def test_an_address_that_is_none_quotes_nothing(address):
    with pytest.raises(ParameterError, match="Invalid address") as caught:
        locator_of(address, "claims" if address.startswith("p") else None)
    assert "bad" not in str(caught.value)


def test_a_pattern_stands_for_its_folder(tmp_path):
    assert locator_of(tmp_path / "2025-*.parquet") == os.path.realpath(tmp_path)


def test_bytes_that_are_no_text(tmp_path):
    name = os.fsdecode(b"caf\xe9.csv")
    assert locator_of(Path(tmp_path) / name).endswith("caf\\xe9.csv")
    assert locator_of("/data/\ud800.csv") == "/data/\\ud800.csv"
    assert locator_of("s3://bucket/\ud800.csv") == "s3://bucket/\\ud800.csv"


def test_what_contains_and_what_is_inside():
    assert folders_above("s3://bucket/a/b") == ["s3://bucket/a/b", "s3://bucket/a", "s3://bucket"]
    assert folders_above("postgresql://h/db#t") == [
        "postgresql://h/db#t", "postgresql://h/db", "postgresql://h",
    ]  # fmt: skip
    assert folders_above("/a.db#t/p/q") == [
        "/a.db#t/p/q", "/a.db#t/p", "/a.db#t", "/a.db", "/",
    ]  # fmt: skip
    ((low, high), _) = inside("/data")
    assert low < "/data/claims.csv" < high
    assert not low <= "/data2/claims.csv" < high
    ((low, high), _) = inside("/")
    assert low <= "/data" < high
