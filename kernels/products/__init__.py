"""Sums of products."""
