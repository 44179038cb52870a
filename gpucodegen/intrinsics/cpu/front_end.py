"""CPU kernels from a syntax tree to LLVM IR, by `framework.front_end`.

`DirectCompiler` is Numba's compiler with two pipelines for a function with a syntax
tree: the first translates it; where that is not covered, the second compiles the
bytecode (`framework.pipeline`).  Both write into the same library, with Numba's
wrappers around the function.
"""

from __future__ import annotations

import ast
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

from numba.core import ir, typed_passes, types
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.errors import NumbaError
from numba.core.lowering import BaseLower

from gpucodegen.intrinsics.framework.front_end import UNCERTAIN, NotCovered, translate
from gpucodegen.intrinsics.framework.lowering import CachingBuilder
from gpucodegen.intrinsics.framework.pipeline import PASSES, KernelCompiler, pipeline
from gpucodegen.intrinsics.framework.unrolling import Unroller

syntax_trees: WeakKeyDictionary[Any, ast.FunctionDef] = WeakKeyDictionary()
"""By Python function."""


class NextPipeline(NumbaError):
    """Numba tries the next pipeline after one of its own errors."""


class _Lower(BaseLower):
    """Numba's lowering, with a body that is translated from a syntax tree."""

    def _compute_def_location(self) -> Any:
        return self.func_ir.loc

    def lower_normal_function(self, fndesc: Any) -> None:
        self.setup_function(fndesc)
        self.pre_lower()
        self.builder = CachingBuilder(self.entry_block)
        self.call_helper = self.call_conv.init_call_helper(self.builder)
        values = self.extract_function_arguments()
        arguments = list(zip(fndesc.argtypes, values, strict=True))
        function = self.func_ir.func_id.func
        contexts = self.context.typing_context, self.context
        given = syntax_trees[function], function.__globals__, arguments, contexts
        translate(*given, self.builder, unroller=Unroller())
        self.post_lower()


@register_pass(mutates_CFG=True, analysis_only=False)
class DirectLowering(typed_passes.BaseNativeLowering):
    """A syntax tree becomes LLVM IR."""

    _name = "direct_lowering"

    @property
    def lowering_class(self) -> Any:
        return _Lower

    def run_pass(self, state: Any) -> Any:
        """Lower, with types for the arguments alone.  Raises NextPipeline."""
        about = state.func_id
        place = ir.Loc(about.filename, about.firstlineno)
        state.func_ir = SimpleNamespace(
            func_id=about,
            arg_names=about.arg_names,
            blocks={0: None},
            generator_info=None,
            loc=place,
        )
        names = (f"arg.{name}" for name in about.arg_names)
        state.typemap = dict(zip(names, state.args, strict=True))
        state.calltypes, state.return_type = {}, types.none
        try:
            return super().run_pass(state)
        except (NotCovered, *UNCERTAIN) as reason:
            state.func_ir = None
            raise NextPipeline(str(reason)) from reason


@register_pass(mutates_CFG=False, analysis_only=True)
class ClearFailure(LoweringPass):
    """Forgets why the first pipeline ended, which Numba takes for an error."""

    _name = "clear_failure"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> Any:
        state.status.fail_reason = None
        return False


class DirectCompiler(KernelCompiler):
    """The compiler of kernels, which needs no bytecode where it covers the syntax."""

    def define_pipelines(self) -> list[Any]:
        if self.state.func_id.func not in syntax_trees:
            return super().define_pipelines()
        direct = DirectLowering, typed_passes.NoPythonBackend
        return [pipeline("direct", direct), pipeline("kernel", (ClearFailure, *PASSES))]
