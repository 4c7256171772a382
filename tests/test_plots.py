"""Pictures: what is on them, without a screen."""

import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

import tametail as tt
from tametail.errors import MissingExtraError
from tametail.show.rows import value_of
from tametail.theory import lower_bound

RECORDS = np.random.default_rng(5).lognormal(3, 1, 3000)


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_release_shows_value_interval_and_guarantee(tmp_path):
    release = tt.mean(RECORDS, epsilon=1, tail=tt.Moment(2, 60))
    ax = release.plot()
    shown = " ".join(texts(ax))
    for part in (f"mean {value_of(release[0])}", "95% CI, guaranteed if the standard deviation"):
        assert part in shown
    assert "epsilon = 1" in ax.get_title(loc="left")
    ends = next(line.get_xdata() for line in ax.lines if "CI" in line.get_label())
    assert list(ends) == [release.low, release.high]
    ax.figure.savefig(tmp_path / "release.png")


def test_release_without_interval_and_on_given_axes():
    given = Figure().add_subplot()
    release = tt.mean(RECORDS, epsilon=1, confidence=None)
    assert release.plot(given) is given
    assert texts(given) == [f"mean {value_of(release[0])}"]


def test_a_name_on_the_picture_is_no_markup():
    """Matplotlib reads dollars as mathematics: nothing that is drawn comes from the caller."""
    assert "$" not in " ".join(texts(tt.mean(RECORDS, epsilon=1).plot()))


@pytest.mark.parametrize(
    ("budget", "k"), [(tt.pure(1), 2), (tt.zcdp(0.5), 3), (tt.approx(1, 1e-6), 1.5)]
)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_plan_lies_above_the_lower_bound(budget, k, adjacency):
    ax = tt.plan(n=3000, budget=budget, tail=tt.Moment(k, 10), neighbors=adjacency).plot()
    error, floor = (np.asarray(line.get_ydata()) for line in ax.lines[:2])
    assert np.all(error > floor)
    assert floor[8] >= lower_bound(3000, k=k, scale=10)
    assert texts(ax)[1].startswith("lower bound")


@pytest.mark.parametrize("tail", [None, tt.Bounded(0, 100)])
def test_plan_without_a_moment_shows_the_plain_mean(tail):
    ax = tt.plan(epsilon=1, tail=tail).plot()
    error, floor = (np.asarray(line.get_ydata()) for line in ax.lines[:2])
    assert np.all(error > floor)
    assert texts(ax)[1] == "mean without privacy"


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match="pip install 'matplotlib>="):
        tt.plan(n=100, epsilon=1).plot()
