"""The gcg dialect: operations and attributes of this package.

- `words`: parts of 32-bit words that a product multiplies
- `alias_groups`: arguments that may overlap
- `bulk_rows`: from which length on rows are bulk copies
- `tile_products`: how a program's own products of tiles are computed
- `update_notes`: where atomic updates of cells meet, and why
- `operations`: the table
"""

from __future__ import annotations
