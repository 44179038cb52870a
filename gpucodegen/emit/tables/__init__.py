"""One entry per operation: the line of Python that it becomes.

- `arithmetic`: scalars
- `memory`: accesses, buffers, views, transfers
- `vectors`: register tiles
- `control`: loops, branches, blocks
- `gpu`: thread identities and barriers
"""

from __future__ import annotations
