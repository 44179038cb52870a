"""Transfers and copies: how each is carried out, and its lines.

- `copy_plan`: how each is carried out, as reports show it
- `buffer_uses`: which buffers a kernel touches
- `bulk_plan`: which transfers an engine makes
- `moves`: one transfer as expressions
- `bulk`: lines of bulk copies
- `transfers`: starts and waits
- `thread_copies`: copies of single threads
"""

from __future__ import annotations
