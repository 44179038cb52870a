"""gpu: sparse matrices of the device's libraries."""

from __future__ import annotations

from gpucodegen.dialects.definition import Op

OPERATIONS: tuple[Op, ...] = ()
