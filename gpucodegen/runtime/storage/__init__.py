"""Files that outlive the process: the cache, and machine code in it.

- `private`: files that only the user may change
- `cache_size`: what goes first
- `cache`: entries by content
- `records`: data as JSON
- `machine_code`: object files, and how they are linked
"""

from __future__ import annotations
