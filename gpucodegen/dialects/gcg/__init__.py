"""The gcg dialect: operations and attributes of this package.

- `words`: parts of 32-bit words that a product multiplies
- `alias_groups`: arguments that may overlap
- `operations`: the table
"""

from __future__ import annotations
