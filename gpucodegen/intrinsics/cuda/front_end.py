"""CUDA kernels from a syntax tree to LLVM text, by `framework.front_end`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.callconv import create_error_model
from numba.core.cpu import FastMathOptions

from gpucodegen.intrinsics.cuda.target import Kernel, KernelDispatcher
from gpucodegen.intrinsics.framework.front_end import UNCERTAIN, NotCovered, translate
from gpucodegen.intrinsics.framework.lowering import CachingBuilder


def llvm_text(
    definition: ast.FunctionDef,
    names: Mapping[str, Any],
    argument_types: Sequence[Any],
    kernel: Kernel,
    fastmath: Iterable[str] = (),
) -> str:
    """The LLVM text of a kernel, before any optimisation.  Raises NotCovered.

    ``names`` are the globals of its module.  The caller has chosen the target.
    """
    target = KernelDispatcher.targetdescr
    typing, code = target.typing_context, target.target_context
    typing.refresh()
    code.refresh()
    flags: dict[str, Any] = {"error_model": create_error_model("numpy", code)}
    if fastmath:
        flags["fastmath"] = FastMathOptions(set(fastmath))
    context = code.subtarget(kernel=kernel, **flags)
    library = context.codegen().create_library(definition.name)
    try:
        with context.push_code_library(library):
            module = _translated(definition, names, argument_types, typing, context)
            context.post_lowering(module, library)
    except UNCERTAIN as found:
        raise NotCovered(str(found)) from found
    library.add_ir_module(module)
    _release(module)
    return library.get_llvm_str()


def _release(module: ir.Module) -> None:
    """Break the cycles between blocks and instructions, which nobody reads again.

    So all objects are freed at once, and the garbage collector finds none of them.
    """
    for function in module.functions:
        for block in function.blocks:
            block.instructions.clear()


def _translated(
    definition: ast.FunctionDef,
    names: Mapping[str, Any],
    argument_types: Sequence[Any],
    typing: Any,
    context: Any,
) -> ir.Module:
    parameters = [each.arg for each in definition.args.args]
    convention, name = context.call_conv, definition.name
    module = context.create_module(name)
    kind = convention.get_function_type(types.void, argument_types)
    function = ir.Function(module, kind, name)
    convention.decorate_function(function, parameters, argument_types)
    builder = CachingBuilder(function.append_basic_block("entry"))
    convention.init_call_helper(builder)
    values = convention.decode_arguments(builder, argument_types, function)
    lines = None
    if context.enable_debuginfo:
        lines = context.DIBuilder(module, "", context, False)
        lines.initialize()
        lines.mark_subprogram(function, name, (), (), definition.lineno)
    arguments = list(zip(argument_types, values, strict=True))
    translate(definition, names, arguments, (typing, context), builder, lines)
    if lines is not None:
        lines.finalize()
    builder.forget()
    return module
