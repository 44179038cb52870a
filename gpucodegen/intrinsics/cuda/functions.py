"""Functions of C's library in CUDA kernels: formulas, each a function of the module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics import vector_math
from gpucodegen.intrinsics.framework.lowering import FORMULA, Lowering, suffix
from gpucodegen.intrinsics.vector_math.lanes import Lanes
from gpucodegen.intrinsics.vector_math.without_library import FORMULAS

ALL = vector_math.FORMULAS | FORMULAS | {"pow": vector_math.FORMULAS["powf"]}


def function(low: Lowering, name: str, dtype: Any, args: Sequence[Any]) -> Any:
    """The value of a function for scalars of one type."""
    del dtype
    kind = args[0].type
    module, symbol = low.builder.module, f"{FORMULA}{name}.{suffix(kind)}"
    made = module.globals.get(symbol)
    if made is None:
        made = ir.Function(module, ir.FunctionType(kind, [kind] * len(args)), symbol)
        made.linkage = "internal"
        builder = ir.IRBuilder(made.append_basic_block())
        inside = Lowering(low.context, builder, None, low.face)
        result = ALL[name](*(Lanes(inside, arg) for arg in made.args))
        builder.ret(result.value)
    return low.builder.call(made, args)
