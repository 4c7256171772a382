"""The plug-in that pytest finds wherever tametail is installed: one fixture.

::

    def test_report(fake_releases):
        ...  # every release is made up, with the seed 1
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(name="fake_releases")
def _fake_releases() -> Iterator[None]:
    """Make up all releases of the test (tametail.testing): no data are read."""
    from tametail.testing import fake_releases

    with fake_releases():
        yield
