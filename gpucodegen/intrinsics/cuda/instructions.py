"""PTX instructions by inline assembly, choices by architecture, thread distribution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics.cuda.target import SHARED
from gpucodegen.intrinsics.framework.lowering import I32, I64, Lowering
from gpucodegen.intrinsics.tile_memory import in_address_space


def since(
    low: Lowering,
    architecture: int,
    then: Callable[[], Sequence[Any]],
    before: Callable[[], Sequence[Any]],
) -> list[Any]:
    """Values of ``then`` from an architecture on (as 90), of ``before`` below it."""
    make = then if low.context.kernel.architecture >= architecture else before
    return list(make())


LETTERS = {"i16": "h", "i32": "r", "i64": "l", "float": "f", "double": "d"}
"""The constraint of a register by the LLVM type that it holds."""


def instruction(
    low: Lowering,
    text: str,
    args: Sequence[Any] = (),
    results: Sequence[ir.Type] = (),
    tied: int = 0,
) -> list[Any]:
    """One convergent instruction, which LLVM may not move.

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
    """The address of an element in an address space."""
    place = low.builder.gep(pointer, [offset])
    narrow = in_address_space(low, place, space)
    return low.builder.ptrtoint(narrow, I32 if space == SHARED else I64)


def register(low: Lowering, special: str) -> Any:
    """The value of a special register: ``tid.x``."""
    return low.call(f"llvm.nvvm.read.ptx.sreg.{special}", I32, ())


def element_offset(low: Lowering, offset: Any, e: Any, stride: Any, run: Any) -> Any:
    """``offset + e // run * stride + e % run``; run is positive."""
    builder = low.builder
    whole = builder.mul(builder.udiv(e, run), stride)
    return builder.add(offset, builder.add(whole, builder.urem(e, run)))


def thread_and_count(low: Lowering) -> tuple[Any, Any]:
    """The thread's number in its block, and the number of threads."""
    builder = low.builder
    x, y, z = (register(low, f"tid.{d}") for d in "xyz")
    nx, ny, nz = (register(low, f"ntid.{d}") for d in "xyz")
    row = builder.add(builder.mul(z, ny), y)
    thread = builder.add(builder.mul(row, nx), x)
    return thread, builder.mul(builder.mul(nx, ny), nz)


def cooperatively(
    low: Lowering, count: Any, step: Any, body: Callable[[Any], None], most: int = 0
) -> None:
    """Runs ``body(e)`` for every ``step``-th ``e`` below ``count``, over threads.

    ``most``: the number of first threads that take part; 0 is all.
    """
    builder = low.builder
    thread, threads = thread_and_count(low)
    first = builder.mul(thread, step)
    if most:
        few = builder.icmp_unsigned("<", threads, I32(most))
        threads = builder.select(few, threads, I32(most))
        takes_part = builder.icmp_unsigned("<", thread, I32(most))
        first = builder.select(takes_part, first, count)
    entry = builder.block
    head, inside, done = (builder.append_basic_block(f"dma_{s}") for s in "hbd")
    builder.branch(head)
    builder.position_at_end(head)
    e = builder.phi(I32)
    e.add_incoming(first, entry)
    builder.cbranch(builder.icmp_signed("<", e, count), inside, done)
    builder.position_at_end(inside)
    body(e)
    following = builder.add(e, builder.mul(threads, step))
    e.add_incoming(following, builder.block)
    builder.branch(head)
    builder.position_at_end(done)
