"""Buffers and what moves between them.

- `memref`: allocations, globals, copies
- `accesses`: loads and stores of memref and affine
- `views`: views and casts
- `atomics`: updates
- `transfers`: dma_start and dma_wait
- `bufferization`: between tensors and buffers
"""

from __future__ import annotations
