"""What is fast: facts of processors and devices, plans and their costs.

| module | holds |
|---|---|
| `vector_unit`, `model` | a processor: registers, caches, threads; what it answers |
| `facts` | how caches are built, what parts of a kernel cost |
| `menu` | the plans on offer, and how a caller asks for one |
| `contraction`, `pointwise`, `locality` | what a nest is, from its accesses |
| `products` | plans of contractions on a CPU |
| `loops` | plans of other loops on a CPU |
| `gpu` | plans and limits of a GPU |
"""

from __future__ import annotations
