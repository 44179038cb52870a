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
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.lowering import Lower

from gpucodegen.intrinsics.framework.value_names import ValueNames


class _Lower(Lower):
    """Numba's own, which would read a function's source to tell where it begins."""

    def _compute_def_location(self) -> Any:
        return self.func_ir.loc


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(typed_passes.BaseNativeLowering):
    """Numba's passes end here: typed code becomes LLVM's."""

    _name = "kernel_lowering"

    @property
    def lowering_class(self) -> Any:
        """What walks the typed code."""
        return _Lower


PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    ValueNames,
    typed_passes.NopythonTypeInference,
    KernelLowering,
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
