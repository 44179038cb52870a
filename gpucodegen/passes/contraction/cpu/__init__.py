"""A contraction as CPU code."""
