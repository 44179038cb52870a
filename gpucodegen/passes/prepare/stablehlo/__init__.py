"""StableHLO as linalg on tensors, a rule for each operation.

- `forms`: what rules build with: structured operations, tensors, constants
- `attributes`: which attributes rules read; others are refused
- `scalars`: bodies of reductions, in which tensors of rank 0 become numbers
- `elements`: arithmetic on elements, one by one
- `movement`: operations that only place elements
- `contractions`: products and convolutions
- `reductions`: over dimensions and over windows
- `places`: elements at places that other tensors tell
- `control`: loops and branches
- `signs`: unsigned integers as integers without a sign
- `convert`: the pass
"""

from __future__ import annotations
