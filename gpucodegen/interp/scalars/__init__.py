"""Numbers, alone and as elements of arrays.

- `arith`: integers and floats
- `comparisons`: cmpi and cmpf
- `casts`: from type to type
- `math`: functions
- `index`: integers of 64 bits
- `complex`: complex numbers
"""

from __future__ import annotations
