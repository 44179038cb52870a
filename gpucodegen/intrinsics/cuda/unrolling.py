"""How often LLVM repeats the body of innermost loops that multiply.

Left alone, it stops at a size that suits processors with few registers.  A body is
repeated until it has `PRODUCTS` of floats, so that few of its instructions count and
compare.  Loops around such a loop stay loops.

Innermost loops that multiply fragments of matrices become straight code.  Those around
them that wait for other threads stay loops: repeated, they load fragments ahead of
their turn, for which there are no registers.

Loops of single sums, and others that call functions, wait for other threads or hold
assembly, are left to LLVM.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics.framework.lowering import I32

FEWEST = 4
"""Products of a body that is repeated: of tiles, not of one sum."""
PRODUCTS = 1024
"""Of a repeated body, at most."""
MOST = 16
"""Repetitions."""
_FUSED = ("llvm.fma.", "llvm.fmuladd.")
_MMA, _BARRIER = "mma.sync", "llvm.nvvm.barrier"
_PLAIN = (*_FUSED, "llvm.assume", "llvm.nvvm.read.ptx.sreg.")


class _Identity(ir.MDValue):
    """Metadata that names itself first: so LLVM tells loops apart."""

    def descr(self, buf: list[str]) -> None:
        """Append the definition."""
        others = ", ".join(each.get_reference() for each in self.operands)
        buf += (f"distinct !{{ {self.get_reference()}, {others} }}", "\n")


def unroll(function: Any) -> None:
    """Mark the loops of a function."""
    edges = list(_back_edges(function.blocks[0]))
    heads = {head for _, head in edges}
    for tail, head in edges:
        body = _body(function, tail, head)
        called = list(_called(body))
        if any(name.startswith(_MMA) for name in called):
            waits = any(name.startswith(_BARRIER) for name in called)
            if waits:
                _ask(function.module, tail, "llvm.loop.unroll.disable")
            elif not heads & (body - {head}):
                _ask(function.module, tail, "llvm.loop.unroll.full")
        work = _products(body)
        if work < FEWEST:
            continue
        count = min(MOST, PRODUCTS // work)
        if heads & (body - {head}):
            _ask(function.module, tail, "llvm.loop.unroll.disable")
        elif count > 1:
            _ask(function.module, tail, "llvm.loop.unroll.count", I32(count))


def _ask(module: Any, tail: Any, *wish: Any) -> None:
    asked = module.add_metadata(list(wish))
    identity = _Identity(module, [asked], str(len(module.metadata)))
    tail.terminator.set_metadata("llvm.loop", identity)


def _following(block: Any) -> list[Any]:
    """Where a block may go on."""
    operands: Sequence[Any] = block.terminator.operands if block.terminator else ()
    return [each for each in operands if isinstance(each, ir.Block)]


def _back_edges(entry: Any) -> Iterator[tuple[Any, Any]]:
    """Jumps to a block that the way from the entry has passed."""
    way, seen = [(entry, iter(_following(entry)))], {entry}
    open_ = {entry}
    while way:
        block, rest = way[-1]
        target = next(rest, None)
        if target is None:
            way.pop()
            open_.discard(block)
        elif target in open_:
            yield block, target
        elif target not in seen:
            seen.add(target)
            open_.add(target)
            way.append((target, iter(_following(target))))


def _body(function: Any, tail: Any, head: Any) -> set[Any]:
    """The blocks of a loop: all that reach the jump back without its head."""
    before: dict[Any, list[Any]] = {}
    for block in function.blocks:
        for target in _following(block):
            before.setdefault(target, []).append(block)
    body, left = {head, tail}, [tail]
    while left:
        block = left.pop()
        if block is head:
            continue
        new = [each for each in before.get(block, ()) if each not in body]
        body.update(new)
        left += new
    return body


def _called(body: set[Any]) -> Iterator[str]:
    """Names of the functions, and texts of the assembly, that a loop calls."""
    for block in body:
        for x in block.instructions:
            if x.opname == "call":
                yield getattr(x.callee, "asm", getattr(x.callee, "name", ""))


def _products(body: set[Any]) -> int:
    """Multiplications of floats in a loop; 0 where it has to stay as it is."""
    count = 0
    for block in body:
        for instruction in block.instructions:
            if instruction.opname == "call":
                name = getattr(instruction.callee, "name", "")
                if not name.startswith(_PLAIN):
                    return 0
                count += name.startswith(_FUSED)
            count += instruction.opname == "fmul"
    return count
