"""One entry per operation: the line of Python that it becomes.

- `arithmetic`: scalars
- `memory`: accesses, buffers, views
- `vectors`: register tiles
- `control`: loops, branches, blocks
- `engines`: matrix units and copy engines
- `transfers`: copies between memories
- `gpu`: thread identities and barriers
- `warps`: exchange among the lanes of a warp
- `matrices`: fragments in the lanes of a warp
"""

from __future__ import annotations
