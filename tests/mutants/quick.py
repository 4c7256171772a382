"""A plugin for pytest: property tests stop at the first failure that they find.

To shrink it would take most of the time, and which example kills a mutant does not matter.
"""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """Load the profile after that of the tests."""
    settings.register_profile("mutants", deadline=None, phases=(Phase.explicit, Phase.generate))
    settings.load_profile("mutants")
