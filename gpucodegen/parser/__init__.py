"""MLIR text of any vintage to a module in memory."""

from __future__ import annotations

from gpucodegen.parser.toplevel import parse_module, split_input

__all__ = ["parse_module", "split_input"]
