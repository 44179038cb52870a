"""Passes: module to module rewrites, one stage each."""
