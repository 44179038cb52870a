"""Instructions of PTX that LLVM does not know, and addresses as they take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics.framework.lowering import I32, I64, Lowering

SHARED, GLOBAL = 3, 1
"""Address spaces of PTX."""
LETTERS = {"i16": "h", "i32": "r", "i64": "l", "float": "f", "double": "d"}
"""The constraint of a register by the LLVM type that it holds."""


def instruction(
    low: Lowering,
    text: str,
    args: Sequence[Any] = (),
    results: Sequence[ir.Type] = (),
    tied: int = 0,
) -> list[Any]:
    """One instruction, which no lane may come to by another way than written.

    ``$0`` and on are the results, then the arguments.  The last ``tied`` arguments are
    in the registers of the last results.
    """
    types = [arg.type for arg in args]
    made: ir.Type = ir.VoidType()
    if results:
        made = results[0] if len(results) == 1 else ir.LiteralStructType(list(results))
    free = len(args) - tied
    constraints = [f"={LETTERS[str(ty)]}" for ty in results]
    constraints += [LETTERS[str(ty)] for ty in types[:free]]
    constraints += [str(len(results) - tied + n) for n in range(tied)]
    function = ir.FunctionType(made, types)
    given = ",".join([*constraints, "~{memory}"])
    code = ir.InlineAsm(function, text, given, side_effect=True)
    value = low.builder.call(code, list(args), attrs=("convergent",))
    if len(results) < 2:
        return [value] * len(results)
    return [low.builder.extract_value(value, n) for n in range(len(results))]


def in_space(low: Lowering, pointer: Any, offset: Any, space: int) -> Any:
    """The address of an element in a space, as its instructions take it."""
    place = low.builder.gep(pointer, [offset])
    typed = ir.PointerType(place.type.pointee, addrspace=space)
    narrow = low.builder.addrspacecast(place, typed)
    return low.builder.ptrtoint(narrow, I32 if space == SHARED else I64)


def register(low: Lowering, special: str) -> Any:
    """What a special register holds: ``tid.x``."""
    return low.call(f"llvm.nvvm.read.ptx.sreg.{special}", I32, ())
