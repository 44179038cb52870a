"""Loops and conditions of a function body as blocks and branches.

A loop becomes four parts::

      bounds; br ^head(lower, initial values)
    ^head(%i, carried):  cond_br %i < upper, ^body, ^end(carried)
    ^body:               ...; br ^head(%i + step, yielded values)
    ^end(results):

The loop variable and the carried values are arguments of ``^head``, the results of the
loop are arguments of ``^end``, so no use of any of them changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Label, Operation, Region, Successor
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.lower_affine.blocks import OpenBlocks
from gpucodegen.passes.lower_affine.bounds import (
    compare,
    condition,
    lower_bound,
    upper_bound,
)
from gpucodegen.passes.lower_affine.expressions import index_operation
from gpucodegen.passes.lower_affine.sequential import sequential


def in_blocks(function: Operation) -> Operation:
    """The function with blocks in place of its loops and conditions.

    Those inside other operations with a body, such as ``scf.for``, stay: such a body
    is one block.
    """
    return function.with_(regions=tuple(map(_region, function.regions)))


def _region(region: Region) -> Region:
    flow = OpenBlocks()
    for block in region.blocks:
        flow.open(block.label, block.arguments)
        _lower(flow, block.operations)
        flow.close()
    return Region(tuple(flow.blocks))


def _lower(flow: OpenBlocks, operations: Sequence[Operation]) -> None:
    for op in operations:
        _LOWERINGS.get(op.name, _keep)(flow, op)


def _keep(flow: OpenBlocks, op: Operation) -> None:
    flow.operations.append(op)


def _for(flow: OpenBlocks, op: Operation) -> None:
    loop = affine.For(op)
    head, body, end = Label(), Label(), Label()
    b = flow.builder(op.location)
    lower, upper = lower_bound(b, loop), upper_bound(b, loop)
    flow.branch(op.location, head, (lower, *loop.inits))

    flow.open(head, loop.block.arguments)
    inside = compare(flow.builder(op.location), "slt", loop.iv, upper)
    exit_ = Successor(end, loop.iter_args)
    flow.branch_if(op.location, inside, Successor(body), exit_)

    flow.open(body)
    _lower(flow, loop.body[:-1])
    b = flow.builder(op.location)
    step = b.constant(loop.step, INDEX)
    following = index_operation(b, "arith.addi", loop.iv, step)
    flow.branch(op.location, head, (following, *loop.yielded))

    flow.open(end, op.results)


def _if(flow: OpenBlocks, op: Operation) -> None:
    view = affine.If(op)
    then, end = Label(), Label()
    otherwise = Label() if view.else_body else end
    holds = condition(flow.builder(op.location), op)
    flow.branch_if(op.location, holds, Successor(then), Successor(otherwise))
    branches = ((then, view.then_body), (otherwise, view.else_body))
    for label, body in branches:
        if body:
            flow.open(label)
            _lower(flow, body[:-1])
            flow.branch(op.location, end, body[-1].operands)
    flow.open(end, op.results)


def _parallel(flow: OpenBlocks, op: Operation) -> None:
    _lower(flow, sequential(op))


_LOWERINGS: dict[str, Callable[[OpenBlocks, Operation], None]] = {
    "affine.for": _for,
    "affine.if": _if,
    "affine.parallel": _parallel,
}
