"""Nests that a whole block runs: fast memory, barriers, asynchronous copies."""
