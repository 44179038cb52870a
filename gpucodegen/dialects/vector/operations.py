"""vector: register tiles, their movement and arithmetic."""

from __future__ import annotations

from gpucodegen.dialects.vector import masks as vector_masks
from gpucodegen.dialects.vector import old as vector_old
from gpucodegen.dialects.vector.elements import operations as vector_elements
from gpucodegen.dialects.vector.memory import operations as vector_memory
from gpucodegen.dialects.vector.memory import transfers as vector_transfers
from gpucodegen.dialects.vector.products import operations as vector_products
from gpucodegen.dialects.vector.shapes import operations as vector_shapes

OPERATIONS = (
    *vector_elements.OPERATIONS,
    *vector_products.OPERATIONS,
    *vector_shapes.OPERATIONS,
    *vector_memory.OPERATIONS,
    *vector_transfers.OPERATIONS,
    *vector_masks.OPERATIONS,
    *vector_old.OPERATIONS,
)
