"""The program that compares places notices an integer that differs, and finds none."""

from __future__ import annotations

import pytest

from . import places, same_integers


def test_places_without_a_server_have_the_integers_of_memory(capsys):
    pytest.importorskip("chdb")
    assert same_integers.main(["memory", "DuckDB", "ClickHouse"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len({line.rpartition(" ")[2] for line in lines}) == 1 < len(lines)


def test_one_cell_that_differs_is_noticed(capsys, monkeypatch):
    def altered(data, folder):
        first, *rest = data.rows
        return places.arrow(data.with_rows([(first[0] or 0.0, 8, *first[2:]), *rest]), folder)

    monkeypatch.setitem(same_integers.PLACES, "altered", altered)
    assert same_integers.main(["altered"]) == 1
    assert "DIFFERS" in capsys.readouterr().out
