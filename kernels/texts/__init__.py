"""MLIR as it is written.

- `scalars`: operations on single numbers
- `function`: one function, its buffers and nests
- `axes`: axes merged into loops
"""

from __future__ import annotations
