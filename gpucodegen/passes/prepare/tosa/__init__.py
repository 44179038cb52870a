"""TOSA as linalg on tensors, a rule for each operation.

- `convert`: TOSA becomes linalg, tensor, arith and math on tensors
- `elementwise`: Integers that stand for numbers: scaled, shifted, looked up and
  rounded
- `shapes`: Reductions along an axis, which keeps one element, and the place of a
  maximum
- `windows`: Images in other sizes, and elements put at places
"""

from __future__ import annotations
