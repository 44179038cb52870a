"""What every pass needs: the base class, the registry, builders, index arithmetic.

- `base`: What a pass is: a frozen dataclass whose fields are its options
- `builder`: Builds straight lists of kernel-level operations; bodies are given as
  functions
- `functions`: Removal of operations whose results are unused and that have no effect
- `indexing`: Rebuild operations with affine maps after their index expressions
  changed
- `nests`: Perfect nests of ``affine.for``, mostly with constant ranges
- `pipeline_text`: Pass pipelines as text:
  ``canonicalize,tile{sizes=[32,32],relaxed=true},map-gpu``
- `plan_options`: The names by which plans of GPU kernels are asked for, of all kinds
  of kernel
"""

from __future__ import annotations
