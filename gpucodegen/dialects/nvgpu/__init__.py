"""The nvgpu dialect.

- `types`: types that short forms write without their name
- `checks`: rules
- `copy_kinds`: which copies the hardware makes, in pieces of how many bytes
- `copies`: access to asynchronous copies of a thread, and new ones
- `shapes`: products of fragments that devices have
- `operations`: the table
"""

from __future__ import annotations
