"""Tensors as buffers, updated in place where that is exact.

- `bufferize`: Tensors made buffers: tensor arguments are only read, tensor results
  are fresh
- `conflicts`: What is written to the buffer of a ``to_tensor`` while its tensor is
  used
- `control_rules`: Parallel loops over tensors: each iteration puts its part into the
  shared result
- `forall_to_loops`: ``scf.forall`` over memory as loops; what is proven of them makes
  them parallel
- `placement`: Views of the buffers of tensors: their types, and the operations that
  make them
- `rewriter`: One function on tensors becomes one on buffers, operation by operation
- `shape_rules`: Casts and reshapes of tensors: views where the layout allows it
- `static_types`: Types of views that follow from the type of their buffer
- `structured_rules`: Tensors made of numbers, and single elements of tensors
"""

from __future__ import annotations
