"""Quantiles with distribution-free intervals: points are placed privately, then counted between."""
