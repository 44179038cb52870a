"""Operations, and the regions in them.

- `unregistered`: operations without a definition, kept as text
- `operations`: operations in either form
- `regions`: regions, blocks, successors
"""

from __future__ import annotations
