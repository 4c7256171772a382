"""Locators: one place, one text; no credentials; no trace of the data."""

import os
from pathlib import Path

import pytest

from tametail.ledger.identity import folders_above, inside, locator_of


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


def test_a_pattern_stands_for_its_folder(tmp_path):
    assert locator_of(tmp_path / "2025-*.parquet") == os.path.realpath(tmp_path)


def test_bytes_that_are_no_text(tmp_path):
    name = os.fsdecode(b"caf\xe9.csv")
    assert locator_of(Path(tmp_path) / name).endswith("caf\\xe9.csv")


def test_what_contains_and_what_is_inside():
    assert folders_above("s3://bucket/a/b") == ["s3://bucket/a/b", "s3://bucket/a", "s3://bucket"]
    assert folders_above("postgresql://h/db#t") == [
        "postgresql://h/db#t", "postgresql://h/db", "postgresql://h",
    ]  # fmt: skip
    ((low, high), _) = inside("/data")
    assert low < "/data/claims.csv" < high
    assert not low <= "/data2/claims.csv" < high
    ((low, high), _) = inside("/")
    assert low <= "/data" < high
