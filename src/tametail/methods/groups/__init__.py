"""Means by group: small groups borrow the shape of all records together."""
