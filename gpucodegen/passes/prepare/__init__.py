"""From a program of any dialect to affine loop nests on buffers.

- `argument_facts`: Functions that are called with overlapping buffers say so of their
  arguments
- `canonicalize`: Fold what is known at compile time, compose affine maps, drop dead
  operations
- `decompose_linalg`: The Winograd transforms as products with constant matrices, one
  for each side
- `devirtualize_calls`: ``library_call`` of a structured operation: a function of the
  caller runs it
- `expand_operations`: ``memref.generic_atomic_rmw`` as what it is where it stands
- `flatten_elements`: Memrefs of vectors become memrefs of numbers, accessed a vector
  at a time
- `index_types`: ``scf.for`` of any integer type, signed or not, as a signed loop over
  ``index``
- `inline`: Functions of several blocks put into the loops that are proven parallel
  around them
- `inline_launches`: Launches of hand-written kernels, all in one form
- `launches_to_loops`: Memory operations of gpu on the host as those of memref, in the
  order of the text
- `linalg_nests`: ``linalg.pack`` and ``linalg.unpack`` on buffers as affine nests
- `linalg_on_tensors`: Elementwise work on tensors moves into the operation that reads
  its result
- `linalg_to_affine`: linalg operations on buffers as affine nests, one loop per
  iterator, in order
- `mem2reg`: Cells of local buffers become values
- `memory_operations`: Large copies become loops, so that threads share them and
  stores pass the caches
- `memref_views`: Reshapes of buffers whose strides or extents only a call knows
- `normalize_memrefs`: ``affine.dma_start`` and ``affine.dma_wait`` as their memref
  forms
- `outside_calls`: What runs outside of a program takes and gives numbers and buffers
  only
- `raise_to_affine`: Plain loads, stores, loops and conditions made affine where their
  indices are
- `specialize`: A function of ``memref<*xf32>`` once per rank it is called with
- `stablehlo`: StableHLO as linalg on tensors, a rule for each operation
- `tensors`: Tensors as buffers, updated in place where that is exact
- `thread_identities`: What a thread knows of itself, as arithmetic on its position
  and the sizes
- `tosa`: TOSA as linalg on tensors, a rule for each operation
- `vectors`: Vectors that no register holds: buffers, and loops over their elements
- `widen_integers`: Integers of odd widths, held by those of 8, 16, 32 or 64 bits
"""

from __future__ import annotations
