"""The memory spaces of a batch as its lanes see them.

- `clusters`: blocks that see each other's shared memory
- `accesses`: loads, stores, atomics
- `serial`: the same for a lone lane
"""

from __future__ import annotations
