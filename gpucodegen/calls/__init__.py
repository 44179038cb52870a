"""Calls of compiled functions: one plan for each form of arguments."""
