"""Transfers that run while the computation before them does.

- `shape`: loops that transfer, then compute
- `legality`: whether transfers may run an iteration early
- `rotate`: buffers with a slot for each stage
- `overlap`: the pass
"""

from __future__ import annotations

from gpucodegen.passes.gpu.transfers.overlap.overlap import OverlapTransfers

__all__ = ["OverlapTransfers"]
