"""One record of a CSV file changes only how it is read itself, wherever blocks begin and end."""

from __future__ import annotations

import codecs
import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tametail.data.open import open_source
from tametail.data.sources import blocks
from tametail.data.sources import csv as csv_tables
from tametail.errors import ColumnError, DataError, ParameterError
from tametail.parse import ENCODINGS, Parse
from tametail.privacy.adjacency import Adjacency
from tametail.queries.column import ClippedSum, ClippingGrid, Count
from tametail.queries.groups import KeyCounts

from ..opened import open_groups, open_table  # noqa: TID252
from .csv_reference import cells_of, numbers_of

MARK = codecs.BOM_UTF8.decode()
SUM = ClippedSum(ClippingGrid(exponent=0, low=-8, center=0, high=8), count_weight=3)

#: Parts of cells: marks, quotes in and out of place, line ends, numbers, and what is no text.
PARTS = [
    *("1", "-2.5", "7", "1e3", "€", "a", " ", "", MARK, "\ufffe", "\0", "\x85", "\u2028", "é"),
    *('"', '""', 'x"', '" ', "\n", "\r", "\r\n", ";", "|", ",,", '","', "'", "\udc81", "\udcff"),
]


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


def plain(text):
    """Return a cell without quotes around it: it is one as long as it holds no sign of its own."""
    text = "".join(sign for sign in text if sign not in ",\n\r")
    return f"x{text}" if text.startswith('"') else text


CELLS = st.lists(st.sampled_from(PARTS), max_size=4).map("".join)
WRITTEN = st.one_of(
    CELLS.map(plain),
    CELLS.map(quoted),
    st.tuples(CELLS.map(quoted), CELLS.map(lambda text: plain(text).replace('"', ""))).map("".join),
    st.integers(0, 70).map("9".zfill),
    st.integers(0, 70).map(lambda length: "y" * length),
)
ROWS = st.lists(WRITTEN, min_size=1, max_size=4).map(",".join)
PARSES = st.sampled_from([Parse(), Parse(currency="€"), Parse(header=False)])
ENDS = st.sampled_from(["\n", "\r\n"])


def called(parse):
    return " ".join([*parse.currency, "without names" if parse.header is False else "with names"])


def written(rows, parse, end="\n", names="v,k"):
    head = [] if parse.header is False else [names]
    return "".join(f"{row}{end}" for row in [*head, *rows]).encode("utf-8", "surrogateescape")


def names_of(parse):
    return ("0", "1") if parse.header is False else ("v", "k")


def answers(path, parse):
    """Return exact answers about a file, each with its query."""
    found = []
    for value, key in itertools.permutations(names_of(parse)):
        where = f"`{key}` == '{MARK}1' or `{key}` == 'a'"
        plain = open_table(path, value, parse=parse)
        filtered = open_table(path, value, where=where, parse=parse)
        groups = open_groups(path, value, [key], parse=parse)
        asked = itertools.product((plain, filtered), (Count(), SUM))
        found += [(query, engine.answer(query)) for engine, query in asked]
        found.append((KeyCounts(), groups.answer(KeyCounts())))
    return found


def distance(one, other):
    if isinstance(one, dict):
        return sum(abs(one.get(key, 0) - other.get(key, 0)) for key in {*one, *other})
    return sum(abs(a - b) for a, b in zip(one, other, strict=True))


def check_neighbors(folder, before, after, adjacency, parse):
    """Write two files, and compare what is answered about them."""
    found = []
    for name, data in (("before", before), ("after", after)):
        path = folder / f"{name}.csv"
        path.write_bytes(data)
        found.append(answers(path, parse))
    for (query, one), (_, other) in zip(*found, strict=True):
        assert distance(one, other) <= query.sensitivity(adjacency).l1, query


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("csv")


# --- what a file says does not depend on blocks


