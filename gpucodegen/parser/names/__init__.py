"""Names in the text: aliases, blocks, SSA values.

- `aliases`: names of types, attributes and locations
- `scopes`: what is visible where
- `values`: uses and definitions of values
"""

from __future__ import annotations
