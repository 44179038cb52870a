"""Accesses, local buffers, views and transfers.

- `addressing`: a memref as a pointer, sizes and strides
- `offsets`: sums that several offsets have in common
- `memory`: elements and local buffers
- `views`: other shapes on one buffer
- `prefetches`: neighbours fetched by one statement
- `copy_plan`: which transfers the hardware makes on its own
- `transfers`: starts and waits of asynchronous copies
"""

from __future__ import annotations
