"""A plugin for pytest: property tests stop at the first failure that they find.

To shrink it would take most of the time, and which example kills a mutant does not matter. The
examples are those of ``make test``.
"""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """Load the profile after that of the tests."""
    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("mutants", deadline=None, derandomize=True, phases=phases)
    settings.load_profile("mutants")
