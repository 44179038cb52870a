"""The targets that a test of results runs on: parameters for ``target``."""

from __future__ import annotations

import pytest

EMULATED = "cuda"
"""CUDA kernels as PTX, on the emulated device."""
ALL = ("cpu", "sim", EMULATED)
