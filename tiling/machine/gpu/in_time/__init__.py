"""Time loops around stencils: several steps in one launch.

- `problem`: a stencil in numbers, and tiles of it
- `tiles`: which tiles, and how many steps in one launch
"""

from __future__ import annotations
