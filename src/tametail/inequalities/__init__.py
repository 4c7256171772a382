"""Inequalities that methods, theory and predictions share."""
