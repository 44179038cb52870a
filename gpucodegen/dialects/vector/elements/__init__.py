"""Elements and parts of vectors.

- `syntax`: extract, insert and shuffle
- `checks`: rules
- `operations`: the table
"""

from __future__ import annotations
