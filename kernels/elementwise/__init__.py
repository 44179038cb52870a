"""Elementwise work, and arrays in another order."""