def check_reading(folder, data, block, parse):
    """Compare what is read in pieces of some size with the slow reference."""
    path, (value, key) = folder / "x.csv", names_of(parse)
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "_CSV_BLOCK", block)
        table = open_table(path, value, parse=parse)
        chunks = [chunk[:, 0].tolist() for chunk in table.chunks(7)]
        ids = open_source(path, parse).blocks([(key, "id")], lambda _: None)
        raw = [one[key, "id"].to_pylist() for one in ids]
    found = [None if math.isnan(x) else x for chunk in chunks for x in chunk]
    assert found == numbers_of(data, 0, parse)
    assert [*itertools.chain(*raw)] == [cell or None for cell in cells_of(data, 1, parse)]


@settings(max_examples=150)
@given(
    rows=st.lists(ROWS, max_size=12), block=st.integers(1, 90), parse=PARSES, end=ENDS,
    mark=st.booleans(), is_cut=st.booleans(),
)  # fmt: skip
def test_a_file_is_read_as_the_specification_says(folder, rows, block, parse, end, mark, is_cut):
    data = written(rows, parse, end)
    data = data[: -len(end)] if is_cut else data
    check_reading(folder, codecs.BOM_UTF8 * mark + data, block, parse)


@pytest.mark.parametrize("parse", [Parse(), Parse(header=False)], ids=called)
def test_where_pieces_end_does_not_show(tmp_path, parse):
    """A piece may end between two quotes, before and behind one, and within a line end."""
    rows = ['1,"a""\nb"', '5" 6",7"', f'"2"x",{MARK}"', '"",""', f'{MARK}"3","4"" "\r']
    for end, block in itertools.product(("\n", "\r\n"), range(1, 60)):
        check_reading(tmp_path, written(rows, parse, end), block, parse)


@settings(max_examples=40)
@given(
    rows=st.lists(ROWS, min_size=1, max_size=10), other=ROWS, block=st.integers(3, 60),
    parse=PARSES, replaced=st.booleans(), data=st.data(),
)  # fmt: skip
def test_no_neighbor_of_a_file_moves_an_answer_further(
    folder, rows, other, block, parse, replaced, data
):
    place = data.draw(st.integers(0, len(rows) - 1))
    fewer = [*rows[:place], *([other] if replaced else []), *rows[place + 1 :]]
    if parse.header is False and any(r[0].startswith(MARK) for r in (rows, fewer) if r):
        return  # such a row cannot be written first in a file: the mark would be the file's
    adjacency = Adjacency.REPLACE_ONE if replaced else Adjacency.ADD_REMOVE
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "_CSV_BLOCK", block)
        check_neighbors(folder, written(rows, parse), written(fewer, parse), adjacency, parse)


# --- the same at the size that blocks have


