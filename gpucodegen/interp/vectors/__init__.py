"""vector, on NumPy arrays.

- `elements`: broadcasts, slices, shuffles
- `shapes`: other shapes and types, masks of ones
- `memory`: loads and stores
- `transfers`: transfer_read and transfer_write
- `products`: products, reductions, scans
- `masks`: vector.mask
- `old`: operations of 2020
"""

from __future__ import annotations
