"""Data on Spark."""
