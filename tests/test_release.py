"""Releases: one line, a table for notebooks, plain values for JSON."""

import json
import math

import numpy as np
import pytest

import tametail as tt
from tametail.errors import ParameterError
from tametail.means import Estimate, Interval, Mean
from tametail.notes import Note
from tametail.release import Release
from tametail.show.rows import value_of

RECORDS = np.random.default_rng(3).lognormal(2, 1, 4000)

KEYS = {
    "value", "low", "high", "interval_target", "confidence", "epsilon", "delta", "rho",
    "neighbors",
    "method", "error_components", "clip", "assumption_contradicted", "plan", "guarantee",
}  # fmt: skip


def release(**options):
    return tt.mean(RECORDS, **({"epsilon": 1} | options))


@pytest.mark.parametrize("options", [{}, {"confidence": None}, {"tail": tt.Moment(2, 30)}])
def test_prints_the_mean_one_interval_the_data_and_the_privacy_loss(options):
    found = release(**options)
    mean, *others, data, privacy, odds = str(found).splitlines()
    assert mean.startswith(f"mean       {value_of(found[0])}")
    assert [line[:11] for line in others] == ["95% CI     "] * (found.confidence is not None)
    assert data.startswith("data       about ")
    assert privacy == "privacy    epsilon = 1 (pure DP), add or remove one record"
    assert odds.startswith("odds       an attacker's odds")


def test_is_a_number():
    found = release()
    assert float(found) == found.value
    assert math.isclose(found.value, RECORDS.mean(), rel_tol=0.2)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"confidence": None},
        {"within": (0, math.inf)},
        {"tail": tt.Bounded(0, 500)},
        {"epsilon": None, "rho": 0.5},
        {"delta": 1e-6},
        {"tail": tt.Moment(1.1, 1e5), "epsilon": 0.001},
    ],
)
def test_plain_values(options):
    found = release(**options)
    record = found.to_dict()
    assert record.keys() >= KEYS
    parsed = json.loads(found.to_json(), parse_constant=pytest.fail)
    assert parsed == record
    assert json.loads(found.to_json(indent=2)) == record
    assert parsed["value"] == found.value
    assert parsed["neighbors"] == "add-remove"


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_release_of_an_older_format_is_refused_with_what_to_do(number):
    with pytest.raises(ParameterError, match=r"before 0\.3"):
        Release.from_dict(release().to_dict() | {"format": number})


def test_parts_are_separate():
    parts = release(tail=tt.Moment(2, 30)).to_dict()["error_components"]
    assert parts.keys() == {"privacy", "sampling", "clipping", "rounding"}
    assert all(size >= 0 for size in parts.values())
    assert release(target="data").error_components["sampling"] == 0


def made(**changes):
    interval = Interval(
        -math.inf, math.inf, "mean", "assumption", True, {"privacy": math.inf, "sampling": None}
    )
    estimate = Estimate(1.0, (interval,), (0.0, 2.0), **changes)
    plan = tt.plan(n=100, epsilon=1)
    return Release((Mean.of("0", estimate),), release().guarantee, plan, plan.method)


def test_infinities_become_words():
    record = json.loads(made().to_json(), parse_constant=pytest.fail)
    assert (record["low"], record["high"]) == ("-inf", "inf")
    assert record["error_components"] == {"privacy": "inf", "sampling": None}
    assert Release.from_dict(record) == made()


def test_html_escapes():
    html = made(notes=(Note("info", "x", "<script>alert(1)</script> & more"),))._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in html


def test_html_shows_value_interval_parts_and_guarantee():
    found = release(tail=tt.Moment(2, 30))
    html = found._repr_html_()
    assert html.startswith("<div")
    assert html.endswith("</div>")
    for text in (
        value_of(found[0]),
        "95% confidence interval",
        "sampling",
        "clipping",
        "epsilon = 1",
    ):
        assert text in html
    assert "confidence interval (" not in release(confidence=None)._repr_html_()


def test_holds_no_record_and_no_exact_aggregate():
    """Whatever can be reached from a release are numbers, words, plans and noisy answers."""
    found = release()
    reachable, waiting = [], [found]
    while waiting:
        thing = waiting.pop()
        reachable.append(thing)
        if isinstance(thing, dict):
            waiting += thing.values()
        elif isinstance(thing, tuple | list):
            waiting += thing
        elif hasattr(thing, "__slots__"):
            slots = {
                name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())
            }
            waiting += [getattr(thing, name) for name in slots if hasattr(thing, name)]
    assert not any(isinstance(thing, np.ndarray) for thing in reachable)
    assert float(RECORDS.mean()) not in [x for x in reachable if isinstance(x, float)]
    assert not hasattr(found, "__dict__")


def test_cannot_be_changed():
    with pytest.raises(AttributeError):
        release().value = 3.0


def test_doubtful_assumptions_are_reported():
    assert release(tail=tt.Moment(2, 1e-3)).assumption_contradicted is True
    assert release(tail=tt.Moment(2, 1e3)).assumption_contradicted is False
    assert release(tail=tt.Bounded(-1e-3, 1e-3)).assumption_contradicted is True
    assert release().assumption_contradicted is None


@pytest.mark.parametrize("confidence", [1 - 1e-12, 1 - 2**-53])
def test_a_confidence_next_to_one_has_an_interval_and_is_not_called_100_percent(confidence):
    for told in ({}, {"rho": 1.0}, {"epsilon": 1.0, "tail": tt.Moment(2, 1.0)}):
        budget = told or {"epsilon": 1.0}
        release = tt.mean(np.arange(2_000) / 1_000, confidence=confidence, **budget)
        assert release.low <= release.value <= release.high
        assert "100%" not in str(release)
        assert "99.99" in str(release)
