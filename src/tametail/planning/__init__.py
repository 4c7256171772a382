"""Planning: the table of methods, the choice between them, and the plan that people get.

``choice`` says when a method suits, ``table`` has all methods, ``plan`` is the public object.
"""

from __future__ import annotations

from tametail.planning.plan import Plan
from tametail.plans import COUNT, Step

__all__ = ["COUNT", "Plan", "Step"]
