"""Parser of MLIR text of any vintage since 2018."""

from __future__ import annotations

from gpucodegen.parser.grammar import parse_module, split_input

__all__ = ["parse_module", "split_input"]
