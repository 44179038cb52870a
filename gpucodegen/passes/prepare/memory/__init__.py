"""Tensors and memrefs of any layout as plain row-major buffers.

- `place_allocations`: allocations at fixed addresses
- `heap_allocations`: large buffers of loops
- `slices_to_views`: slices of 2019
- `rebase_views`: views that count from the buffer
- `reshapes_to_casts`: reshapes of open extents or strides
- `lower_deallocations`: conditions under which buffers are freed
- `expand_atomics`: updates of any kind
- `specialize_views`: types of views
- `normalize_memrefs`: layouts that are maps
- `flatten_elements`: memrefs of vectors
- `flat_views`: views of those
- `normalize_transfers`: transfers in their memref forms
- `expand_copies`: large copies as loops
"""

from __future__ import annotations
