"""A contraction as CPU code.

- `blocking`: How a contraction is cut on a CPU: which axis is what, how many panels
  there are
- `choice`: A contraction as operations: its facts for the plan, and the kernel of the
  plan
- `depthwise`: Contractions without rows: windows that slide over one channel each
- `dots`: A contraction as inner products: the lanes of the registers walk the
  reduction
- `factor_packing`: Where a CPU register tile reads its factors: in place, or from
  packed copies
- `im2row`: Panels of pixels: columns that run on across the rows of an image
- `kernel_forms`: Whether a contraction pays on a CPU, and in which forms it can be
  computed
- `packed_integer_dots`: Contractions of narrow integers as contractions of words of
  several of them
- `register_tile`: The register tiles of one panel: C stays in registers for a
  reduction block
- `split_k`: A contraction whose reduction threads share: partial results, added up in
  order
- `tasks`: A contraction as CPU code: packed panels, register tiles, parallel blocks
"""

from __future__ import annotations
