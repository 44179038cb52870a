"""A contraction as a GPU kernel."""
