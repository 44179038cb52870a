"""Tiles in registers: memory, lanes, reductions.

- `memory`: scalars, rows, columns and tiles in memory
- `tiles`: whole tiles in memory
- `masks`: masks, and the rows that they select
- `masked_tiles`: parts of tiles in memory
- `streaming`: stores past the caches
- `atomics`: read, change and write of one element at once
- `atomic_words`: words of memory that are swapped whole
- `aggregates`: tiles made and taken apart
- `regrouping`: pieces of tiles cut and joined
- `shuffles`: lanes in another order
- `reductions`: elements combined to one
- `words`: 32-bit words that hold several narrow integers
"""

from __future__ import annotations
