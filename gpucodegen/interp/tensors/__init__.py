"""Values in the shape of arrays.

- `tensor`: the dialect
- `slices`: slices, taken out and put in
- `gather`: slices at places that a tensor holds
- `shape`: shapes as values
"""

from __future__ import annotations
