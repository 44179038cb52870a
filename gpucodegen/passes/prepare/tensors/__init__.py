"""Tensors as buffers, updated in place where that is exact.

- `analysis`: what may be updated in place
- `constants`: the buffers of constants
- `types`: extents that follow from others
- `kept`: dimensions of slices
- `views`: parts of buffers
- `nests`: loops that are made
- `frames`: blocks while they are rewritten
- `rewriter`: one function, operation by operation
- `rules`: what each operation becomes
- `table`: which rule is whose
- `bufferize`: the pass
- `forall_to_loops`: parallel loops over memory
"""

from __future__ import annotations
