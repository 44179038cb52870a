"""The nvgpu dialect.

- `types`: types that short forms write without their name
- `checks`: rules
- `operations`: the table
"""

from __future__ import annotations
