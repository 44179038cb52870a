"""Which buffer a memref shows, and which ones leave a region.

- `aliases`: memrefs that may overlap
- `escapes`: buffers that leave a region
- `described`: what tensor maps are made of
"""

from __future__ import annotations
