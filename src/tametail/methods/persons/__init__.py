"""Means over all records where a person, with any number of them, is protected."""
