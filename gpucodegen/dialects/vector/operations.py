"""vector: register tiles, their movement and arithmetic."""

from __future__ import annotations

from gpucodegen.dialects.vector import masks, old
from gpucodegen.dialects.vector.elements import operations as vector_elements
from gpucodegen.dialects.vector.memory import operations as vector_memory
from gpucodegen.dialects.vector.memory import transfers
from gpucodegen.dialects.vector.products import operations as vector_products
from gpucodegen.dialects.vector.shapes import operations as vector_shapes

OPERATIONS = (
    *vector_elements.OPERATIONS,
    *vector_products.OPERATIONS,
    *vector_shapes.OPERATIONS,
    *vector_memory.OPERATIONS,
    *transfers.OPERATIONS,
    *masks.OPERATIONS,
    *old.OPERATIONS,
)
