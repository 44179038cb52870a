"""How far kernels for CUDA count: with 32 bits, which every launch checks."""

from __future__ import annotations

MAX_OFFSET = 2**31 - 1
"""The last element that a kernel reaches from the first of a buffer."""
MOST_THREADS = 2**31 - 2**16
"""Threads of a launch along one dimension: their numbers, and some more, fit."""
