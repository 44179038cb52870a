"""Lowering of affine control flow to branches between blocks, or to ``scf``.

A loop of a function body becomes four parts::

      bounds; br ^head(lower, initial values)
    ^head(%i, carried):  cond_br %i < upper, ^body, ^end(carried)
    ^body:               ...; br ^head(%i + step, yielded values)
    ^end(results):

The loop variable and the carried values are arguments of ``^head``, the results of the
loop are arguments of ``^end``, so no use of any of them changes.  ``affine.parallel``
becomes a nest of ``affine.for`` with its reductions as carried values first.  `to_scf`
is the lowering where a body must stay one block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field

from gpucodegen import errors
from gpucodegen.dialects import affine, scf
from gpucodegen.dialects.shared.combiners import OF_ATOMICS
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import (
    Block,
    Label,
    Operation,
    Region,
    Successor,
    Value,
    rewrite_bottom_up,
)
from gpucodegen.ir.types import INDEX, IntegerType, Type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.lower_affine.expressions import (
    compare,
    condition,
    index_operation,
    lower_bound,
    upper_bound,
)
from gpucodegen.records import dataclass

Bounds = tuple[Value, AffineMap, AffineMap, int]
"""Loop variable, lower and upper map, step."""


def sequential(op: Operation) -> list[Operation]:
    """An ``affine.parallel`` as sequential loops."""
    loop = affine.Parallel(op)
    once = AffineMap.constant(0), AffineMap.constant(1)
    nest = [
        *zip(loop.ivs, loop.lower_maps, loop.upper_maps, loop.steps, strict=True)
    ] or [(Value(INDEX, "once", op.location), *once, 1)]
    b = Builder(op.location)
    starts = [
        b.constant(_start(op, kind, result.type), result.type)
        for kind, result in zip(loop.reductions, op.results, strict=True)
    ]
    (whole,) = _nest(op, nest, starts)
    return [*b.operations, whole.with_(results=op.results)]


def _start(op: Operation, kind: str, ty: Type) -> float:
    if kind not in OF_ATOMICS:
        raise errors.UnsupportedOperation(
            op.location,
            operation=f"{op.name} reduce {kind}",
            target=_TARGET,
            advice=f"Reduce with one of {', '.join(sorted(OF_ATOMICS))}",
        )
    if isinstance(ty, IntegerType) and ty.signedness:
        raise errors.UnsupportedType(op.location, type=ty, target=_TARGET)
    return OF_ATOMICS[kind].neutral_of(ty)


_TARGET = "loops in order"


def _nest(
    op: Operation, nest: Sequence[Bounds], carried: Sequence[Value]
) -> list[Operation]:
    """The loops of ``nest`` around the body, started with the carried values."""
    if not nest:
        return _combined(op, carried)
    loop = affine.Parallel(op)
    (iv, lower, upper, step), *inner = nest
    iters = [value.renewed() for value in op.results]
    body = _nest(op, inner, iters)
    yielded = body[-1].operands if not inner else body[-1].results
    if inner:
        body.append(affine.yield_(yielded, location=op.location))
    return [
        affine.for_(
            lower,
            loop.lower_operands,
            upper,
            loop.upper_operands,
            body=body,
            iv=iv,
            step=step,
            inits=carried,
            iters=iters,
            location=op.location,
        )
    ]


def _combined(op: Operation, carried: Sequence[Value]) -> list[Operation]:
    """The body; it yields the carried values combined with its own."""
    loop = affine.Parallel(op)
    *body, last = loop.body
    b = Builder(op.location, body)
    totals = [
        b.value(OF_ATOMICS[kind].name, (total, value), value.type)
        for kind, total, value in zip(
            loop.reductions, carried, last.operands, strict=True
        )
    ]
    return [*b.operations, last.with_(operands=tuple(totals))]


@dataclass(slots=True)
class OpenBlocks:
    """Finished blocks and an open one; a branch closes it, ``open`` begins the next."""

    blocks: list[Block] = field(default_factory=list[Block])
    label: Label | None = None
    arguments: tuple[Value, ...] = ()
    operations: list[Operation] = field(default_factory=list[Operation])

    def open(self, label: Label | None, arguments: Sequence[Value] = ()) -> None:
        self.label, self.arguments, self.operations = label, tuple(arguments), []

    def close(self) -> None:
        """End the open block; its last operation is its terminator."""
        operations = tuple(self.operations)
        self.blocks.append(Block(self.arguments, operations, self.label))

    def extend(self, operations: Iterable[Operation]) -> None:
        self.operations += operations

    def builder(self, location: Location) -> Builder:
        return Builder(location, self.operations)

    def branch(
        self, location: Location, target: Label, passed: Sequence[Value] = ()
    ) -> None:
        """Close the block with ``cf.br``."""
        successors = (Successor(target, tuple(passed)),)
        self._close_with("cf.br", location, (), successors)

    def branch_if(
        self, location: Location, condition: Value, yes: Successor, no: Successor
    ) -> None:
        """Close the block with ``cf.cond_br``."""
        self._close_with("cf.cond_br", location, (condition,), (yes, no))

    def _close_with(
        self,
        name: str,
        location: Location,
        operands: tuple[Value, ...],
        successors: tuple[Successor, ...],
    ) -> None:
        self.operations.append(
            Operation(name, operands, successors=successors, location=location)
        )
        self.close()


def in_blocks(function: Operation) -> Operation:
    """The function with blocks in place of its loops and conditions.

    Loops inside other operations with a body, such as ``scf.for``, stay: such a body is
    one block.
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


def to_scf(op: Operation) -> list[Operation] | None:
    """The ``scf`` form of a loop or condition, None for other operations."""
    lower = _SCF_LOWERINGS.get(op.name)
    return None if lower is None else lower(op)


def _yielding(region: Region) -> Region:
    """The region with its ``affine.yield`` renamed."""
    blocks = [
        block.with_operations(
            (*block.operations[:-1], block.operations[-1].with_(name=scf.TERMINATOR))
        )
        for block in region.blocks
    ]
    return Region(tuple(blocks))


def _replaced(b: Builder, op: Operation, structured: Operation) -> list[Operation]:
    regions = tuple(map(_yielding, op.regions))
    return [
        *b.operations,
        structured.with_(results=op.results, regions=regions, location=op.location),
    ]


def _scf_for(op: Operation) -> list[Operation]:
    loop = affine.For(op)
    b = Builder(op.location)
    lower, upper = lower_bound(b, loop), upper_bound(b, loop)
    step = b.constant(loop.step, INDEX)
    return _replaced(b, op, Operation("scf.for", (lower, upper, step, *loop.inits)))


def _scf_if(op: Operation) -> list[Operation]:
    b = Builder(op.location)
    holds = condition(b, op)
    return _replaced(b, op, Operation("scf.if", (holds,)))


def _scf_parallel(op: Operation) -> list[Operation]:
    return [
        new for nested in sequential(op) for new in rewrite_bottom_up(nested, to_scf)
    ]


_SCF_LOWERINGS: dict[str, Callable[[Operation], list[Operation]]] = {
    "affine.for": _scf_for,
    "affine.if": _scf_if,
    "affine.parallel": _scf_parallel,
}
