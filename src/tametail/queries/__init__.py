"""Queries: what may be counted or summed over the records, and how far one can move it."""
