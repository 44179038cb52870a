"""Programs as MLIR text, each with its arguments and its NumPy answer."""

from __future__ import annotations
