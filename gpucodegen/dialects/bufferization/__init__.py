"""The bufferization dialect.

- `syntax`: what formats cannot say
- `checks`: rules
- `operations`: the table
"""

from __future__ import annotations
