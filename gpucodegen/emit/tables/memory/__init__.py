"""Accesses, local buffers, views and transfers.

- `addressing`: a memref as a pointer, sizes and strides
- `offsets`: sums that several offsets have in common
- `memory`: elements and local buffers
- `views`: other shapes on one buffer
- `prefetches`: neighbours fetched by one statement
- `copy_plan`: which transfers the hardware makes on its own
- `buffer_uses`: which buffers a kernel touches
- `moves`: one transfer as expressions
- `bulk_plan`: which transfers an engine makes
- `bulk`: their lines
- `transfers`: starts and waits of asynchronous copies
- `thread_copies`: copies of single threads
"""

from __future__ import annotations