def long_row(text, length):
    """Return a row of this many bytes that ends with these."""
    return "y" * (length - len(text)) + text


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("parse", [Parse(), Parse(currency="€"), Parse(header=False)], ids=called)
def test_marks_at_the_start_of_real_blocks(tmp_path, parse, place):
    """Where a block began a mark was left out: one record more changed how others are read."""
    marked, other = f"{MARK}1,1,", "yyy1,1,"
    filler = "y" * (blocks._CSV_BLOCK // 2 - len(marked.encode()) - 1)
    rows = [other + filler] * 6  # two in a block
    rows[place::2] = [marked + filler] * 3
    rows = ["1,1,", *rows]  # a mark at the beginning of a file is not a record's
    before, after = (
        written(some, parse, names="v,k,f") for some in (rows, [rows[0], other + filler, *rows[1:]])
    )
    check_neighbors(tmp_path, before, after, Adjacency.ADD_REMOVE, parse)


@pytest.mark.parametrize("longest", [blocks._CSV_BLOCK, 2 * blocks._CSV_BLOCK + 5])
@pytest.mark.parametrize("is_last", [False, True])
def test_how_long_a_row_is_does_not_depend_on_others(tmp_path, monkeypatch, longest, is_last):
    """A row that is too long was read or missing as pieces happened to cut it."""
    monkeypatch.setattr(blocks, "_LONGEST_ROW", longest)
    path, rest = tmp_path / "x.csv", "" if is_last else "\nz,7\n"
    for length in (longest, longest + 1, longest + blocks._CSV_BLOCK // 2):
        for shift in (3, 1000, blocks._CSV_BLOCK // 2, blocks._CSV_BLOCK - 3):
            path.write_text(f"k,v\n{long_row(',3', shift)}\n{long_row(',5', length)}{rest}")
            values = [3, *[5] * (length <= longest), *[7] * (not is_last)]
            assert open_table(path, "v").answer(SUM) == (sum(values), 3 * len(values))


def test_a_quote_inside_of_a_cell_is_a_character(tmp_path, monkeypatch):
    """Whoever looks for ends of rows took it for the begin of a cell: all later rows were lost."""
    monkeypatch.setattr(blocks, "_LONGEST_ROW", blocks._CSV_BLOCK)
    rows, parse = ['1,5" pipe', *["2," + "y" * 100] * 100_000, '3,a"b"c"'], Parse()
    before, after = (written(some, parse) for some in (rows, rows[1:]))
    check_neighbors(tmp_path, before, after, Adjacency.ADD_REMOVE, parse)
    assert open_table(tmp_path / "before.csv", "v").answer(Count()) == (100_002, 0, 0)


def test_the_row_of_names_says_how_rows_end(tmp_path, monkeypatch):
    """One line feed changed what all rows of a file without line feeds are."""
    monkeypatch.setattr(blocks, "_LONGEST_ROW", 1 << 23)
    rows = ["1,a", '"2","b\rc"', "3,d"] * 700_000
    path = tmp_path / "x.csv"
    for more, counts in ((b"", (2_100_000, 0, 0)), (b"x\ny,z\r", (2_100_000, 1, 0))):
        path.write_bytes("\r".join(["v,k", *rows, ""]).encode() + more)
        assert open_table(path, "v").answer(Count()) == counts
    # Without names nothing says so but records.
    path.write_bytes(b"1,2\r3,4\r")
    assert open_table(path, "0", parse=Parse(header=False)).answer(Count()) == (1, 0, 0)


def test_a_row_that_is_no_text_and_no_row_stops_nobody(tmp_path):
    """Arrow decodes a row with too few cells to show it, and failed: an error, for one record."""
    rows, parse = ["1,a", "\udc81", "2,\udc81,x", "3,\udcff"], Parse()
    for some in (rows, rows[1:3]):
        (tmp_path / "x.csv").write_bytes(written(some, parse))
        counts = open_groups(tmp_path / "x.csv", "v", ["k"]).answer(KeyCounts())
        assert sum(counts.values()) == len(some) - 2
    assert open_table(tmp_path / "x.csv", "v", where="k == 'a'").answer(Count()) == (0, 0, 2)


# --- files without names


def test_no_row_says_how_many_columns_there_are(tmp_path):
    """Most of the first rows did, so that one more row could make all others missing."""
    parse, path = Parse(header=False), tmp_path / "x.csv"
    for rows in (["1,2"] * 50 + ["1,2,3"] * 50, ["1,2"] * 50 + ["1,2,3"] * 51, ["1,2,3"], []):
        path.write_text("".join(f"{row}\n" for row in rows))
        assert open_table(path, "1", parse=parse).answer(Count()) == (len(rows), 0, 0)
        long = sum(row == "1,2,3" for row in rows)
        assert open_table(path, ["2", "0"], parse=parse).column(0).answer(Count())[0] == long
    for column in (None, "x", "01", "1" * 9):
        with pytest.raises(ColumnError, match=r"called '0', '1', '2', \.\.\.\. Use column='0'"):
            open_table(path, column, parse=parse)


# --- encodings

SHIFTED = [
    *("hz", "utf-7", "iso2022_jp", "iso2022_jp_2", "iso2022_kr", "unicode_escape"),
    *("raw_unicode_escape", "euc_jp", "euc_kr", "gb18030", "punycode", "idna", "undefined"),
]


@pytest.mark.parametrize("encoding", SHIFTED)
def test_an_encoding_in_which_a_line_cannot_be_read_alone_is_refused(encoding):
    with pytest.raises(ParameterError, match="one record could change how the next ones") as caught:
        Parse(encoding=encoding)
    assert "Convert the file to UTF-8" in str(caught.value)


@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
def test_what_stands_in_a_line_does_not_reach_the_next_one(encoding):
    """Any bytes, then a line end: what follows is what it is alone."""
    assert codecs.lookup(encoding).name == encoding
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    nothing = "".encode(encoding)  # or the mark at the beginning
    decoder.decode(nothing)
    line_end, next_line = (text.encode(encoding).removeprefix(nothing) for text in ("\n", "5\n"))
    units = [bytes([byte]) for byte in range(256)]
    if len(line_end) > 1:  # pairs, halves of them, marks, and what is no character
        pairs = [b"\xd8\x01", b"\xdc\x01", b"\xfe\xff", b"\x00a", b"\x20\xac", b"\x00\x00"]
        units = [pair[::step] for pair in pairs for step in (1, -1)]
        units = [b"".join(two) for two in itertools.product(units, repeat=len(line_end) // 2)]
    units.remove(line_end) if line_end in units else None
    lines = [*units, *(a + b for a in units for b in units)]
    found = decoder.decode(b"".join(line + line_end + next_line for line in lines)).split("\n")
    assert len(found) == 2 * len(lines) + 1
    assert set(found[1::2]) == {"5"}
    "".join(found).encode()  # no half of a pair, which no file in UTF-8 could hold
    if len(lines) > len({*found[::2]}):  # more than a byte for each character, or some for none
        ends, pairs = ((line_end, "\n"), (b"", "")), zip(lines, found[:-1:2], strict=True)
        for (line, text), (end, sign) in itertools.product(pairs, ends):
            decoder.reset()
            decoder.decode(nothing)
            assert decoder.decode(line + end, final=True) == f"{text}{sign}"


def test_marks_of_encodings(tmp_path):
    path = tmp_path / "x.csv"
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        data = "v,k\n1,a\n".encode(encoding)
        mark = "" if encoding in ("utf-8-sig", "utf-16", "utf-32") else MARK
        path.write_bytes(mark.encode(encoding) + data if mark else data)
        assert open_table(path, "v", parse=Parse(encoding=encoding)).answer(Count()) == (1, 0, 0)
    assert Parse(encoding="utf-8-sig") == Parse()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_the_first_record_is_no_mark(tmp_path, encoding):
    """Its first character said in which order the bytes of all are, or a codec failed."""
    with pytest.raises(ParameterError, match=f"encoding='{encoding}-le'"):
        Parse(encoding=encoding, header=False)
    path, parse = tmp_path / "x.csv", Parse(encoding=f"{encoding}-le", header=False)
    for mark in ("", MARK):
        for rows in (["1", "2"], ["\ufffe", "1", "2"]):
            path.write_bytes((mark + "\n".join(rows)).encode(f"{encoding}-le"))
            found = open_table(path, "0", parse=parse).answer(Count())
            assert found == (2, len(rows) - 2, 0)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_missing_mark_is_an_error_of_ours(tmp_path, encoding):
    path = tmp_path / "x.csv"
    for text in ("v,k\n1,a\n", "v,k\n"):
        path.write_bytes(text.encode(f"{encoding}-be"))
        with pytest.raises(DataError, match=f"Use encoding='{encoding}-le'") as caught:
            open_table(path, "v", parse=Parse(encoding=encoding))
        assert caught.value.__context__ is None


def test_kept_columns_do_not_depend_on_room(tmp_path, monkeypatch):
    """Room for parsed cells is a matter of speed."""
    (tmp_path / "x.csv").write_text("v,k\n" + "1,a\n" * 100)
    monkeypatch.setattr(csv_tables, "_KEPT_CELLS", 10)
    assert open_table(tmp_path / "x.csv", "v").answer(Count()) == (100, 0, 0)
