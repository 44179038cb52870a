"""Explanations of nests and mappings, and reports of GPU kernels."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

NOTHING: Mapping[str, Any] = MappingProxyType({})
"""No options."""
PICTURES = ("space", "tree", "kernel")
"""Two loops of a nest, its schedule tree, or the cells written by a kernel made from
it.
"""
