"""Which tensors may be updated in place.

- `order`: what may run after what
- `effects`: what operations read of their operands
- `places`: where in memory a tensor lies
- `extents`: where extents come from
- `restricted`: what changes the buffer of a tensor
- `conflicts`: reads that a write in place would spoil
"""

from __future__ import annotations
