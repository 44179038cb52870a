"""Affine operations to what machines have: blocks and branches, arithmetic, accesses.

* ``lower-if-and-for`` (2018: ``convert-to-cfg``): loops and conditions to blocks;
* ``lower-affine-apply``: index maps to arithmetic;
* ``lower-affine``: both, and accesses too, so that no affine operation is left.

Values keep their identity, so the operations around a rewritten one stay the same
objects; functions without affine operations are not touched.

- `expressions`: affine expressions as arithmetic
- `bounds`: bounds and conditions as values
- `sequential`: parallel loops in sequence
- `blocks`: blocks while they are written
- `control_flow`: loops and conditions as branches
- `structured`: loops and conditions of scf
- `straight`: operations without regions
- `passes`: which pass does which of these
"""

from __future__ import annotations

from gpucodegen.passes.lower_affine.passes import (
    LowerAffine,
    LowerAffineApply,
    LowerIfAndFor,
)

__all__ = ["LowerAffine", "LowerAffineApply", "LowerIfAndFor"]
