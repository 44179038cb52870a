"""Unroll factors of loops, as metadata of their back edges.

LLVM unrolls for a processor's whole micro-operation cache: on some processors up to
4096 operations, so that compiling a loop of vectors takes longer than all passes before
it.  An out-of-order core needs less: a loop counts, compares and branches in
`OVERHEAD` operations, which are a sixty-fourth of a body of `BODY` operations.  So an
innermost loop is repeated until it has `BODY` operations, and a loop whose iterations
have no more all together is no loop any more; loops around it count as innermost then.
`Unroller` counts operations while a front end writes a body.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics.framework.lowering import I32
from gpucodegen.records import dataclass

OVERHEAD = 2
"""Operations of an iteration besides its body: an addition, a fused comparison."""
BODY = 64 * OVERHEAD
"""Operations of an unrolled body, at most."""
NESTED = 13
"""Operations that a loop inside a body counts for: its bounds, tests and indices."""
FREE = {"alloca", "bitcast", "br", "extractvalue", "getelementptr", "insertvalue"}
"""Instructions that become no operation, or that addresses of accesses hold."""
_INDEX = ir.IntType(64)


class _Identity(ir.MDValue):
    """Metadata that refers to itself first, by which LLVM distinguishes loops."""

    def descr(self, buf: list[str]) -> None:
        """Append the definition."""
        others = ", ".join(each.get_reference() for each in self.operands)
        buf += (f"distinct !{{ {self.get_reference()}, {others} }}", "\n")


def mark_loop(module: Any, tail: Any, *wish: Any) -> None:
    """Request a transformation of the loop of the back edge that ends ``tail``."""
    asked = module.add_metadata(list(wish))
    identity = _Identity(module, [asked], str(len(module.metadata)))
    tail.terminator.set_metadata("llvm.loop", identity)


@dataclass(slots=True)
class Body:
    """The body of a loop that is written: its first block, and the loops in it.

    ``inner``: operations of these, once and as they become; None: they stay loops.
    """

    first: int
    start: int
    inner: list[tuple[int, int | None]] = field(
        default_factory=list[tuple[int, int | None]]
    )


@dataclass(slots=True)
class Unroller:
    """The loops around the current place, outermost first."""

    open: list[Body] = field(default_factory=list[Body])

    def begin(self, builder: Any) -> None:
        """Enter the body of a loop."""
        blocks = builder.function.blocks
        self.open.append(Body(len(blocks) - 1, len(blocks[-1].instructions)))

    def end(self, builder: Any, iterations: int | None, *, repeats: bool) -> None:
        """Leave the body of a loop; ``repeats``: its last block ends in a back edge."""
        body, blocks = self.open.pop(), builder.function.blocks
        written = _operations(blocks[body.first].instructions[body.start :])
        written += sum(_operations(b.instructions) for b in blocks[body.first + 1 :])
        written += NESTED * len(body.inner)
        size: int | None = written if repeats else None
        for once, becomes in body.inner:
            size = None if size is None or becomes is None else size - once + becomes
        whole = None if size is None or iterations is None else size * iterations
        stays = whole is None or whole > BODY
        if self.open:
            self.open[-1].inner.append((written, None if stays else whole))
        if size is None:
            return
        count = _factor(size, iterations) if stays else 0
        if not stays:
            mark_loop(builder.module, builder.block, "llvm.loop.unroll.full")
        elif count > 1:
            wish = "llvm.loop.unroll.count", I32(count)
            mark_loop(builder.module, builder.block, *wish)


def _factor(size: int, iterations: int | None) -> int:
    """The largest power of two within `BODY`; rather a divisor of the iterations.

    >>> _factor(4, None), _factor(4, 9), _factor(4, 1024), _factor(40, 8)
    (32, 9, 32, 2)
    """
    most = max(1, BODY // max(1, size))
    exact = [n for n in range(2, most + 1) if iterations and iterations % n == 0]
    return exact[-1] if exact else 1 << most.bit_length() - 1


def _operations(instructions: Sequence[Any]) -> int:
    return sum(1 for each in instructions if _is_operation(each))


def _is_operation(instruction: Any) -> bool:
    """Whether it computes data, and neither an address nor a variable's place."""
    name = instruction.opname
    if name in {"load", "store"}:
        return not isinstance(instruction.operands[-1], ir.AllocaInstr)
    return name not in FREE and instruction.type != _INDEX


def trip_count(iterated: ast.expr) -> int | None:
    """The iterations of a ``range`` of constants.

    >>> trip_count(ast.parse("range(2, 9, 3)", mode="eval").body)
    3
    """
    match iterated:
        case ast.Call(ast.Name("range"), arguments):
            values = list(_constants(arguments))
            is_known = len(values) == len(arguments) and values[2:] != [0]
            return len(range(*values)) if is_known else None
        case _:
            return None


def _constants(nodes: Sequence[ast.expr]) -> Iterator[int]:
    for node in nodes:
        match node:
            case ast.Constant(int(value)):
                yield value
            case ast.UnaryOp(ast.USub(), ast.Constant(int(value))):
                yield -value
            case _:
                pass
