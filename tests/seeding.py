"""Tests, and the examples of docstrings, draw from generators that their own ids seed."""

from __future__ import annotations

import pytest

from tametail import randomness

from .seeded import UnseededSource, seeded

#: How often a test that draws real randomness may fail by chance.
MOST_BY_CHANCE = 1e-9

# What is drawn while tests are collected would depend on which of them are.
randomness._source = UnseededSource()


def pytest_collection_modifyitems(items):
    """Refuse tests of real randomness that do not say how often they fail by chance."""
    for item in items:
        marker = item.get_closest_marker("real_noise")
        fails = 0.0 if marker is None else marker.kwargs.get("fails", 1.0)
        if not 0.0 <= fails <= MOST_BY_CHANCE:
            raise pytest.UsageError(
                f"{item.nodeid} fails by chance with probability {fails}: a test that is marked "
                f"real_noise says fails=..., at most {MOST_BY_CHANCE}."
            )


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """Seed what several tests share by its own name: which of them runs first is chance."""
    if fixturedef.scope == "function":
        return (yield)
    with seeded(f"{fixturedef.baseid}::{fixturedef.argname}[{request.param_index}]"):
        return (yield)


@pytest.fixture(autouse=True)
def _seeded_randomness(request, monkeypatch):
    """Draw all randomness of a test from a generator that its id seeds.

    Tests about the distribution or the independence of noise are marked ``real_noise`` and draw
    from the operating system.
    """
    if request.node.get_closest_marker("real_noise") is None:
        with seeded(request.node.nodeid):
            yield
    else:
        monkeypatch.setattr(randomness, "_source", randomness.SystemSource())
        yield
