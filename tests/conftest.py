"""One profile for all property tests: the machines are shared, so no deadline per example."""

from hypothesis import settings

settings.register_profile("shared-machine", deadline=None)
settings.load_profile("shared-machine")
