"""What programs are compiled for: one record per target.

In order of reading: `record` is what a target tells of itself, `cpu`, `cuda`, `sim`
and `interp` are records, `cpu_passes` and `cuda_passes` the passes that they name, and
`registry` finds a record by its name and takes records from outside.
"""

from __future__ import annotations

from gpucodegen.compiling.targets.record import Target
from gpucodegen.compiling.targets.registry import find, names, register, unregister

__all__ = ["Target", "find", "names", "register", "unregister"]
