"""What is fast: facts of processors and devices, plans and their costs.

- `contraction`: products and convolutions, by their accesses
- `locality`: cache lines that a nest touches
- `pointwise`: nests that may run place after place
- `products`: plans of contractions on a CPU
- `loops`: plans of other loops on a CPU
- `gpu`: plans for a GPU
"""

from __future__ import annotations
