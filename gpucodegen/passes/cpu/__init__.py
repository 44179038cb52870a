"""Mapping to the CPU: threads, vectors, kernels and the host around them."""

from __future__ import annotations
