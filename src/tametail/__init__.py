"""Means of heavy-tailed data under differential privacy."""
