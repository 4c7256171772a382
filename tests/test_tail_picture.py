"""The picture that explains a mean: private survival curve, clip points, value and intervals."""

import re

import numpy as np
import pytest

import tametail as tt
from tametail.drawing.frame import words_width
from tametail.pictures.intervals import interval_picture
from tametail.pictures.tail import Curve, tail_picture

RNG = np.random.default_rng(8)
DATA = {
    "amounts": RNG.lognormal(6, 1.5, 8_000),
    "around 0": RNG.standard_t(3, 8_000),
    "a million": RNG.normal(1e6, 1.0, 60_000),
    "zeros": np.where(RNG.random(8_000) < 0.9, 0.0, RNG.lognormal(5, 1, 8_000)),
    "tiny": RNG.lognormal(0, 1, 8_000) * 1e-9,
}
TEXT = re.compile(r"<text ([^>]*)>([^<]*)</text>")


@pytest.fixture(scope="module")
def releases():
    return {name: tt.mean(records, epsilon=1) for name, records in DATA.items()}


def attribute(attributes, name, usual=""):
    found = re.search(rf'{name}="([^"]*)"', attributes)
    return found[1] if found else usual


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("width", [720.0, 350.0])
def test_no_word_overruns_the_picture(name, width, releases):
    drawn = interval_picture(releases[name], width) + tail_picture(releases[name], width)
    for attributes, words in TEXT.findall(drawn):
        x, wide = float(attribute(attributes, "x")), words_width(words, 13)
        anchor = attribute(attributes, "text-anchor", "start")
        start = x - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
        assert start >= -2.0, words
        assert start + wide <= width + 2.0, words


@pytest.mark.parametrize("name", DATA)
def test_the_curve_has_the_shares_of_the_release(name, releases):
    release = releases[name]
    row = release[0]
    curve = Curve.of(row)
    assert curve.log == (name in {"amounts", "tiny"})
    shares = {round(point[1], 9) for point in row.shape.survival()}
    for dot in curve.above:
        assert round(dot.share, 9) in shares
        assert dot.low < dot.share < dot.high
        truth = float((DATA[name] > dot.place + curve.origin).mean())
        assert truth == pytest.approx(dot.share, abs=0.1)
    assert curve.ends[0] < row.value - curve.origin < curve.ends[1]


def test_the_pictures_name_clipping_bounds_and_one_interval(releases):
    drawn = tail_picture(releases["amounts"])
    for words in ("clipped below", "clipped above", "Share of records beyond each value"):
        assert words in drawn
    assert drawn.count("<circle") > 10  # a dot for every bin
    shown = interval_picture(releases["amounts"])
    assert shown.count("<circle") == 1
    assert "95% CI" in shown
    assert "approximate (tail extrapolated)" in shown


def test_where_nothing_is_seen_there_is_no_curve():
    release = tt.mean(np.zeros(3_000), epsilon=1)
    assert Curve.of(release[0]) is None
    assert tail_picture(release) == interval_picture(release) == ""


@pytest.mark.parametrize("name", ["amounts", "around 0"])
def test_matplotlib_draws_the_curve_above_the_intervals(name, tmp_path, releases):
    release = releases[name]
    ax = release.plot()
    below, above = ax.figure.axes
    assert below is ax
    assert above.get_yscale() == "log"
    assert above.get_xscale() == {"amounts": "log", "around 0": "symlog"}[name]
    curve = Curve.of(release[0])
    marks = [line.get_xdata()[0] for line in above.lines if len(set(line.get_xdata())) == 1]
    for end in (*release.clip, release.value):
        assert any(mark == pytest.approx(end - curve.origin) for mark in marks)
    ax.figure.savefig(tmp_path / "release.png")
