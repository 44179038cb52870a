"""Accesses, local buffers and views.

- `addressing`: a memref as a pointer, sizes and strides
- `offsets`: sums that several offsets have in common
- `memory`: elements and local buffers
- `views`: other shapes on one buffer
- `prefetches`: neighbours fetched by one statement
"""

from __future__ import annotations
