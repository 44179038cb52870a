"""Vectors in memory: loads, stores, masks, transfers.

- `checks`: rules of loads and stores
- `operations`: the table
- `transfer_syntax`: syntax of transfers
- `transfer_checks`: their rules
- `transfers`: their table
"""

from __future__ import annotations
