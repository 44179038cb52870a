"""Types, memref layouts of all vintages included.

- `shaped_rules`: what shaped types may hold
- `shaped`: vectors and tensors
- `memrefs`: memrefs with layouts of all years
- `types`: all types
"""

from __future__ import annotations
