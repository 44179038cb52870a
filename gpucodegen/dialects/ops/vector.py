"""vector: register tiles, their movement and arithmetic."""

from __future__ import annotations

from gpucodegen.dialects.ops import (
    vector_elements,
    vector_masks,
    vector_memory,
    vector_old,
    vector_products,
    vector_shapes,
    vector_transfers,
)

OPERATIONS = (
    *vector_elements.OPERATIONS,
    *vector_products.OPERATIONS,
    *vector_shapes.OPERATIONS,
    *vector_memory.OPERATIONS,
    *vector_transfers.OPERATIONS,
    *vector_masks.OPERATIONS,
    *vector_old.OPERATIONS,
)
