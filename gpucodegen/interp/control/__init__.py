"""Functions, branches and loops.

- `func`: func and builtin: calls
- `cf`: branches; ub
- `scf`: loops and branches of scf
- `parallel`: scf.parallel
- `forall`: scf.forall
- `affine`: loops and index arithmetic of affine
- `assuming`: constraints of shapes
- `outside`: prints and checks, which the library runs
"""

from __future__ import annotations
