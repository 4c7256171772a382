"""Exact answers from chunks of records."""
