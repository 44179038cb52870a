"""The threads that kernels share."""

from __future__ import annotations
