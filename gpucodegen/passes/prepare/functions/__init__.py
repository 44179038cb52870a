"""Functions: calls inlined, argument types fixed, branches put into loops.

- `library_calls`: structured operations that the caller's function runs
- `forward_ranks`: ranks known from casts
- `specialize_ranks`: functions of unranked memrefs
- `specialize`: argument types fixed to those of a call
- `block_graph`: fewer blocks
- `affine_roles`: operands that stay affine in another function
- `inline_branches`: blocks put into parallel loops
- `known_callees`: direct calls in place of indirect ones
- `inline`: bodies in place of calls
- `propagate_aliases`: arguments that may overlap
- `assume_alignments`: what divides the addresses of arguments
- `mark_overwritten`: arguments whose contents are not read
"""

from __future__ import annotations
