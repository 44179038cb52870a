"""Rules for operations on elements.

- `table`: the operations of arith, math and complex by kind of number
- `conversions`: between element types
- `expressions`: formulas in Python's operators, as operations on tensors
- `elementwise`: arithmetic and comparisons
- `functions`: functions that math does not have
- `bits`: the bits of numbers
"""

from __future__ import annotations
