"""Tensors and memrefs of any layout as plain row-major buffers."""

from __future__ import annotations
