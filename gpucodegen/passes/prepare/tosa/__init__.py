"""TOSA as linalg on tensors, a rule for each operation.

- `elementwise`: arithmetic, whose operands are broadcast
- `shapes`: operations that only place elements
- `windows`: products, convolutions and poolings
- `quantized`: integers that stand for numbers
- `images`: images in other sizes, and elements put at places
- `control`: branches and loops
- `reductions`: along an axis, which stays with one element
- `attributes`: which attributes the rules read
- `convert`: the pass
"""

from __future__ import annotations
