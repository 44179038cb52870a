"""What each operation on tensors becomes, one small function each.

- `values`: tensors made, and single elements
- `structured`: linalg, and tensors made by a function of the position
- `destinations`: where a result is needed
- `slices`: parts taken out and put in
- `shapes`: casts and reshapes
- `pads`: borders, and tensors joined
- `indirect`: gather and scatter
- `loops`: tensors that loops carry
- `branches`: tensors that branches choose
- `shared`: parallel loops over tensors
- `shared_reads`: what parallel loops read of tensors that they change
- `boundaries`: calls, returns, and memrefs of tensors
"""

from __future__ import annotations
