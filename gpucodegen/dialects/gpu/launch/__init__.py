"""Launches of kernels: syntax and checks."""

from __future__ import annotations
