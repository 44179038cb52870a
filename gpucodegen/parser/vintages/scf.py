"""scf.foreach_thread of 2022, which is scf.forall today."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects.framework.syntax import State
from gpucodegen.dialects.scf import forall
from gpucodegen.dialects.shared.carried import Carried
from gpucodegen.ir.operation import Block, Operation, Region, Value
from gpucodegen.ir.types import Type
from gpucodegen.parser.parser import Parser
from gpucodegen.parser.vintages.text_2019 import OldForm


def _foreach_thread(p: Parser, state: State) -> None:
    """``(%i) in (%n) shared_outs(..) -> (types) { .. }``; at first without outputs."""
    state.name = "scf.forall"
    loops = forall.parse_loops(p)
    if p.token != "->":
        forall.parse_body(p, state, loops)
        return
    start = p.start
    types = p.arrow_types()
    region = forall.complete(p.region(loops.variables(p), terminator=forall.END))
    state.attributes |= p.attr_dict()
    insertions = region.blocks[0].operations[-1].body.operations
    if len(insertions) != len(types):
        raise errors.OperandMismatch(
            p.location(start),
            operation="scf.foreach_thread",
            problem=f"{len(types)} results for {len(insertions)} insertions",
            hint="Write one insertion per result",
        )
    forall.finish(state, loops, *_with_outputs(region, insertions, types))


def _with_outputs(
    region: Region, insertions: tuple[Operation, ...], types: list[Type]
) -> tuple[Carried, Region]:
    """Each insertion goes into an argument that starts as what it went into."""
    (block,) = region.blocks
    *before, end = block.operations
    targets = [op.operands[1] for op in insertions]
    outputs = tuple(Value(v.type, v.name, v.location) for v in targets)
    redirected = [
        op.with_(operands=(op.operands[0], output, *op.operands[2:]))
        for op, output in zip(insertions, outputs, strict=True)
    ]
    operations = (*before, end.with_body(redirected))
    body = Block((*block.arguments, *outputs), operations, block.label)
    return Carried(inits=targets, types=types), Region((body,))


FORMS: dict[str, OldForm] = {"scf.foreach_thread": _foreach_thread}
