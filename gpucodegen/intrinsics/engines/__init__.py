"""The matrix units and copy engines of a GPU, by PTX that LLVM does not know.

- `instructions`: PTX inline, and addresses
- `architectures`: what later devices do in another way
- `fragments`: how lanes hold matrices
- `subgroups`: matrices of a warp
- `octets`: products of floats of 8 bits
- `warpgroups`: products by four warps
- `barriers`: mbarriers, fences
- `dealing`: work dealt to the threads of a block
- `bulk_copies`: rows of memory
- `tensor_copies`: boxes of tensors
"""

from __future__ import annotations
