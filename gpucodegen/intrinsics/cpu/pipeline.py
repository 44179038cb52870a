"""Numba's passes that kernels need, for compilers of generated text.

Numba also looks for what Python programs have and generated text never does: closures
to inline, array expressions to fuse, ``with`` blocks, lists of literals to unroll,
branches on None.  Each of these passes walks the whole kernel and renews its liveness,
which is there to count references.
"""

from __future__ import annotations

from typing import Any

from numba.core import typed_passes, untyped_passes
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager

from gpucodegen.intrinsics.framework.value_names import ValueNames

PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    ValueNames,
    typed_passes.NopythonTypeInference,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)


class KernelCompiler(CompilerBase):
    """Numba's compiler without the passes that only hand-written programs need."""

    def define_pipelines(self) -> list[Any]:
        """The one pipeline."""
        manager = PassManager("kernel")
        for each in PASSES:
            manager.add_pass(each, each.name())
        manager.finalize()
        return [manager]
