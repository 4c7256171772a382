"""Mechanisms: from exact integers to noisy ones, or to a private choice.

:func:`histogram` is public; the others serve :mod:`tametail.ask`.
"""

from tametail.mechanisms.histograms import Histogram
from tametail.mechanisms.public import histogram

__all__ = ["Histogram", "histogram"]
