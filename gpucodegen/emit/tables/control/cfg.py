"""Bodies of several blocks: a loop over the number of the block to execute next.

A region of several blocks inside a structured body is such a loop, too; it is left
where the region yields its results.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects import cf
from gpucodegen.dialects.cf.order import reverse_postorder
from gpucodegen.emit.kernel.context import Emitter, Handler
from gpucodegen.emit.kernel.kinds import in_range
from gpucodegen.emit.tables.control.structured import body_of, declare, texts
from gpucodegen.emit.text.fragments import Precedence
from gpucodegen.ir.operation import Block, Operation, Successor


def emit_blocks(e: Emitter, blocks: Sequence[Block]) -> None:
    """Print the blocks of a function body; the first is entered first."""
    if len(blocks) == 1:
        e.emit(blocks[0].operations)
    else:
        _emit_graph(e, blocks)


def execute_region(e: Emitter, op: Operation) -> None:
    """``scf.execute_region`` and ``memref.alloca_scope``."""
    blocks = op.regions[0].blocks
    if len(blocks) == 1:
        body_of(e, blocks[0].operations, op.results)
        return
    declare(e, op.results)
    outer = e.branches, e.yielded, e.is_structured
    e.yielded, e.is_structured = op.results, False
    with e.names.scope():
        _emit_graph(e, blocks)
    e.branches, e.yielded, e.is_structured = outer


def leave_region(e: Emitter, op: Operation) -> None:
    """``scf.yield`` at the end of a block: the results are known."""
    e.assign(e.yielded, texts(e, op.operands))
    e.writer.line("break")


def _emit_graph(e: Emitter, blocks: Sequence[Block]) -> None:
    state, ordered = e.names.fresh("block"), reverse_postorder(blocks)
    e.branches = (state, {b.label: (n, b) for n, b in enumerate(ordered) if b.label})
    e.writer.line(f"{state} = 0")
    with e.writer.block("while True:"):
        for number, block in enumerate(ordered):
            # A block is behind those that define its values.
            # Values cross from block to block, so their names stay in use.
            word = "elif" if number else "if"
            with e.writer.block(f"{word} {state} == {number}:"):
                e.emit(block.operations)


def _enter(e: Emitter, op: Operation, successor: Successor) -> None:
    """Pass the operands of a branch and name its target."""
    state, targets = e.branches
    found = targets.get(successor.label)
    if found is None:
        raise e.broken(op, "a branch leaves its function")
    number, block = found
    e.assign(block.arguments, [e.text(value) for value in successor.operands])
    e.writer.line(f"{state} = {number}")


def branch(e: Emitter, op: Operation) -> None:
    """``cf.br``."""
    _enter(e, op, op.successors[0])


def conditional_branch(e: Emitter, op: Operation) -> None:
    """``cf.cond_br``."""
    with e.writer.block(f"if {e.text(op.operands[0])}:"):
        _enter(e, op, op.successors[0])
    with e.writer.block("else:"):
        _enter(e, op, op.successors[1])


def switch(e: Emitter, op: Operation) -> None:
    """``cf.switch``: the first target is the default."""
    flag, (default, *others) = op.operands[0], op.successors
    kind = e.dtype(op, flag)
    selector = e.text(flag).within(Precedence.COMPARE + 1)
    for number, (value, successor) in enumerate(
        zip(cf.case_values(op), others, strict=True)
    ):
        case = bool(value) if kind == "i1" else int(in_range(value, kind))
        with e.writer.block(f"{'elif' if number else 'if'} {selector} == {case}:"):
            _enter(e, op, successor)
    with e.writer.block("else:" if others else "if True:"):
        _enter(e, op, default)


HANDLERS: dict[str, Handler] = {
    "cf.br": branch,
    "cf.cond_br": conditional_branch,
    "cf.switch": switch,
    "scf.execute_region": execute_region,
    "memref.alloca_scope": execute_region,
    "scf.yield": leave_region,
}
