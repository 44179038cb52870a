"""What mapping knows of loops and accesses.

- `mapped_loops`: parallel loops as grids and blocks see them
- `strides`: how far an access moves
- `vector_width`: elements that an access moves at once
"""

from __future__ import annotations
