"""Compilation targets: one record per target, found by `registry`."""

from __future__ import annotations

from gpucodegen.compiling.targets.record import Target
from gpucodegen.compiling.targets.registry import find, names, register, unregister

__all__ = ["Target", "find", "names", "register", "unregister"]
